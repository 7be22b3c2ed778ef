local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local fileops = require('fileops')
local history = require('fileops.history')
local world = require('world')

local TEXT = 'one\ntwo\nthree\nfour\nfive\n'

---@param agent fileops.Session
---@param path string
---@param ... string[] pairs of old and new
local function edited(agent, path, ...)
  local steps = { ... }
  t.async(function()
    world.succeeded(agent:read({ file_path = path }))
    for _, step in ipairs(steps) do
      world.succeeded(agent:edit({ file_path = path, old_string = step[1], new_string = step[2] }))
    end
  end)
  require('fileops.ui.last_edit').close()
end

local function list() return vim.api.nvim_buf_get_lines(vim.fn.bufnr('fileops://history/edits'), 0, -1, true) end

---@param n integer
local function opened(n)
  t.wait(function() return #list() == n and list()[1]:find('%d:%d') end, 'the list')
end

local function keys(text) vim.api.nvim_feedkeys(vim.keycode(text), 'xt', false) end

t.it('edits are listed, the newest first, with the diff of the one under the cursor', function()
  local path, agent = world.new(TEXT)
  edited(agent, path, { 'two', 'TWO' }, { 'four', 'FOUR' })
  local win = vim.api.nvim_get_current_win()
  vim.cmd('Fileops history ' .. path)
  opened(2)
  assert(list()[1]:find('demo.py', 1, true) and list()[1]:find('+1 −1', 1, true), vim.inspect(list()))
  local function diff()
    return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('fileops://history/diff'), 0, -1, true), '\n')
  end
  assert(diff():find('+FOUR', 1, true), diff())
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  vim.api.nvim_exec_autocmds('CursorMoved', { buffer = vim.api.nvim_get_current_buf() })
  assert(diff():find('+TWO', 1, true), diff())
  keys('q')
  t.eq({ #world.own_windows(), vim.api.nvim_get_current_win() }, { 0, win })
end)

t.it('one edit is undone, and later typing is kept', function()
  local path, agent, buf = world.new(TEXT)
  edited(agent, path, { 'two', 'TWO' }, { 'four', 'FOUR' })
  vim.api.nvim_buf_set_lines(buf, 0, 0, true, { 'typed' })
  vim.cmd('silent write')
  vim.cmd('Fileops history ' .. path)
  opened(2)
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  t.eq(
    t.said(function(said)
      keys('u')
      t.wait(function() return #said == 1 and #list() == 3 end, 'the undo')
    end),
    { 'fileops: one edit was undone' }
  )
  t.eq(t.contents(path), 'typed\none\ntwo\nthree\nFOUR\nfive\n')
  t.eq({ world.text_of(buf), vim.bo[buf].modified }, { t.contents(path), false })
  t.eq({ vim.startswith(list()[3], '↶'), vim.startswith(list()[1], '↷') }, { true, true })
  history.close()
end)

t.it('an undo in a buffer with unsaved changes stays unsaved', function()
  local path, agent, buf = world.new(TEXT)
  edited(agent, path, { 'two', 'TWO' })
  vim.api.nvim_buf_set_lines(buf, 0, 0, true, { 'typed' })
  t.said(function(said)
    vim.cmd('Fileops undo')
    t.wait(function() return #said == 1 end, 'the undo')
  end)
  t.eq({ world.text_of(buf), vim.bo[buf].modified }, { 'typed\n' .. TEXT, true })
  t.eq(t.contents(path), (TEXT:gsub('two', 'TWO')))
end)

t.it('a whole session is undone, in all its files', function()
  local path, agent, buf = world.new(TEXT)
  local other = t.write(vim.fs.dirname(path) .. '/other.py', TEXT)
  local new = vim.fs.dirname(path) .. '/new.py'
  edited(agent, path, { 'two', 'TWO' }, { 'four', 'FOUR' })
  edited(agent, other, { 'one', 'ONE' })
  t.async(
    function() world.succeeded(agent:edit({ file_path = new, old_string = '', new_string = 'x\n' })) end
  )
  t.eq(
    t.said(function(said)
      vim.cmd('Fileops undo-session ' .. agent.id)
      t.wait(function() return #said == 1 end, 'the undo')
    end),
    { 'fileops: 4 edits were undone' }
  )
  t.eq({ t.contents(path), t.contents(other), world.text_of(buf) }, { TEXT, TEXT, TEXT })
  t.eq((vim.uv.fs_stat(new)), nil)
end)

t.it('an undo that would lose later changes is refused, and reported', function()
  local path, agent, buf = world.new(TEXT)
  edited(agent, path, { 'two', 'TWO' })
  vim.api.nvim_buf_set_lines(buf, 1, 2, true, { 'TWOish of mine' })
  vim.cmd('silent write')
  local before = t.contents(path)
  local said = t.said(function(said)
    vim.cmd('Fileops undo')
    t.wait(function() return #said == 1 end, 'the refusal')
  end)
  assert(said[1]:find('cannot be undone', 1, true), said[1])
  t.eq({ t.contents(path), world.text_of(buf) }, { before, before })
end)

t.it('an undo is reviewed like any edit, where edits are', function()
  local path, agent = world.new(TEXT)
  edited(agent, path, { 'two', 'TWO' })
  local result
  fileops.request(
    'fileops/setApprovalMode',
    { mode = 'default', session_id = agent.id },
    function() result = true end
  )
  t.wait(function() return result end)
  local answer
  fileops.undo({ session_id = agent.id }, function(_, value) answer = value end)
  t.wait(function() return #require('fileops.review.queue').waiting() == 1 end, 'the review')
  fileops.answer('reject')
  t.wait(function() return answer end, 'the answer')
  t.eq({ answer.error.code, t.contents(path) }, { 'rejected', (TEXT:gsub('two', 'TWO')) })
end)

t.it('a session or a file without edits is reported as such', function()
  local path = world.new(TEXT)
  t.eq(
    t.said(function(said)
      vim.cmd('Fileops undo')
      t.wait(function() return #said == 1 end)
    end),
    { 'fileops: no agent edit of this file to undo' }
  )
  vim.cmd('Fileops history ' .. path)
  t.wait(function() return list()[1] == 'no agent has edited anything yet' end, 'the empty list')
  keys('q')
end)

t.it('the open list follows further edits', function()
  local path, agent = world.new(TEXT)
  vim.cmd('Fileops history ' .. path)
  t.wait(function() return list()[1] == 'no agent has edited anything yet' end, 'the empty list')
  edited(agent, path, { 'two', 'TWO' })
  t.wait(function() return list()[1]:find(agent.id, 1, true) end, 'the edit in the list')
  keys('q')
end)

t.it('the cursor stays on its entry when another one comes', function()
  local path, agent = world.new(TEXT)
  edited(agent, path, { 'two', 'TWO' })
  vim.cmd('Fileops history ' .. path)
  opened(1)
  edited(agent, path, { 'four', 'FOUR' })
  opened(2)
  local said = t.said(function(said)
    keys('u')
    t.wait(function() return #said > 0 end, 'the undo')
  end)
  t.eq(said, { 'fileops: one edit was undone' })
  t.eq(t.contents(path), (TEXT:gsub('four', 'FOUR')))
  keys('q')
end)

t.it('the list of one session has its edits alone', function()
  local path, agent = world.new(TEXT)
  edited(agent, path, { 'two', 'TWO' })
  edited(fileops.session('another'), path, { 'one', 'ONE' })
  require('fileops.history').open('', agent.id)
  t.wait(function() return list()[1]:find(agent.id, 1, true) end, 'the list')
  t.eq(#list(), 1)
  keys('q')
end)

t.it('a change set is undone as a whole, or one file of it', function()
  local path, agent = world.new(TEXT)
  local second = vim.fs.dirname(path) .. '/of-the-set'
  local function apply()
    vim.fn.delete(second)
    t.async(function()
      world.succeeded(agent:read({ file_path = path }))
      world.succeeded(fileops.request('fileops/applyChanges', {
        session_id = agent.id,
        changes = {
          { kind = 'edit', file_path = path, edits = { { old_string = 'two', new_string = 'TWO' } } },
          { kind = 'create', file_path = second, content = 'new\n' },
        },
      }))
    end)
    require('fileops.ui.last_edit').close()
  end
  for choice, left in ipairs({ 0, 1 }) do
    apply()
    require('fileops.history').open('', agent.id)
    opened(2 * choice)
    vim.api.nvim_win_set_cursor(0, { vim.fn.match(list(), 'demo.py') + 1, 0 })
    local ways = {}
    local select = vim.ui.select
    vim.ui.select = function(items, _, on_choice) -- luacheck: ignore 122
      ways = items
      on_choice(items[choice], choice)
    end
    local said = t.said(function(said)
      keys('u')
      t.wait(function() return #said == 1 end, 'the undo')
    end)
    vim.ui.select = select -- luacheck: ignore 122
    t.eq(ways[1], 'Undo the change set: 2 files')
    t.eq(said, { choice == 1 and 'fileops: 2 edits were undone' or 'fileops: one edit was undone' })
    t.eq(t.contents(path), TEXT)
    t.eq(vim.fn.filereadable(second), left)
    keys('q')
  end
end)

t.it('many edits are undone at one key after a question only', function()
  local path, agent = world.new(TEXT)
  edited(agent, path, { 'one', 'ONE' }, { 'two', 'TWO' }, { 'three', 'THREE' })
  local edited_text = t.contents(path)
  require('fileops.history').open('', agent.id)
  opened(3)
  local asked = nil
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  local select = vim.ui.select
  vim.ui.select = function(items, options, choose) -- luacheck: ignore 122
    asked = { options.prompt, items, choose }
  end
  keys('U')
  t.wait(function() return asked end, 'the question')
  vim.ui.select = select -- luacheck: ignore 122
  t.eq({ asked[1], asked[2][1] }, { 'Edits of ' .. agent.id, 'Undo 3 edits in 1 file' })
  asked[3](nil, nil)
  t.eq(t.contents(path), edited_text)
  t.said(function(said)
    asked[3](asked[2][1], 1)
    t.wait(function() return #said == 1 end, 'the undo')
  end)
  t.eq(t.contents(path), TEXT)
  keys('q')
end)

t.it('the columns are as wide as what they hold', function()
  local function entry(path, added, session_id)
    return {
      file_path = path,
      timestamp = 0,
      undoes = {},
      stats = { added = added, removed = 1 },
      session_id = session_id,
    }
  end
  local lines = history.lines({
    entry('/p/a.py', 1, 'one'),
    entry('/p/größer als alles andere.py', 120, 'two'),
  })
  local function column(line, text) return vim.fn.strdisplaywidth(line:sub(1, line:find(text, 1, true) - 1)) end
  t.eq(column(lines[1], 'one'), column(lines[2], 'two'))
  t.eq(vim.fn.strdisplaywidth(lines[1]), vim.fn.strdisplaywidth(lines[2]))
  assert(lines[2]:find('größer als alle…', 1, true), lines[2])
end)
