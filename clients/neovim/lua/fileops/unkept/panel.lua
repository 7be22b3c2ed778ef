-- The panel of what is not kept: session, turn, file, change, with their sizes, each of which is kept or undone as a
-- whole. The daemon makes the tree; it is fetched again at each change while the panel is open, and the cursor stays on
-- its row, so that a key which was meant for it does not meet another one.
local buffers = require('fileops.buffers')
local config = require('fileops.config')
local events = require('fileops.client.events')
local highlights = require('fileops.ui.highlights')
local keymaps = require('fileops.ui.keymaps')
local messages = require('fileops.ui.messages')
local pane = require('fileops.ui.pane')
local protocol = require('fileops.client.protocol')
local unkept = require('fileops.unkept.changes')

local M = {}

local shown ---@type fileops.Pane?
local rows = {} ---@type fileops.UnkeptRow[] by line

---@param node { n_changes: integer, added: integer, removed: integer }
---@return string such as "3 changes +4 −1"
local function size(node)
  local noun = node.n_changes == 1 and 'change' or 'changes'
  return ('%d %s +%d −%d'):format(node.n_changes, noun, node.added, node.removed)
end

---@param result fileops.wire.UnkeptResult
---@return fileops.Page
local function page_of(result)
  local page = { lines = {}, decorations = {}, hunk_at = {}, hunk_lines = {} } ---@type fileops.Page
  rows = {}
  local function put(depth, name, words, group, row)
    local text = ('  '):rep(depth) .. name
    page.lines[#page.lines + 1] = text .. '  ' .. words
    local line = #page.lines - 1
    local function paint(from, to, hl_group)
      table.insert(page.decorations, { row = line, col = from, opts = { end_col = to, hl_group = hl_group } })
    end
    paint(0, #text, group)
    paint(#text, #page.lines[#page.lines], 'FileopsMuted')
    rows[#rows + 1] = row
  end
  local changes = {} ---@type table<string, { path: string, change: fileops.wire.UnkeptChange }>
  for _, file in ipairs(result.files) do
    for _, change in ipairs(file.changes) do
      changes[change.change_id] = { path = file.file_path, change = change }
    end
  end
  for _, session in ipairs(result.sessions) do
    local colour = highlights.of_session(session.session_id or session.label)
    local id = session.session_id or session.label
    put(0, '● ' .. session.label, size(session), colour, { id = id, change_ids = session.change_ids })
    for _, turn in ipairs(session.turns) do
      local began = turn.began and os.date('%H:%M ', math.floor(turn.began)) or ''
      local turn_id = id .. '/' .. (turn.turn_id or '')
      local row = { id = turn_id, change_ids = turn.change_ids }
      put(1, began .. (turn.title or 'a turn without a title'), size(turn), 'FileopsTitle', row)
      for _, file in ipairs(turn.files) do
        local file_id = turn_id .. '/' .. file.file_path
        row = { id = file_id, change_ids = file.change_ids, path = file.file_path, line = 1 }
        put(2, buffers.short(file.file_path), size(file), 'Directory', row)
        for _, change_id in ipairs(file.change_ids) do
          local found = changes[change_id]
          if found then
            local change = found.change
            local line = math.max(1, change.start_line)
            local words = ('%s +%d −%d'):format(change.kind, change.added, change.removed)
            row = { id = change_id, change_ids = { change_id }, path = found.path, line = line }
            put(3, ('line %d'):format(line), words, 'FileopsLineNr', row)
          end
        end
      end
    end
  end
  if #rows == 0 then page.lines[1] = 'nothing to keep or undo' end
  return page
end

---@return fileops.UnkeptRow? under the cursor
local function selected()
  local win = shown and shown.wins[1]
  return win and rows[vim.api.nvim_win_get_cursor(win)[1]] or nil
end

---@param result fileops.wire.UnkeptResult
---@return table fields of a `fileops.PaneSpec`
local function spec_of(result)
  local keys = config.get().keys
  local title = ' %#FileopsTitle#Changes to keep%*'
  local files = result.n_files == 1 and 'file' or 'files'
  local where = ('%d in %d %s'):format(result.n_changes, result.n_files, files)
  return {
    name = 'changes',
    file_path = '',
    layout = 'inline',
    hunks = {},
    page = page_of(result),
    titles = {
      title .. (' %%#FileopsMuted#· %s%%*'):format(where),
      title,
    },
    n_needed = 3,
    hints = {
      { keys.keep_change, 'keep' },
      { keys.undo_change, 'undo' },
      { keys.close, 'close' },
      { keys.open, 'open' },
    },
  }
end

---@param act fun(result: fileops.wire.UnkeptResult)
local function fetch(act)
  require('fileops').request(protocol.methods.unkept, vim.empty_dict(), function(err, result)
    if err then return messages.failure(err) end
    act(result)
  end)
end

local function refresh()
  if not shown or not shown:is_open() then return end
  fetch(function(result)
    if not shown or not shown:is_open() then return end
    local before = selected()
    shown:update(spec_of(result))
    for i, row in ipairs(rows) do
      if before and row.id == before.id then vim.api.nvim_win_set_cursor(shown.wins[1], { i, 0 }) end
    end
  end)
end

local actions = {
  keep_change = function()
    local row = selected()
    if row then unkept.keep_ids(row.change_ids) end
  end,
  undo_change = function()
    local row = selected()
    if row then unkept.undo_asked(row.change_ids, row.path and 1 or nil) end
  end,
  open = function()
    local row = selected()
    if not row or not row.path then return end
    M.close()
    if buffers.open(row.path) then require('fileops.ui.text_keys').go(row.line) end
  end,
  refresh = refresh,
  close = function() M.close() end,
}

function M.close()
  if shown then shown:close() end
end

--- Open it, with the cursor in it.
function M.open()
  if not unkept.is_served() then return unkept.not_served() end
  fetch(function(result)
    if not (shown and shown:is_open()) then
      local spec = spec_of(result)
      spec.height = math.max(config.get().pane.height, 20)
      spec.map = function(buf) keymaps.map(buf, actions) end
      spec.on_close = function() shown = nil end
      shown = pane.open(spec)
    end
    if not shown then return messages.warn('no room for the panel') end
    shown:enter()
  end)
end

events.on('unkept', refresh)

return M
