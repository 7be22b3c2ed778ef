local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local fileops = require('fileops')
local marks = require('fileops.unkept.marks')
local unkept = require('fileops.unkept.changes')
local world = require('world')

local TEXT = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\nend\n'
local is_private = vim.env.FILEOPS_TEST_SHARED ~= '1'

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

local marked = world.marked

--- Three changes of an agent, at lines 2, 6 (added, six lines later) and 9 (removed).
local function changed()
  local path, agent, buf = world.new(TEXT)
  edit(agent, path, 'two', 'TWO')
  edit(agent, path, 'five\n', 'five\nadded\n')
  edit(agent, path, 'nine\n', '')
  return path, agent, buf
end

if is_private then
  t.it('a daemon of this Neovim alone keeps no record, and says so', function()
    world.new(TEXT)
    t.eq(unkept.is_served(), false)
    t.eq(
      t.said(function() vim.cmd('Fileops keep') end),
      { 'fileops: this daemon keeps no record of changes (:Fileops info)' }
    )
  end)
  return
end

t.it('without a daemon it is said that there is none, and not that it keeps no record', function()
  changed()
  world.stop()
  for _, line in ipairs({ 'Fileops undo all', 'Fileops keep', 'Fileops diff' }) do
    t.eq(t.said(function() vim.cmd(line) end), { 'fileops: the daemon is out of reach (:Fileops info)' })
  end
end)

t.it('what was kept and undone elsewhere, or before a restart, is taken back', function()
  local path, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  local ids = vim.tbl_map(function(change) return change.change_id end, marks.touched(buf))
  t.async(function() fileops.request('fileops/keep', { change_ids = { ids[1] } }) end)
  t.async(function() fileops.request('fileops/rewind', { change_ids = { ids[2] }, approved = true }) end)
  marked(buf, { 9 })
  vim.cmd('Fileops redo')
  t.wait(function() return t.contents(path):find('added', 1, true) end, 'the redo')
  vim.cmd('Fileops undo keep')
  marked(buf, { 2, 6, 10 })
end)

t.it('what an agent changed is marked, and kept or undone where it is', function()
  local path, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  keys('gg]cdy')
  marked(buf, { 6, 10 })
  keys(']cdu')
  marked(buf, { 9 })
  t.eq(t.contents(path), (TEXT:gsub('two', 'TWO'):gsub('nine\n', '')))
  t.wait(function() return world.text_of(buf) == t.contents(path) end, 'the buffer to follow')
  vim.cmd('Fileops undo file')
  marked(buf, {})
  t.eq(t.contents(path), (TEXT:gsub('two', 'TWO')))
  vim.cmd('Fileops redo')
  t.wait(function() return t.contents(path) == TEXT:gsub('two', 'TWO'):gsub('nine\n', '') end, 'the redo')
  marked(buf, { 9 })
  t.eq({ vim.fn.maparg('du', 'n') ~= '', vim.bo[buf].modified }, { true, false })
end)

t.it('the cursor names the author, the status line counts, and dy beside a change keeps the file', function()
  local _, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  t.wait(function() return fileops.status():find('%d changes in %d+ file') end, 'the count')
  local ns = vim.api.nvim_get_namespaces()['fileops.author']
  local function named()
    vim.api.nvim_exec_autocmds('CursorMoved', { buffer = buf })
    return vim.tbl_map(
      function(mark) return { mark[2] + 1, vim.trim(mark[4].virt_text[1][1]):match(': .*$') } end,
      vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })
    )
  end
  keys('gg]c')
  t.eq(named(), { { 2, ': 1 of 3' } })
  keys(']c')
  t.eq(named(), { { 6, ': 2 of 3' } })
  keys('4G')
  t.eq(named(), {})
  t.eq(
    t.said(function(said)
      keys('dy')
      t.wait(function() return #said > 0 end, 'the answer')
    end),
    { 'fileops: 3 changes kept (:Fileops undo keep takes that back)' }
  )
  marked(buf, {})
end)

t.it('the change at a line is found among many, also where lines were typed in between', function()
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, vim.split(('a line\n'):rep(60), '\n'))
  local changes = {} ---@type fileops.wire.UnkeptChange[]
  for first = 1, 60, 6 do -- of two lines each, and of one that was removed above the next line
    table.insert(
      changes,
      { change_id = 'l' .. first, start_line = first, end_line = first + 1, kind = 'text' }
    )
    table.insert(
      changes,
      { change_id = 'r' .. first, start_line = first + 3, end_line = first + 2, kind = 'text' }
    )
  end
  marks.draw(buf, changes, {})
  for _ = 1, 2 do
    local n_found = 0
    for line = 1, vim.api.nvim_buf_line_count(buf) do
      local change, number = marks.at(buf, line)
      t.eq(change, marks.touched(buf, line, line)[1])
      t.eq(change, number and changes[number])
      n_found = n_found + (change and 1 or 0)
    end
    assert(n_found >= 30, n_found)
    vim.api.nvim_buf_set_lines(buf, 1, 1, true, { 'typed in a change' })
    vim.api.nvim_buf_set_lines(buf, 20, 23, true, {})
  end
  vim.api.nvim_buf_delete(buf, { force = true })
end)

t.it('a key beside all changes says how to get to the next one', function()
  local _, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  local said = t.said(function() keys('4Gdu') end)
  t.eq(said, { 'fileops: nothing to keep or undo here; ]c goes to the next change' })
  vim.cmd('Fileops keep file')
  marked(buf, {})
end)

t.it('the dot of an undo leaves alone, when what an agent has changed since is marked', function()
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, { 'one', 'two', 'three' })
  local defer, due = vim.defer_fn, {} ---@type fun()[]
  vim.defer_fn = function(act) table.insert(due, act) end -- luacheck: ignore 122 (20 s are too long to wait)
  local function signs()
    local found = vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, { details = true, type = 'sign' })
    return vim.tbl_map(function(mark) return { mark[2] + 1, mark[4].sign_hl_group } end, found)
  end
  local undone = { start_line = 2, time = os.time() }
  marks.draw(buf, {}, { undone })
  t.eq(signs(), { { 2, 'FileopsUndone' } })
  marks.draw(buf, { { change_id = 'c', start_line = 2, end_line = 3, kind = 'text' } }, {})
  marks.draw(buf, { { change_id = 'c', start_line = 2, end_line = 3, kind = 'text' } }, { undone })
  local marked_lines = { { 2, 'FileopsSign' }, { 3, 'FileopsSign' } }
  t.eq(#signs(), 3)
  due[1]()
  t.eq({ #signs(), marks.lines(buf) }, { 3, { 2 } })
  due[2]()
  t.eq({ signs(), marks.lines(buf) }, { marked_lines, { 2 } })
  marks.draw(buf, { { change_id = 'c', start_line = 2, end_line = 3, kind = 'text' } }, {})
  for _, act in ipairs(due) do
    act()
  end
  t.eq({ signs(), marks.lines(buf) }, { marked_lines, { 2 } })
  vim.defer_fn = defer -- luacheck: ignore 122
  vim.api.nvim_buf_delete(buf, { force = true })
end)

t.it('after the last change of a file, ]c goes to the next file, and [c back', function()
  local path, agent, buf = world.new(TEXT)
  edit(agent, path, 'two', 'TWO')
  marked(buf, { 2 })
  local other = path:gsub('[^/]*$', 'zz.txt')
  vim.fn.writefile(vim.split(TEXT, '\n'), other)
  edit(agent, other, 'three', 'THREE')
  keys('gg]c')
  keys(']c')
  t.wait(function() return vim.api.nvim_buf_get_name(0) == other end, 'the next file')
  t.eq(vim.api.nvim_win_get_cursor(0)[1], 3)
  marked(vim.api.nvim_get_current_buf(), { 3 })
  keys('[c')
  t.wait(function() return vim.api.nvim_get_current_buf() == buf end, 'the file before')
  t.eq(vim.api.nvim_win_get_cursor(0)[1], 2)
  keys('dy')
  marked(buf, {})
  keys(']c')
  t.wait(
    function() return vim.api.nvim_buf_get_name(0) == other end,
    'the next file, although nothing is left here'
  )
  vim.keymap.set('n', ']c', '<Nop>', { buffer = buf })
  vim.cmd.buffer(buf)
  edit(agent, path, 'four', 'FOUR')
  marked(buf, { 4 })
  keys('4Gdy')
  marked(buf, {})
  t.eq(vim.fn.maparg(']c', 'n'), '<Nop>')
end)

t.it('a change that is reported while a question is on its way is asked about, too', function()
  local path, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  vim.wait(500) -- what the edits themselves have made due
  local request, n_asked = fileops.request, 0
  fileops.request = function(method, ...)
    if method == 'fileops/unkept' then n_asked = n_asked + 1 end
    return request(method, ...)
  end
  for _ = 1, 3 do
    unkept.changed({ file_path = path })
  end
  -- The second and the third report may share a question.
  t.wait(function() return n_asked >= 2 end, 'a question after the first')
  fileops.request = request
end)

t.it('what is reported while the person types is asked about when they pause', function()
  local path, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  local request, n_asked = fileops.request, 0
  fileops.request = function(method, params, ...)
    if method == 'fileops/unkept' and params.file_path == path then n_asked = n_asked + 1 end
    return request(method, params, ...)
  end
  vim.api.nvim_exec_autocmds('TextChangedI', { buffer = buf })
  unkept.changed({ file_path = path })
  t.eq(n_asked, 0) -- the question would be asked at once
  t.wait(function() return n_asked > 0 end, 'the question after the pause')
  fileops.request = request
end)

t.it('what is typed in changes, or next to them, may change the list', function()
  local typing = require('fileops.unkept.typing')
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_win_set_buf(0, buf)
  vim.bo[buf].buftype = 'nofile'
  local function reset()
    vim.api.nvim_buf_set_lines(buf, 0, -1, true, vim.split(('a line\n'):rep(19) .. 'a line', '\n'))
    marks.draw(buf, {
      { change_id = 'lines', start_line = 6, end_line = 8, kind = 'changed' },
      { change_id = 'removed', start_line = 14, end_line = 13, kind = 'removed' },
    }, {})
  end
  reset()
  typing.follow(buf)
  -- stylua: ignore
  local cases = {
    ['4Gix'] = false, ['5Gix'] = true, ['6Gix'] = true, ['8Gix'] = true, ['9Gix'] = true, ['10Gix'] = false,
    ['12Gix'] = false, ['13Gix'] = true, ['14Gix'] = true, ['16Gix'] = false, ['20GAx'] = false,
    ['1Gdd'] = false, ['1G3dd'] = false, ['1G4dd'] = true, ['10G2dd'] = false, ['10G3dd'] = true, ['3GJ'] = false,
    ['4GJ'] = true, ['1GOnew'] = false, ['1Go'] = false, ['1Gi\r'] = false, ['1Gi\r  '] = false, ['1Gixy\rz'] = false,
    ['20Gyyp'] = true, ['1Gyyp'] = true, ['1GyyP'] = true, ['1GyyGp'] = true, ['2Gix6Gix'] = false,
    ['gg/line\rx'] = false, [':%s/line/Line/\r'] = true, [':18,$s/line/Line/\r'] = false,
  }
  for typed, may_change in pairs(cases) do
    reset()
    typing.take(buf)
    keys(typed)
    t.eq({ typed, typing.take(buf) }, { typed, may_change })
    t.eq(typing.take(buf), false)
  end
  reset()
  typing.take(buf)
  vim.api.nvim_buf_set_text(buf, 0, 0, 0, 0, { 'x' })
  t.eq(typing.take(buf), false)
  marks.draw(buf, { { change_id = 'here', start_line = 1, end_line = 1, kind = 'changed' } }, {})
  vim.api.nvim_buf_set_text(buf, 0, 0, 0, 0, { 'x' })
  t.eq(typing.take(buf), true) -- in a line that was beside all changes before
  local are_undos = {} ---@type boolean[]
  for _, typed in ipairs({ 'x', 'x', 'u', '<C-r>', 'u', 'x', 'iabc', 'u', 'Ad', 'Ae' }) do
    keys(typed)
    table.insert(are_undos, typing.note_newest(buf))
  end
  t.eq(are_undos, { false, false, true, true, true, false, false, true, false, false })
  vim.api.nvim_buf_delete(buf, { force = true })
end)

t.it('a buffer is asked about soon only if what was typed may change the list', function()
  local path, agent, buf = changed()
  marked(buf, { 2, 6, 10 })
  local other_path = t.write(vim.fs.dirname(path) .. '/other.txt', TEXT)
  edit(agent, other_path, 'two', 'TWO')
  vim.cmd.edit(other_path)
  local other = vim.api.nvim_get_current_buf()
  marked(other, { 2 })
  local seen = { asked = {}, reported = {}, is_changed = false } -- the first two by path
  local request, report, pause_ms = fileops.request, unkept.changed, unkept.beside_pause_ms
  fileops.request = function(method, params, ...)
    if method == 'fileops/unkept' and params.file_path then seen.asked[params.file_path] = true end
    return request(method, params, ...)
  end
  unkept.changed = function(event) ---@param event fileops.wire.DidChangeUnkeptParams
    if event.typed then
      seen.reported[event.file_path] = true
    else
      seen.is_changed = true -- by the agent's edits, which may be reported late
    end
    report(event)
  end
  unkept.beside_pause_ms = 3600000
  local function typed(number, line, event)
    vim.cmd.buffer(number)
    keys(line .. 'Gix')
    vim.api.nvim_exec_autocmds(event or 'TextChangedI', { buffer = number })
  end
  repeat
    unkept.refresh(buf)
    t.wait(function() return unkept.is_settled(buf) end, 'the answer of all that was due before')
    seen.asked, seen.reported, seen.is_changed = {}, {}, false
    typed(buf, 4)
    t.wait(function() return seen.reported[path] or seen.is_changed end, 'the report of what was typed here')
    typed(buf, 4, 'TextChanged')
    seen.asked[other_path] = nil
    typed(other, 3)
    t.wait(
      function() return seen.asked[other_path] end,
      'the question about what was typed next to a change later'
    )
  until not seen.is_changed
  t.eq(seen.asked[path], nil)
  edit(agent, path, 'end', 'END')
  marked(buf, { 2, 6, 10, 12 }) -- although a question about what was typed is due later
  unkept.beside_pause_ms = 1
  seen.asked = {}
  typed(buf, 4)
  t.wait(function() return seen.asked[path] end, 'the question in the end')
  fileops.request, unkept.changed, unkept.beside_pause_ms = request, report, pause_ms
  vim.bo[buf].modified, vim.bo[other].modified = false, false
end)

t.it('marks are of the present text while the person types, undoes and redoes', function()
  local path, agent, buf = world.new(TEXT)
  edit(agent, path, 'six', 'VI')
  marked(buf, { 6 })
  vim.api.nvim_buf_set_lines(buf, 0, 0, true, { 'typed', 'too' })
  t.eq(marks.lines(buf), { 8 })
  vim.api.nvim_exec_autocmds('TextChanged', { buffer = buf })
  keys('8Gdy')
  marked(buf, {})
  vim.bo[buf].modified = false
end)

t.it('marks survive reading the file again, and another Neovim', function()
  local _, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  vim.cmd('silent edit!')
  marked(buf, { 2, 6, 10 })
  fileops.restart()
  t.wait(function() return require('fileops.client.process').state.status == 'running' end, 'the daemon')
  vim.cmd('silent edit!')
  marked(buf, { 2, 6, 10 })
end)

t.it('a range, a file, an agent and all are kept or undone', function()
  local path, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  vim.cmd('1,7Fileops keep')
  marked(buf, { 10 })
  vim.cmd('Fileops keep file')
  marked(buf, {})
  local agent = fileops.session('another-session')
  edit(agent, path, 'one', 'ONE')
  edit(agent, path, 'end', 'END')
  marked(buf, { 1, 12 })
  vim.cmd('Fileops undo agent')
  marked(buf, {})
  t.eq(t.contents(path), (TEXT:gsub('two', 'TWO'):gsub('five\n', 'five\nadded\n'):gsub('nine\n', '')))
  edit(agent, path, 'end', 'END')
  marked(buf, { 12 })
  vim.cmd('Fileops keep file')
  marked(buf, {})
end)

t.it('changes of several agents are named before all are decided', function()
  local path, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  edit(fileops.session('a-second'), path, 'seven', 'VII')
  marked(buf, { 2, 6, 8, 10 })
  local offered ---@type string[]?
  local select = vim.ui.select
  vim.ui.select = function(items, _, choose) -- luacheck: ignore 122
    offered = items
    choose(items[2])
  end
  vim.cmd('Fileops keep all')
  t.wait(function() return offered end, 'the question')
  vim.ui.select = select -- luacheck: ignore 122
  assert(offered)
  assert(offered[1]:find('^Keep %d+ changes in %d+ files?, of .*, '), offered[1])
  marked(buf, { 2, 6, 8, 10 })
  vim.cmd('Fileops keep file')
  marked(buf, {})
end)

t.it('a keep is taken back, also the one before', function()
  local path, _, buf = changed()
  local edited = t.contents(path)
  marked(buf, { 2, 6, 10 })
  keys('gg]cdy')
  marked(buf, { 6, 10 })
  keys(']cdy')
  marked(buf, { 10 })
  vim.cmd('Fileops undo keep')
  marked(buf, { 6, 10 })
  vim.cmd('Fileops undo keep')
  marked(buf, { 2, 6, 10 })
  t.eq(t.contents(path), edited)
  vim.cmd('Fileops keep file')
  marked(buf, {})
end)

t.it('a keep that is not answered yet is the last one', function()
  local _, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  keys('gg]cdy')
  marked(buf, { 6, 10 })
  t.wait(function() return vim.fn.execute('messages'):find('1 change kept', 1, true) end, 'the answer')
  keys(']cdy')
  vim.cmd('Fileops undo keep')
  vim.cmd('Fileops undo keep')
  marked(buf, { 2, 6, 10 })
end)

t.it('code actions of the daemon keep and undo the change at the cursor', function()
  local path, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  ---@param line integer
  ---@param begin string of the title
  local function run(line, begin)
    vim.api.nvim_win_set_cursor(0, { line, 0 })
    local select, chosen = vim.ui.select, false
    vim.ui.select = function(items, options, choose) -- luacheck: ignore 122
      for _, item in ipairs(items) do
        if vim.startswith(options.format_item(item), begin) then
          chosen = true
          return choose(item)
        end
      end
    end
    vim.lsp.buf.code_action()
    t.wait(function() return chosen end, begin)
    vim.ui.select = select -- luacheck: ignore 122
  end
  run(2, 'Keep')
  marked(buf, { 6, 10 })
  run(6, 'Undo')
  marked(buf, { 9 })
  t.eq(t.contents(path), (TEXT:gsub('two', 'TWO'):gsub('nine\n', '')))
  vim.cmd('Fileops keep file')
  marked(buf, {})
end)

t.it('what is hidden in a fold is shown by a key, and not decided', function()
  local path, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  vim.cmd('set foldmethod=manual | 1,5fold | normal! gg')
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  t.eq(#t.said(function() keys('dy') end), 1)
  t.eq({ vim.fn.foldclosed(2), marks.lines(buf) }, { -1, { 2, 6, 10 } })
  vim.cmd('normal! zE')
  vim.cmd('set foldmethod&')
  vim.cmd('Fileops undo file')
  marked(buf, {})
  t.eq(t.contents(path), TEXT)
end)

--- Signs and virtual lines of a buffer.
---@param buf integer
---@return table<string, integer> number of each
local function drawn(buf)
  local found = { virtual = 0 } ---@type table<string, integer>
  local ns = vim.api.nvim_get_namespaces()['fileops.unkept']
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })) do
    local group = mark[4].sign_hl_group
    if group then found[group] = (found[group] or 0) + 1 end
    if mark[4].virt_lines then found.virtual = found.virtual + 1 end
  end
  return found
end

--- Wait until this is drawn: that a change is gone may be answered before it counts as undone.
---@param buf integer
---@param expected table<string, integer>
local function shows(buf, expected)
  t.wait(
    function() return vim.deep_equal(drawn(buf), expected) end,
    function() return ('%s, not %s'):format(vim.inspect(expected), vim.inspect(drawn(buf))) end
  )
end

t.it(
  'one sign and one highlight say what is not kept; what was undone has a muted sign, and no text',
  function()
    local _, _, buf = changed()
    marked(buf, { 2, 6, 10 })
    shows(buf, { virtual = 0, FileopsSign = 3 })
    keys('gg]cdu')
    marked(buf, { 6, 10 })
    shows(buf, { virtual = 0, FileopsSign = 2, FileopsUndone = 1 })
    vim.cmd('Fileops keep file')
    marked(buf, {})
  end
)

t.it('all places are in the quickfix list, and the list stays as it is', function()
  local path, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  vim.fn.setqflist({}, 'f')
  vim.cmd('Fileops changes')
  t.wait(function() return #vim.fn.getqflist() >= 3 end, 'the list')
  local function here()
    local items = vim.tbl_filter(function(item) return item.bufnr == buf end, vim.fn.getqflist())
    return vim.tbl_map(function(item) return { item.lnum, item.text:match('[+].*$') } end, items)
  end
  local all = { { 2, '+1 −1' }, { 6, '+1 −0' }, { 10, '+0 −1' } }
  t.eq(here(), all)
  vim.cmd('cclose')
  vim.cmd.buffer(buf)
  vim.cmd('Fileops keep file')
  marked(buf, {})
  t.eq(here(), all)
  t.eq(vim.fn.filereadable(path), 1)
end)

t.it('a file that an agent renamed is one row, and is kept and undone as one', function()
  local path, agent = world.new(TEXT)
  local new_path = path:gsub('demo', 'new [name] ü')
  t.async(function()
    world.succeeded(agent:read({ file_path = path }))
    local changes = {
      {
        kind = 'rename',
        file_path = path,
        new_path = new_path,
        edits = { { old_string = 'two', new_string = 'TWO' } },
      },
    }
    world.succeeded(fileops.request('fileops/applyChanges', { session_id = agent.id, changes = changes }))
  end)
  local function rows()
    vim.fn.setqflist({}, 'f')
    local is_done = false
    unkept.fetch(function() is_done = true end)
    t.wait(function() return is_done end, 'the answer')
    t.said(function(said)
      vim.cmd('Fileops changes')
      t.wait(function()
        local is_empty = vim.iter(said):any(function(text) return text:find('nothing to decide') end)
        return is_empty or #vim.fn.getqflist() > 0
      end, 'the list')
    end)
    local folder = vim.fs.dirname(path)
    local items = vim.tbl_filter(
      function(item) return vim.startswith(vim.api.nvim_buf_get_name(item.bufnr), folder) end,
      vim.fn.getqflist()
    )
    vim.cmd('cclose')
    return vim.tbl_map(
      function(item) return { vim.api.nvim_buf_get_name(item.bufnr), item.text:match('· (%a.*)$') } end,
      items
    )
  end
  t.wait(function() return vim.uv.fs_stat(path) == nil end, 'the rename')
  local row = { new_path, ('renamed from %s · +1 −1'):format(require('fileops.buffers').short(path)) }
  t.wait(function() return vim.deep_equal(rows(), { row }) end, 'the rename to be one row')
  vim.cmd.edit(vim.fn.fnameescape(new_path))
  marked(vim.api.nvim_get_current_buf(), { 1 })
  t.said(function(said)
    vim.cmd('Fileops diff')
    t.eq(said[1], 'fileops: renamed from ' .. require('fileops.buffers').short(path))
  end)
  t.eq(world.text_of(vim.api.nvim_win_get_buf(assert(world.own_windows()[1]))), TEXT) -- under its old name
  vim.cmd('Fileops diff')
  vim.cmd('Fileops keep file')
  t.wait(function() return #rows() == 0 end, 'both halves to be kept')
  vim.cmd('Fileops undo keep')
  t.wait(function() return vim.deep_equal(rows(), { row }) end, 'both to be listed again')
  vim.cmd.edit(vim.fn.fnameescape(new_path))
  marked(vim.api.nvim_get_current_buf(), { 1 })
  vim.cmd('Fileops undo file')
  t.wait(function() return vim.uv.fs_stat(new_path) == nil end, 'the undo')
  t.eq(t.contents(path), TEXT)
end)

t.it('what is committed stays to keep or undo with the option for it', function()
  local other, agent = world.new(TEXT, { server = { approval_mode = 'yolo', keep_committed = false } })
  local folder = vim.fs.dirname(other)
  local function git(...)
    local command = { 'git', '-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@t', ... }
    local done = vim.system(command, { text = true }):wait()
    assert(done.code == 0, done.stderr)
  end
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'first')
  edit(agent, other, 'two', 'TWO')
  marked(vim.api.nvim_get_current_buf(), { 2 })
  git('commit', '-qam', 'second')
  local answered ---@type string[]?
  unkept.fetch(function(result)
    answered = vim.tbl_map(function(file) return file.file_path end, result.files)
  end)
  t.wait(function() return answered ~= nil end, 'the answer')
  t.eq(vim.list_contains(answered or {}, require('fileops.buffers').real(other)), true)
  vim.cmd.edit({ bang = true })
  marked(vim.api.nvim_get_current_buf(), { 2 })
  vim.cmd('Fileops keep file')
  marked(vim.api.nvim_get_current_buf(), {})
end)

t.it('a turn is undone, as previewed', function()
  local path, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  local lists = {} ---@type string[][]
  local select = vim.ui.select
  vim.ui.select = function(items, options, choose) -- luacheck: ignore 122
    lists[#lists + 1] = vim.tbl_map(options.format_item, items)
    if #lists < 3 then choose(items[1]) end
  end
  vim.cmd('Fileops turns')
  marked(buf, {})
  t.eq({ #lists, lists[2][1] }, { 2, 'Undo this turn, 3 changes in 1 file: demo.py +2 −2' })
  t.eq(t.contents(path), TEXT)
  t.wait(function() return world.text_of(buf) == TEXT end, 'the buffer to follow')
  vim.cmd('Fileops turns')
  t.wait(function() return #lists == 3 end, 'the turns')
  vim.ui.select = select -- luacheck: ignore 122
  t.eq(#lists[3], #lists[1] - 1) -- what was undone is not offered once more
  vim.cmd('Fileops redo')
  marked(buf, { 2, 6, 10 })
  vim.cmd('Fileops keep file')
  marked(buf, {})
end)

t.it('the undo of a turn leaves what is kept, unless it is chosen', function()
  local path, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  keys('gg]cdy')
  marked(buf, { 6, 10 })
  local lists = {} ---@type string[][]
  local chosen = { 1, 4, 1 }
  local select = vim.ui.select
  vim.ui.select = function(items, options, choose) -- luacheck: ignore 122
    lists[#lists + 1] = vim.tbl_map(options.format_item, items)
    choose(items[chosen[#lists]])
  end
  vim.cmd('Fileops turns')
  marked(buf, {})
  vim.ui.select = select -- luacheck: ignore 122
  t.eq({ lists[2][1], lists[2][4] }, {
    'Undo this turn, 2 changes in 1 file, 1 edit kept: demo.py +1 −1',
    'Also what is kept or committed...',
  })
  t.eq({ #lists[3], lists[3][1] }, { 4, 'Undo this turn, 3 changes in 1 file: demo.py +2 −2' })
  t.wait(function() return t.contents(path) == TEXT end, 'the undo')
end)

--- What is said about two decisions, in any order.
---@param typed string
---@param act fun() after which both are answered
---@return string[]
local function said_of_two(typed, act)
  return t.said(function(said)
    keys(typed)
    act()
    t.wait(function() return #said == 2 end, 'two words')
  end)
end

t.it('two decisions about one change at once are done once, and each is reported', function()
  local path, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  local words = said_of_two('gg]cdudu', function() marked(buf, { 6, 10 }) end)
  local done = 'fileops: 1 change undone (:Fileops redo takes that back)'
  t.eq({ vim.list_contains(words, done), words[1] ~= words[2] }, { true, true }) -- the other one says why not
  local without = TEXT:gsub('five\n', 'five\nadded\n'):gsub('nine\n', '')
  t.eq(t.contents(path), without)
  words = said_of_two('gg]cdydy', function() marked(buf, { 10 }) end)
  t.eq({
    vim.list_contains(words, 'fileops: 1 change kept (:Fileops undo keep takes that back)'),
    t.contents(path),
  }, { true, without })
  vim.cmd('Fileops keep file')
  marked(buf, {})
end)

t.it('a change that another editor has undone or kept already is neither kept nor undone', function()
  local path, _, buf = changed()
  marked(buf, { 2, 6, 10 })
  local ids = vim.tbl_map(function(change) return change.change_id end, marks.touched(buf))
  local function said(act)
    return t.said(function(words)
      act()
      t.wait(function() return #words > 0 end, 'a word')
    end)
  end
  said(function() keys('gg]cdu') end) -- as another editor would
  marked(buf, { 6, 10 })
  said(function() keys('gg]cdy') end)
  marked(buf, { 10 })
  local text = t.contents(path)
  t.eq(
    said(function() unkept.keep_ids({ ids[1] }) end),
    { 'fileops: nothing to keep: kept or undone already, or changed since' }
  )
  t.eq(
    said(function() unkept.undo_ids({ ids[2] }) end),
    { 'fileops: nothing to undo: kept or undone already, or changed since' }
  )
  t.eq({ t.contents(path), marks.lines(buf) }, { text, { 10 } })
  t.eq(
    said(function() unkept.keep_ids({ ids[1], ids[3] }) end),
    { 'fileops: 1 change kept; 1 kept or undone already, or changed since' }
  )
  marked(buf, {})
end)

t.it(
  'a buffer that cannot be changed keeps what was typed, and one that is read only follows its file',
  function()
    local path, _, buf = changed()
    marked(buf, { 2, 6, 10 })
    vim.bo[buf].readonly = true
    keys('gg]cdu')
    marked(buf, { 6, 10 })
    t.wait(function() return world.text_of(buf) == t.contents(path) end, 'the buffer to follow')
    t.eq({ vim.bo[buf].readonly, vim.bo[buf].modified }, { true, false })
    vim.bo[buf].readonly = false
    vim.api.nvim_buf_set_lines(buf, 0, 0, true, { 'typed' })
    marked(buf, { 7, 11 })
    vim.bo[buf].modifiable = false
    local text, disk = world.text_of(buf), t.contents(path)
    local said = t.said(function(said)
      keys('gg]cdu')
      t.wait(function() return #said > 0 end, 'a word')
    end)
    t.eq(said, { 'fileops: The editor did not apply the edit: the document cannot be changed.' })
    t.eq({ world.text_of(buf), t.contents(path), vim.bo[buf].modified }, { text, disk, true })
    marked(buf, { 7, 11 })
    vim.bo[buf].modifiable = true
    vim.bo[buf].modified = false
    vim.cmd('Fileops keep file')
    marked(buf, {})
  end
)

t.it('a file that is gone is named, and the window stays', function()
  local path = world.new(TEXT)
  local buffers = require('fileops.buffers')
  local said = t.said(function() t.eq(buffers.open(path .. '.gone'), false) end)
  t.eq({ #said, said[1]:match('demo.py.gone is gone$') }, { 1, 'demo.py.gone is gone' })
  vim.cmd('set nohidden | setlocal modified')
  local other = t.write(path .. '.other', TEXT)
  said = t.said(function() t.eq(buffers.open(other), false) end)
  t.eq(said[1]:match('cannot be opened: E37') ~= nil, true)
  vim.cmd('set hidden | setlocal nomodified')
  t.eq(vim.api.nvim_buf_get_name(0), path)
end)
