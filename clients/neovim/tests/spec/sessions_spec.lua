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

  t.eq(sessions.source('session:codex:0199'), 'by session Codex')
  t.eq(sessions.source('buffer'), 'by typing')
  t.eq(sessions.source('external'), 'on disk')
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

t.it('those that are attached come first, and no row moves when one is active', function()
  local all = told(
    { session_id = 'c', label = 'c', connected = false },
    { session_id = 'b', label = 'b' },
    { session_id = 'a', label = 'a' }
  )
  local function ids()
    return vim.tbl_map(function(session) return session.session_id end, sessions.list())
  end
  t.eq(ids(), { 'a', 'b', 'c' })
  all[2].last_seen = 1000
  told(unpack(all))
  t.eq(ids(), { 'a', 'b', 'c' })
end)

t.it('the panel opens at an agent, and asks about that one, not about the person', function()
  t.clean()
  told({ session_id = '', label = 'Neovim' }, { session_id = 'codex:0199', label = 'Codex' })
  local agents = require('fileops.ui.agents')
  agents.show()
  local select, prompt = vim.ui.select, nil
  vim.ui.select = function(_, options) prompt = options.prompt end -- luacheck: ignore 122
  vim.api.nvim_feedkeys('m', 'xt', false)
  vim.ui.select = select -- luacheck: ignore 122
  t.eq(prompt, 'Ask before edits of Codex')
  agents.close()
  sessions.forget()
end)

t.it('the panel follows notifications, and the cursor stays on its session', function()
  t.clean()
  local all = told({ session_id = 'a', label = 'a' }, { session_id = 'b', label = 'b' })
  local agents = require('fileops.ui.agents')
  agents.show()
  vim.api.nvim_win_set_cursor(0, { 3, 0 })
  all[1].connected, all[2].n_edits = false, 7
  told(unpack(all))
  t.eq(vim.api.nvim_get_current_line():match('● b%s+codex%s+default%s+0%s+7') ~= nil, true)
  t.eq(vim.api.nvim_win_get_cursor(0)[1], 2)
  agents.close()
  t.eq(#vim.api.nvim_list_wins(), 1)
  sessions.forget()
end)
