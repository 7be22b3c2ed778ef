-- Changes by agents and others, as the daemon recorded them: a list to choose from, the diff of an entry, and its undo.
local buffers = require('fileops.buffers')
local decision = require('fileops.unkept.decision')
local hunks = require('fileops.ui.hunks')
local messages = require('fileops.ui.messages')
local protocol = require('fileops.client.protocol')

local M = {}

local N_ENTRIES = 200

---@param content string a kind of content
---@return string
local function words_of(content) return (content:gsub('_', ' ')) end

---@param entry fileops.wire.RecordEntry
---@return string
local function summary(entry)
  if entry.moved_from then return hunks.renamed(entry.moved_from, entry.edited) end
  if entry.moved_to then return 'renamed to ' .. buffers.short(entry.moved_to) end
  if entry.content ~= 'kept' then return words_of(entry.content) end
  return entry.kind == 'mode' and 'executable bit' or hunks.summary(entry)
end

---@param entry fileops.wire.RecordEntry
---@return string such as "14:03  Codex  cart.py +3 −1"
local function line_of(entry)
  return ('%s  %s  %s %s%s%s'):format(
    os.date('%H:%M', math.floor(entry.time)),
    entry.by.kind == 'person' and 'You' or entry.by.label,
    buffers.short(entry.path),
    summary(entry),
    (entry.rewind_id or #entry.undoes > 0) and '  an undo' or '',
    entry.undone_by and '  undone' or ''
  )
end

--- The cells of a notebook that differ, each below its name.
---@param cells fileops.wire.CellUiExtra[]
---@return string
local function diff_of(cells)
  local parts = {} ---@type string[]
  for _, cell in ipairs(cells) do
    local place = cell.old_index and (' (was %d)'):format(cell.old_index) or ''
    parts[#parts + 1] = ('diff cell %s · %s · index %d%s · %s'):format(
      cell.cell_id,
      cell.cell_type,
      cell.index,
      place,
      cell.kind
    )
    parts[#parts + 1] = cell.diff ~= '' and cell.diff or nil
    if cell.outputs_removed > 0 then
      local outputs = cell.outputs_removed == 1 and '1 output' or cell.outputs_removed .. ' outputs'
      parts[#parts + 1] = outputs .. ' removed'
    end
  end
  return (table.concat(parts, '\n'):gsub('\n\n', '\n'))
end

---@param entry fileops.wire.RecordEntry
local function show_diff(entry)
  require('fileops').request(protocol.methods.entry, { entry_id = entry.entry_id }, function(err, result)
    if err then return messages.failure(err) end
    if result.other_change then return messages.info('the cells are the same: ' .. result.other_change) end
    if result.diff == '' then
      local why = entry.content ~= 'kept' and (' (%s)'):format(words_of(entry.content)) or ''
      return messages.info('the text of this change is not recorded' .. why)
    end
    vim.cmd('botright new')
    local buf = vim.api.nvim_get_current_buf()
    vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'wipe', false
    vim.api.nvim_buf_set_name(
      buf,
      ('fileops://change/%s/%s'):format(entry.entry_id, vim.fs.basename(entry.path))
    )
    vim.api.nvim_buf_set_lines(
      buf,
      0,
      -1,
      false,
      vim.split(
        result.cells and diff_of(result.cells) or result.diff,
        '\n',
        { plain = true, trimempty = true }
      )
    )
    vim.bo[buf].modifiable, vim.bo[buf].filetype = false, 'diff'
  end)
end

---@param entry fileops.wire.RecordEntry
local function undo(entry)
  decision.rewind({ entry_id = entry.entry_id }, 'the undo', function(details)
    require('fileops.unkept.changes').undone(details.rewind_id)
    if #details.conflicts > 0 then return messages.warn('left as it is: others changed it since') end
    messages.info('undone (:Fileops redo takes that back)')
  end)
end

---@param entry fileops.wire.RecordEntry
local function choose_action(entry)
  local actions = { { 'Show its diff', show_diff } }
  if entry.undoable and not entry.undone_by then actions[#actions + 1] = { 'Undo it', undo } end
  if entry.kind ~= 'delete' then
    actions[#actions + 1] = { 'Open the file', function() buffers.open(entry.path) end }
  end
  vim.ui.select(actions, {
    prompt = line_of(entry),
    kind = 'fileops.entry',
    format_item = function(action) return action[1] end,
  }, function(action)
    if action then action[2](entry) end
  end)
end

---@param entries fileops.wire.RecordEntry[]
local function choose(entries)
  if #entries == 0 then return messages.info('no change is recorded here') end
  vim.ui.select(entries, {
    prompt = 'History',
    kind = 'fileops.history',
    format_item = line_of,
  }, function(entry)
    if entry then choose_action(entry) end
  end)
end

---@param by table one of fileops.wire.BySession, ByCommand, ByPerson, ByOutside and ByUnsure
---@return string
local function author(by)
  if by.kind == 'person' then return 'you' end
  return by.label or (by.kind == 'outside' and 'another program' or 'an unknown author')
end

--- Say who wrote some lines of the current file, kept or not; choose a change if several wrote them.
---@param range { first: integer, last: integer } 1-based
local function of_lines(range)
  local path = vim.api.nvim_buf_get_name(0)
  local request = require('fileops').request
  request(protocol.methods.blame, { file_path = path }, function(err, result)
    if err then return messages.failure(err) end
    local is_wanted, last = {}, nil ---@type table<string, true>, fileops.wire.BlamedLines?
    for _, run in ipairs(result.lines) do
      local is_in = run.first_line <= range.last and range.first < run.first_line + run.n_lines
      if is_in and run.entry_id then
        is_wanted[run.entry_id], last = true, run
      end
    end
    local lines = range.first == range.last and 'this line' or 'these lines'
    if not last then return messages.info('nobody has changed ' .. lines .. ' since the recording began') end
    if vim.tbl_count(is_wanted) == 1 then
      local time = os.date('%Y-%m-%d %H:%M', math.floor(last.time))
      return messages.info(('%s wrote %s, %s'):format(author(last.by), lines, time))
    end
    request(protocol.methods.log, { limit = N_ENTRIES, file_path = path }, function(failure, log)
      if failure then return messages.failure(failure) end
      choose(vim.tbl_filter(function(entry) return is_wanted[entry.entry_id] end, log.entries))
    end)
  end)
end

--- Choose a change, newest first: of a file, of an agent, or of all. With lines: of these, see `of_lines`.
---@param path string "" for all files
---@param session? fileops.wire.Session
---@param range? { first: integer, last: integer } 1-based
function M.open(path, session, range)
  if range then return of_lines(range) end
  local params = {
    limit = N_ENTRIES,
    file_path = path ~= '' and buffers.absolute(path) or nil,
    session_id = session and session.session_id,
  }
  require('fileops').request(protocol.methods.log, params, function(err, result)
    if err then return messages.failure(err) end
    local arrived = {} ---@type table<string, true> old names of renamed files, which are listed by their new ones
    for _, entry in ipairs(result.entries) do
      if entry.edited then arrived[entry.moved_from] = true end
    end
    choose(
      vim.tbl_filter(function(entry) return not (entry.moved_to and arrived[entry.path]) end, result.entries)
    )
  end)
end

return M
