-- What a person can decide, as the quickfix list: waiting reviews first, then changes to keep or undo. Rows do not
-- change until the list is requested again.
local changes = require('fileops.unkept.changes')
local hunks = require('fileops.ui.hunks')
local messages = require('fileops.ui.messages')
local sessions = require('fileops.sessions')

local M = {}

---@param review fileops.Review
---@return table item
local function review_item(review)
  local item =
    { type = 'W', lnum = 1, text = ('waits: %s'):format(require('fileops.review.view').summary(review)) }
  local first = review.kind == 'edit' and review.params.changes[1]
  if require('fileops.review.text').can_show(review) and vim.uv.fs_stat(review.params.file_path) then
    item.filename, item.lnum = review.params.file_path, math.max(1, first and first.old_start or 1)
  else
    item.filename = require('fileops.review.view').name_of(review)
  end
  return item
end

---@param result fileops.wire.UnkeptResult
---@return table<string, string> title by turn id
local function titles_of(result)
  local titles = {} ---@type table<string, string>
  for _, session in ipairs(result.sessions) do
    for _, turn in ipairs(session.turns) do
      if turn.turn_id then titles[turn.turn_id] = turn.title end
    end
  end
  return titles
end

---@param file fileops.wire.UnkeptFile
---@param change fileops.wire.UnkeptChange
---@param title? string of its turn
---@return table item
local function change_item(file, change, title)
  local words = { change.label }
  words[#words + 1] = title
  if file.operation == 'create' and file.moved_from then -- all its lines count as new
    words[#words + 1] = hunks.renamed(file.moved_from, file.edited)
  else
    words[#words + 1] = change.kind == 'file' and (change.whole_file or 'whole file')
      or hunks.summary(change) .. hunks.in_cells(change.cell_ids or {})
  end
  if file.operation == 'delete' then words[#words + 1] = 'deleted' end
  if file.operation == 'create' and not file.moved_from then words[#words + 1] = 'new' end
  local line = math.max(1, change.start_line)
  return {
    filename = file.file_path,
    lnum = line,
    end_lnum = math.max(line, change.end_line),
    text = table.concat(words, ' · '),
  }
end

---@param items table[]
---@param title string
local function show(items, title) vim.fn.setqflist({}, ' ', { title = title, items = items }) end

--- A file that an agent renamed is listed by its new name only, with which both are kept or undone.
---@param result fileops.wire.UnkeptResult
---@param is_meant fun(change: fileops.wire.UnkeptChange): boolean
---@return table[] items
local function items_of(result, is_meant)
  local items, titles = {}, titles_of(result)
  local old_names = {} ---@type table<string, boolean>
  for _, file in ipairs(result.files) do
    if file.moved_from and vim.iter(file.changes):any(is_meant) then old_names[file.moved_from] = true end
  end
  for _, file in ipairs(result.files) do
    local is_old_name = file.operation == 'delete' and old_names[file.file_path]
    for _, change in ipairs(is_old_name and {} or vim.tbl_filter(is_meant, file.changes)) do
      items[#items + 1] = change_item(file, change, titles[change.turn_id or ''])
    end
  end
  return items
end

--- List what waits, and all changes to keep or undo.
function M.open()
  local items = vim.tbl_map(review_item, require('fileops.review.queue').waiting())
  local function finish()
    if #items == 0 then return messages.info('nothing to decide') end
    show(items, 'To decide')
    vim.cmd('botright copen')
  end
  if not changes.is_served() and #items > 0 then return finish() end
  changes.fetch(function(result)
    vim.list_extend(items, items_of(result, changes.scope('all')))
    finish()
  end)
end

--- List the changes of one agent.
---@param session fileops.wire.Session
function M.open_agent(session)
  changes.fetch(function(result)
    local items = items_of(
      result,
      function(change) return sessions.is_recorded_as(session.session_id, change.session_id) end
    )
    if #items == 0 then return messages.info(sessions.label(session) .. ': nothing to keep or undo') end
    show(items, 'Changes of ' .. sessions.label(session))
    vim.cmd('botright copen')
  end)
end

--- Compare with the text before: of this file, or of the files of a turn, an agent or all, one after the other.
---@param level 'file'|'turn'|'agent'|'all'
function M.diff(level)
  local diff = require('fileops.unkept.diff')
  if level == 'file' then return diff.toggle(changes.scope('all')) end
  local here = changes.here()
  if level ~= 'all' and not here then
    return messages.info('no change of an agent in this file (:Fileops changes lists all)')
  end
  changes.fetch(function(result)
    local scope = changes.scope(level, here)
    local items = items_of(result, scope)
    if #items == 0 then return messages.info('nothing to keep or undo') end
    show(items, 'Changes (:cnfile goes to the next file)')
    vim.cmd('silent cfirst')
    diff.open(scope)
  end)
end

return M
