local t = require('harness')
local handlers = require('fileops.client.handlers').all()
local sessions = require('fileops.sessions')

---@param ... table fields that differ
---@return fileops.wire.Session[]
local function told(...)
  local all = vim.tbl_map(function(fields)
    local session = { host = 'codex', connected = true, approval_mode = 'default', n_reads = 0, n_edits = 0 }
    session.last_seen = 1
    return vim.tbl_extend('force', session, fields)
  end, { ... })
  handlers['fileops/didChangeSessions'](nil, { sessions = all })
  return all
end

t.it(
  "the person's own session is named in the list of agents",
  function() t.eq(sessions.label({ session_id = '', label = 'Neovim' }), 'you') end
)

t.it('a session is named by its label, and never by its id', function()
  told(
    { session_id = 'codex:0199', label = 'Codex' },
    { session_id = 'codex-2', label = 'Codex 2' },
    { session_id = 'agent-1', label = 'Neovim', host = 'neovim' },
    { session_id = 'neovim-2/agent-1', label = 'Neovim 2', host = 'neovim' }
  )
  require('fileops').session('agent-1')
  t.eq(
    vim.tbl_map(sessions.name, { 'codex:0199', 'codex-2', 'agent-1', 'neovim-2/agent-1', '' }),
    { 'Codex', 'Codex 2', 'agent-1', 'Neovim 2', 'you' }
  )
  -- of one that the daemon does not list any more
  local state = require('fileops.client.process').state
  state.shared = { socket = '/s', connection = 'nvim-1' }
  t.eq(vim.tbl_map(sessions.name, { 'codex:0200', 'codex-3', 'codex-3/plan' }), { 'codex', 'codex', 'codex' })

  t.eq(sessions.proposer({ session_id = 'agent-1' }), 'agent-1')
  local session = { session_id = 'x', label = 'newer', host = 'gemini' }
  t.eq(sessions.proposer({ session_id = 'codex-2', session = session }), 'newer')
  t.eq(sessions.rebased({ changed_by = 'codex-2', n_foreign_hunks = 2 }), 'rebased over 2 changes by Codex 2')
  t.eq(
    sessions.rebased({ changed_by = 'external', n_foreign_hunks = 1 }),
    'rebased over 1 change by another program'
  )
  sessions.forget()
  t.eq(sessions.name('codex-2'), 'codex')
  state.shared = nil
  t.eq(sessions.name('planner-2'), 'planner-2') -- in a private daemon every agent is in this Neovim
end)

t.it(
  'agents that are attached come first, the person is none, and no row moves when one is active',
  function()
    local all = told(
      { session_id = 'c', label = 'c', connected = false },
      { session_id = 'b', label = 'b' },
      { session_id = 'a', label = 'a' },
      { session_id = '', label = 'Neovim' }
    )
    local function ids()
      return vim.tbl_map(function(session) return session.session_id end, sessions.agents())
    end
    t.eq(ids(), { 'a', 'b', 'c' })
    all[2].last_seen = 1000
    told(unpack(all))
    t.eq(ids(), { 'a', 'b', 'c' })
  end
)

if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local fileops = require('fileops')
local world = require('world')
if vim.env.FILEOPS_TEST_SHARED ~= '1' then return end

--- Answer each list with the nth choice that begins so; returns what was offered.
---@param begins string[]
---@param act fun()
---@return { prompt: string, items: string[] }[]
local function choosing(begins, act)
  local select, lists = vim.ui.select, {} ---@type function, { prompt: string, items: string[] }[]
  vim.ui.select = function(items, options, choose) -- luacheck: ignore 122
    local lines = vim.tbl_map(options.format_item, items)
    lists[#lists + 1] = { prompt = options.prompt, items = lines }
    local wanted = begins[#lists]
    for i, line in ipairs(lines) do
      if wanted and line:find(wanted, 1, true) then return choose(items[i], i) end
    end
    choose(nil)
  end
  act()
  t.wait(function() return #lists >= #begins + 1 or #lists == #begins end, 'the lists')
  vim.ui.select = select -- luacheck: ignore 122
  return lists
end

t.it('an agent that has to read a file again is named so in the list of agents alone', function()
  local path, agent, buf = world.new('one\ntwo\n')
  t.async(function() world.succeeded(agent:read({ file_path = path })) end)
  local is_stale = false
  local off = fileops.on('stale', function() is_stale = true end)
  vim.api.nvim_buf_set_lines(buf, 0, 0, true, { 'typed' })
  t.wait(function() return is_stale end, 'the daemon to have seen it')
  off()
  local lists = choosing({ '● ' .. agent.id, 'nothing of these' }, function() vim.cmd('Fileops agents') end)
  assert(
    vim
      .iter(lists[1].items)
      :any(function(line) return line:find('● ' .. agent.id .. '  0 edits, 1 read', 1, true) end)
  )
  assert(lists[2].prompt:find('has to read again: ', 1, true), lists[2].prompt)
  t.eq(lists[2].items, { 'Follow it', 'List its changes to keep or undo', 'Show its history' })
  local marks = vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, {})
  t.eq({ marks, fileops.status() }, { {}, '' })
  vim.bo[buf].modified = false
end)

t.it('history shows a change, and undoes it', function()
  local path, agent = world.new('one\ntwo\n')
  t.async(function()
    world.succeeded(agent:read({ file_path = path }))
    world.succeeded(agent:edit({ file_path = path, old_string = 'two', new_string = 'TWO' }))
  end)
  local lists = choosing({ 'demo.py +1 −1', 'Show its diff' }, function() vim.cmd('Fileops history %') end)
  t.eq(lists[2].items, { 'Show its diff', 'Undo it', 'Open the file' })
  t.wait(function() return vim.bo.filetype == 'diff' end, 'the diff')
  t.eq(vim.list_slice(vim.api.nvim_buf_get_lines(0, 0, -1, true), 4), { ' one', '-two', '+TWO' })
  vim.cmd.close()
  t.said(function(said)
    choosing({ 'demo.py +1 −1', 'Undo it' }, function() vim.cmd('Fileops history ' .. path) end)
    t.wait(function() return said[#said] == 'fileops: undone (:Fileops redo takes that back)' end, 'the undo')
  end)
  t.eq(t.contents(path), 'one\ntwo\n')
  local after = choosing({ 'nothing of these' }, function() vim.cmd('Fileops history ' .. path) end)
  local lines = vim.tbl_map(function(line) return line:match('^%d%d:%d%d  (.*)$') end, after[1].items)
  local name = require('fileops.buffers').short(path)
  t.eq(lines[1], ('You  %s +1 −1  an undo'):format(name))
  assert(vim.endswith(lines[2], ('  %s +1 −1  undone'):format(name)), lines[2])
  vim.cmd('Fileops redo')
  t.wait(function() return t.contents(path) == 'one\nTWO\n' end, 'the redo')
end)

t.it('history names a person as you, and shows a rename and an executable bit as what they are', function()
  local path, agent = world.new('one\ntwo\n')
  local new_path = path:gsub('demo', 'other')
  t.async(function()
    world.succeeded(agent:read({ file_path = path }))
    local patch = ('diff --git a/%s b/%s\nold mode 100644\nnew mode 100755\n'):format(path, path)
    world.succeeded(fileops.request('fileops/applyPatch', { session_id = agent.id, patch = patch }))
  end)
  vim.cmd('Fileops changes')
  t.wait(function()
    return vim
      .iter(vim.fn.getqflist())
      :any(function(item) return vim.endswith(item.text, ' · executable bit') end)
  end, 'the list calls it so, too')
  vim.cmd('cclose')
  t.async(function()
    local changes = { { kind = 'rename', file_path = path, new_path = new_path } }
    world.succeeded(fileops.request('fileops/applyChanges', { session_id = agent.id, changes = changes }))
  end)
  local short = require('fileops.buffers').short
  local function shown(file, wanted)
    local lists = choosing({ 'nothing of these' }, function() vim.cmd('Fileops history ' .. file) end)
    for _, line in ipairs(lists[1].items) do
      if vim.endswith(line, ('%s %s'):format(short(file), wanted)) then return true end
    end
    return lists[1].items
  end
  t.eq(shown(path, 'renamed to ' .. short(new_path)), true)
  t.eq(shown(new_path, 'renamed from ' .. short(path)), true)
  t.eq(shown(path, 'executable bit'), true)
end)
