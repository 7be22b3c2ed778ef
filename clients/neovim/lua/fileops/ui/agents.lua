-- The panel of agents: who is attached to the daemon, who is asked about their edits, what they did and when. It
-- follows the daemon's notifications while it is open.
local columns = require('fileops.ui.columns')
local config = require('fileops.config')
local events = require('fileops.client.events')
local keymaps = require('fileops.ui.keymaps')
local messages = require('fileops.ui.messages')
local pane = require('fileops.ui.pane')
local sessions = require('fileops.sessions')

local M = {}

local HEADING = { 'agent', 'host', 'mode', 'reads', 'edits', 'last active' }
local WIDTHS = { 30, 16, 10, 6, 6, 13 } -- cells; a longer text is cut
local MODES = { 'default', 'auto_edit', 'yolo' }
local METHOD_NOT_FOUND = -32601 -- JSON-RPC 2.0

local shown ---@type fileops.Pane?
local rows = {} ---@type fileops.wire.Session[] of the panel's lines, from the second one on

---@param texts string[] one per column
---@return string
local function row_of(texts)
  local cells = {}
  for i, text in ipairs(texts) do
    cells[i] = columns.cell(text, WIDTHS[i] - 1)
  end
  return vim.trim(table.concat(cells, ' '))
end

---@param session fileops.wire.Session
---@return string
local function line_of(session)
  return (session.connected and '● ' or '○ ')
    .. row_of({
      sessions.label(session),
      session.host,
      session.approval_mode,
      tostring(session.n_reads),
      tostring(session.n_edits),
      session.last_seen and os.date('%H:%M:%S', math.floor(session.last_seen)) --[[@as string]] or '–',
    })
end

---@return fileops.Page
local function page()
  rows = sessions.list()
  local result = { lines = { '  ' .. row_of(HEADING) }, decorations = {}, hunk_at = {}, hunk_lines = {} }
  local function paint(row, to, group)
    table.insert(result.decorations, { row = row, opts = { end_col = to, hl_group = group } })
  end
  paint(0, #result.lines[1], 'FileopsMuted')
  for i, session in ipairs(rows) do
    local line = line_of(session)
    result.lines[i + 1] = line
    if session.connected then
      paint(i, #'●', 'FileopsAccepted')
    else
      paint(i, #line, 'FileopsMuted')
    end
  end
  if #rows == 0 then result.lines[2] = '  none yet' end
  return result
end

---@return fileops.wire.Session? session under the cursor
local function selected()
  local win = shown and shown.wins[1]
  return win and rows[vim.api.nvim_win_get_cursor(win)[1] - 1] or nil
end

---@return table fields of a `fileops.PaneSpec`
local function spec()
  local keys = config.get().keys
  local shared = require('fileops.client.process').state.shared
  local where = shared and 'shared daemon' or 'this editor alone'
  return {
    name = 'agents',
    file_path = '',
    layout = 'inline',
    hunks = {},
    page = page(),
    titles = { (' %%#FileopsTitle#Agents%%* %%#FileopsMuted#· %s%%*'):format(where) },
    hints = {
      { keys.mode, 'mode' },
      { keys.open, 'history' },
      { keys.undo_session, 'undo all' },
      { keys.refresh, 'refresh' },
      { keys.close, 'close' },
    },
  }
end

--- Draw again, with the cursor on the session that it was on.
local function redraw()
  if not shown or not shown:is_open() then return end
  local before = selected()
  shown:update(spec())
  for i, session in ipairs(rows) do
    if before and session.session_id == before.session_id then
      vim.api.nvim_win_set_cursor(shown.wins[1], { i + 1, 0 })
    end
  end
end

---@param done fun()
local function fetch(done)
  sessions.fetch(function(err)
    if not err then return done() end
    if err.code == METHOD_NOT_FOUND then
      return messages.error('this daemon has no list of agents: update it')
    end
    messages.failure(err)
  end)
end

---@param act fun(session: fileops.wire.Session)
---@return fun()
local function on_selected(act)
  return function()
    local session = selected()
    if session then act(session) end
  end
end

local actions = {
  mode = on_selected(function(session)
    vim.ui.select(MODES, {
      prompt = ('Ask before edits of %s'):format(sessions.label(session)),
      kind = 'fileops.mode',
    }, function(mode)
      if mode then require('fileops.manual').set_mode(session.session_id, mode) end
    end)
  end),
  open = on_selected(function(session)
    M.close()
    require('fileops.history').open('', session.session_id)
  end),
  undo_session = on_selected(
    function(session) require('fileops.history').ask_undo_session(session.session_id) end
  ),
  refresh = function() fetch(redraw) end,
  close = function() M.close() end,
}

--- Show those that are known.
function M.show()
  if shown and shown:is_open() then
    redraw()
    return shown:enter()
  end
  local panel = spec()
  panel.height = config.get().pane.height
  panel.map = function(buf) keymaps.map(buf, actions) end
  panel.on_close = function() shown = nil end
  shown = pane.open(panel)
  if not shown then return messages.warn('no room for the agents') end
  shown:enter()
  if #rows > 0 then vim.api.nvim_win_set_cursor(shown.wins[1], { 2, 0 }) end
end

--- Open the panel, and go into it.
function M.open() fetch(M.show) end

function M.close()
  if shown then shown:close() end
end

events.on('sessions', redraw)

return M
