-- The text without the agents' changes beside the file, and what diff mode's own commands decide there.
local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local fileops = require('fileops')
local world = require('world')
local marked = world.marked

local TEXT = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\nend\n'

if vim.env.FILEOPS_TEST_SHARED ~= '1' then
  return t.it('without a record there is nothing to compare with, which is said', function()
    world.new(TEXT)
    t.eq(#t.said(function() vim.cmd('Fileops diff') end), 1)
    t.eq(#world.own_windows(), 0)
  end)
end

local function keys(typed) vim.api.nvim_feedkeys(vim.keycode(typed), 'xt', false) end

---@param agent fileops.Session
---@param path string
---@param old string
---@param new string
local function edit(agent, path, old, new)
  t.async(function()
    world.succeeded(agent:read({ file_path = path }))
    world.succeeded(agent:edit({ file_path = path, old_string = old, new_string = new }))
  end)
end

---@return integer window of the text before
local function before_win() return assert(world.own_windows()[1]) end

---@return string
local function before() return world.text_of(vim.api.nvim_win_get_buf(before_win())) end

---@param text? string
---@return string path, fileops.Session agent, integer buf
local function changed(text)
  local path, agent, buf = world.new(text or TEXT)
  edit(agent, path, 'two', 'TWO')
  edit(agent, path, 'five', 'five\nadded')
  edit(agent, path, 'nine', 'NINE')
  marked(buf, { 2, 6, 10 })
  return path, agent, buf
end

t.it('the text without the changes is beside the file in diff mode, and goes with one command', function()
  local _, _, buf = changed()
  local win = vim.api.nvim_get_current_win()
  vim.cmd('Fileops diff')
  t.eq(before(), TEXT)
  t.eq({ vim.api.nvim_get_current_win(), vim.wo.diff, vim.wo[before_win()].diff }, { win, true, true })
  vim.cmd('Fileops diff')
  t.eq({ #world.own_windows(), vim.wo.diff, #vim.api.nvim_list_wins() }, { 0, false, 1 })
  vim.cmd('Fileops diff')
  vim.api.nvim_win_close(before_win(), false)
  t.wait(function() return not vim.wo.diff end, 'diff mode to end')
  vim.cmd('Fileops keep file')
  marked(buf, {})
end)

t.it('`do` undoes a change in the unsaved text, and u takes that back', function()
  local path, _, buf = changed()
  vim.cmd('Fileops diff')
  keys('gg]cdo')
  t.eq(vim.api.nvim_buf_get_lines(buf, 1, 2, true), { 'two' })
  marked(buf, { 6, 10 })
  t.wait(function() return before() == TEXT end, 'the text before')
  keys('u')
  marked(buf, { 2, 6, 10 })
  keys('gg]cdo')
  vim.cmd('silent write')
  t.eq(t.contents(path), (TEXT:gsub('five', 'five\nadded'):gsub('nine', 'NINE')))
  marked(buf, { 6, 10 })
  t.eq(before(), TEXT)
  vim.cmd('Fileops diff')
  vim.cmd('Fileops keep file')
  marked(buf, {})
end)

t.it('`dp` keeps a change, and u in the text before takes that back', function()
  local path, _, buf = changed()
  local edited = t.contents(path)
  vim.cmd('Fileops diff')
  keys('gg]cdp')
  marked(buf, { 6, 10 })
  t.eq(before(), (TEXT:gsub('two', 'TWO')))
  t.eq({ vim.bo[vim.api.nvim_win_get_buf(before_win())].modified, vim.bo[buf].modified }, { false, false })
  vim.api.nvim_win_call(before_win(), function() vim.cmd('silent undo') end)
  marked(buf, { 2, 6, 10 })
  t.eq({ before(), t.contents(path) }, { TEXT, edited })
  vim.cmd('diffupdate | %diffput') -- as the next redraw of a screen updates it
  marked(buf, {})
  t.eq({ before(), t.contents(path) }, { edited, edited })
  vim.cmd('Fileops undo keep')
  marked(buf, { 2, 6, 10 })
  t.wait(function() return before() == TEXT end, 'the text before')
  vim.cmd('Fileops undo file')
  marked(buf, {})
  t.eq({ t.contents(path), before() }, { TEXT, TEXT })
end)

t.it('a change of several lines is decided as a whole, and the options of diff mode come back', function()
  local path, agent, buf =
    world.new('def total(lines):\n    sum = 0\n    for line in lines:\n        sum += 1\n')
  vim.wait(20) -- what the windows of the test before have scheduled
  local text, options = t.contents(path), vim.o.diffopt
  edit(agent, path, text, 'def total(lines: list) -> int:\n    return len(lines)\n')
  marked(buf, { 1 })
  vim.cmd('Fileops diff')
  keys('ggdo')
  t.eq(world.text_of(buf), text)
  keys('u')
  marked(buf, { 1 })
  keys('ggdp')
  marked(buf, {})
  t.eq(before(), 'def total(lines: list) -> int:\n    return len(lines)\n')
  vim.cmd('Fileops diff')
  t.eq(vim.o.diffopt, options)
end)

t.it('what is typed into the text before keeps nothing, and is put back with a word', function()
  local _, _, buf = changed()
  vim.cmd('Fileops diff')
  vim.api.nvim_set_current_win(before_win())
  vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'mine' })
  vim.wait(50)
  t.eq(vim.bo.modified, true)
  t.eq(#t.said(function() vim.cmd.write() end), 1)
  t.eq({ before(), vim.bo.modified }, { TEXT, false })
  marked(buf, { 2, 6, 10 })
  vim.cmd.close()
  vim.cmd('Fileops keep file')
  marked(buf, {})
end)

t.it('a commit in the middle keeps what it has, and a switch of branches decides nothing', function()
  -- complete when the daemon first sees it
  local made = t.folder() .. '/repository'
  vim.fn.mkdir(made, 'p')
  local function git(...)
    local command = { 'git', '-C', made, '-c', 'user.name=t', '-c', 'user.email=t@t', ... }
    local done = vim.system(command, { text = true }):wait()
    assert(done.code == 0, done.stderr)
  end
  t.write(made .. '/demo.py', TEXT)
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'first')
  local other, agent = world.new(TEXT)
  local folder = vim.fs.dirname(other) .. '/repository'
  assert(vim.uv.fs_rename(made, folder))
  made = folder
  local path = folder .. '/demo.py'
  vim.cmd.edit(path)
  local buf = vim.api.nvim_get_current_buf()
  edit(agent, path, 'two', 'TWO')
  edit(agent, path, 'five', 'five\nadded')
  edit(agent, path, 'nine', 'NINE')
  marked(buf, { 2, 6, 10 })
  local edited = t.contents(path)
  local function shows(text)
    t.wait(function()
      vim.cmd.checktime()
      return world.text_of(buf) == text
    end, 'the text of the branch')
  end
  vim.cmd('Fileops diff')
  t.eq(before(), TEXT)
  git('stash', '-q')
  shows(TEXT)
  marked(buf, {})
  git('stash', 'pop', '-q')
  shows(edited)
  marked(buf, { 2, 6, 10 })
  t.wait(function() return before() == TEXT end, 'the text before')
  git('commit', '-qam', 'second')
  marked(buf, {})
  t.wait(function() return before() == edited end, 'nothing to compare')
  t.eq({ vim.wo.diff, t.contents(path) }, { true, edited })
  git('switch', '-q', '-c', 'other', 'HEAD~1')
  shows(TEXT)
  git('switch', '-q', 'main')
  shows(edited)
  marked(buf, {})
  vim.cmd('Fileops diff')
end)

t.it('what the person types is in both texts', function()
  local _, _, buf = changed()
  vim.cmd('Fileops diff')
  vim.api.nvim_buf_set_lines(buf, 3, 3, true, { 'typed' })
  vim.api.nvim_exec_autocmds('TextChanged', { buffer = buf })
  t.wait(function() return before() == TEXT:gsub('three\n', 'three\ntyped\n') end, 'the text before')
  marked(buf, { 2, 7, 11 })
  vim.bo[buf].modified = false
  vim.cmd('Fileops diff')
  vim.cmd('Fileops keep file')
  marked(buf, {})
end)

t.it('the files of an agent are compared one after the other', function()
  local path, agent, buf = changed()
  local other = t.write(vim.fs.dirname(path) .. '/other.py', TEXT)
  local foreign = fileops.session('someone')
  edit(agent, other, 'four', 'IV')
  edit(foreign, other, 'end', 'END')
  vim.cmd('Fileops diff agent')
  t.wait(function() return #world.own_windows() == 1 end, 'the text before')
  t.eq({ vim.api.nvim_get_current_buf(), before() }, { buf, TEXT })
  vim.cmd('silent cnfile')
  t.eq(vim.api.nvim_buf_get_name(0), other)
  t.wait(
    function() return #world.own_windows() == 1 and before() == TEXT:gsub('end', 'END') end,
    'the other file'
  )
  t.eq({ vim.wo.diff, vim.wo[before_win()].diff, #vim.api.nvim_list_wins() }, { true, true, 2 })
  keys('gg]cdp')
  marked(vim.api.nvim_get_current_buf(), { 12 })
  vim.cmd('Fileops diff')
  vim.cmd.buffer(buf)
  t.eq(
    { vim.wo.diff, vim.wo.foldmethod, vim.wo.foldcolumn, vim.wo.scrollbind },
    { false, 'manual', '0', false }
  )
  vim.cmd.buffer(vim.fn.bufnr(other))
  vim.cmd('Fileops keep file')
  marked(vim.api.nvim_get_current_buf(), {})
  vim.cmd.buffer(buf)
  vim.cmd('Fileops keep file')
  marked(buf, {})
end)

for name, bytes in pairs({
  ['CRLF with a byte order mark'] = '\239\187\191' .. TEXT:gsub('\n', '\r\n'),
  ['Latin-1'] = (TEXT:gsub('three', 'dr\228i')),
  ['no newline at its end'] = (TEXT:gsub('\n$', '')),
}) do
  t.it(('a file with %s is compared, kept and undone'):format(name), function()
    local path, _, buf = changed(bytes)
    local function lines() return vim.api.nvim_buf_get_lines(buf, 0, -1, true) end
    local function text_before()
      return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(before_win()), 0, -1, true)
    end
    local edited = lines()
    vim.cmd('Fileops diff')
    t.eq({ #text_before(), text_before()[2], text_before()[3] }, { 12, 'two', edited[3] })
    keys('gg]cdp')
    marked(buf, { 6, 10 })
    t.eq(lines(), edited)
    vim.cmd('Fileops undo file')
    marked(buf, {})
    t.wait(function() return #lines() == 12 and vim.deep_equal(text_before(), lines()) end, 'the text')
    t.eq({ #lines(), lines()[2], lines()[9] }, { 12, 'TWO', 'nine' })
    vim.cmd('setlocal nofixendofline | silent write')
    t.eq(t.contents(path), (bytes:gsub('two', 'TWO')))
    vim.cmd('Fileops diff')
  end)
end

t.it('one line of 250 KB is compared and undone', function()
  local long = ('x'):rep(250 * 1024)
  local path, agent, buf = world.new('one\n' .. long .. '\nend\n')
  edit(agent, path, 'one\n', 'ONE\n')
  edit(agent, path, 'end\n', 'END\n')
  marked(buf, { 1, 3 })
  vim.cmd('Fileops diff')
  t.eq(before(), 'one\n' .. long .. '\nend\n')
  vim.cmd('Fileops diff')
  vim.cmd('Fileops undo file')
  marked(buf, {})
  t.eq(t.contents(path), 'one\n' .. long .. '\nend\n')
end)

t.it('a file that an agent created or deleted is compared, kept and undone', function()
  local path, agent, buf = world.new(TEXT)
  local new = vim.fs.dirname(path) .. '/new.py'
  t.async(
    function() world.succeeded(agent:edit({ file_path = new, old_string = '', new_string = 'x\ny\n' })) end
  )
  vim.cmd.edit(new)
  local new_buf = vim.api.nvim_get_current_buf()
  marked(new_buf, { 1 })
  vim.cmd('Fileops diff')
  t.eq(before(), '\n')
  vim.cmd('Fileops undo file')
  t.wait(function() return not vim.uv.fs_stat(new) end, 'the file to go')
  vim.cmd('Fileops diff')
  vim.cmd('bwipeout!')

  vim.cmd.buffer(buf)
  t.async(function()
    world.succeeded(agent:read({ file_path = path }))
    local patch = ('*** Begin Patch\n*** Delete File: %s\n*** End Patch'):format(path)
    local answer = fileops.request('fileops/applyPatch', { patch = patch, session_id = agent.id })
    t.eq(answer.status, 'success')
  end)
  vim.cmd('enew | bwipeout! ' .. buf)
  vim.cmd.edit(path)
  buf = vim.api.nvim_get_current_buf()
  marked(buf, { 1 })
  vim.cmd('Fileops diff')
  t.eq(before(), TEXT)
  vim.cmd('Fileops undo file')
  t.wait(function() return vim.uv.fs_stat(path) and t.contents(path) == TEXT end, 'the file to come back')
  vim.cmd('Fileops diff')
end)

t.it('two changes side by side, of which one is kept, are told apart', function()
  local path, agent, buf = world.new('a\n\n\nb\n')
  edit(agent, path, 'a\n', 'a\n\n')
  edit(fileops.session('other'), path, 'b\n', 'b\nc\n')
  marked(buf, { 4, 6 })
  vim.cmd('Fileops diff')
  t.eq(before(), 'a\n\n\nb\n')
  keys('Gdp')
  marked(buf, { 4 })
  t.eq(before(), 'a\n\n\nb\nc\n')
  vim.cmd('Fileops diff')
  vim.cmd('Fileops undo file')
  marked(buf, {})
  t.eq(t.contents(path), 'a\n\n\nb\nc\n')
end)
