-- What the editor does with the answer to an agent's request: buffers, marks and panes follow what was written.
local M = {}

local DEFAULT_SESSION = 'default' -- the daemon's, of a request that names none

local N_RECENT = 32 -- of a file's history, in which an edit that was just announced is looked for

local labels = { create = 'Created', modify = 'Edited' }

--- Nothing was written. If the user had accepted the edit, a message says so.
---@param session_id string
---@param path string
---@param result fileops.wire.ToolResult
local function after_refusal(session_id, path, result)
  local review = require('fileops.review.queue')
  local has_changed = result.error.code == 'modified_externally'
  review.was_refused(
    session_id,
    path,
    has_changed and require('fileops.client.handlers').CHANGED or result.error.message
  )
  review.take_accepted(session_id, path)
end

--- What was written somewhere: bring open buffers to it, mark it where none is open, show its diff, if the person has
--- not just seen that in a review.
---@param method string
---@param params table
---@param result fileops.wire.ToolResult
local function after_edit(method, params, result)
  if params.dry_run then return end
  local session_id = params.session_id or DEFAULT_SESSION
  if result.status ~= 'success' then
    local path = result.details.file_path or params.file_path
    if path then after_refusal(session_id, path, result) end
    return
  end
  local is_own = params.approved == true
  -- an undo may touch several files, and lists them
  for _, file in ipairs(result.details.files or { vim.tbl_extend('force', result.details, result) }) do
    local extra = file.ui_extra ---@type fileops.wire.UiExtra?
    if not extra then return end
    local is_open = require('fileops.buffers').buffer_of(extra.file_path) ~= nil
    if is_open and file.applied_to ~= 'buffer' then
      require('fileops.client.handlers').file_written(extra.file_path, not is_own and extra.hunks or nil)
    elseif not is_open and not is_own then
      require('fileops.ui.marks').remember(extra.file_path, extra.hunks)
    end
    local was_reviewed = require('fileops.review.queue').take_accepted(session_id, extra.file_path)
    local is_shown = require('fileops.config').get().pane.diff_after_edit and not was_reviewed
    local label = method == 'fileops/undo' and 'Undone' or labels[extra.operation] or 'Removed'
    require('fileops.ui.last_edit').applied(extra, label, is_shown)
  end
end

--- What a command may have written: buffers without unsaved changes follow the disk.
local function after_command()
  local client = require('fileops.client.process').client()
  for buf in pairs(client and client.attached_buffers or {}) do
    require('fileops.watch').check(buf)
  end
end

local changes_files = {
  ['fileops/edit'] = true,
  ['fileops/multiEdit'] = true,
  ['fileops/write'] = true,
  ['fileops/undo'] = true,
}

---@param method string
---@param params table
---@param result fileops.wire.ToolResult
function M.follow(method, params, result)
  if changes_files[method] then after_edit(method, params, result) end
  if method == 'fileops/bash' then after_command() end
end

--- An agent outside of this Neovim edited a file: mark it, and show the diff unless the person has just seen that in a
--- review. The notification has no diff; the history has.
---@param event fileops.wire.DidEditParams
---@param is_marked boolean the daemon edited the buffer in place, which marks it
function M.follow_outside(event, is_marked)
  local session_id, path = event.session_id, event.file_path
  if require('fileops.sessions').is_own(session_id) then return end
  local was_reviewed = require('fileops.review.queue').take_accepted(session_id, path)
  if not was_reviewed then require('fileops.unkept.introduction').edited(session_id) end
  if is_marked and was_reviewed then return end
  require('fileops').edits({ file_path = path, limit = N_RECENT }, function(err, result)
    if err then return require('fileops.log').note('no diff of an edit: ' .. err.message) end
    local entry = vim.iter(result.edits):find(function(edit) return edit.edit_id == event.edit_id end)
    if not entry then return end -- further edits came since
    local last_edit = require('fileops.ui.last_edit')
    local extra = last_edit.of_diff(path, entry.diff)
    if not require('fileops.buffers').buffer_of(path) then
      require('fileops.ui.marks').remember(path, extra.hunks)
    elseif not is_marked then
      require('fileops.client.handlers').file_written(path, extra.hunks)
    end
    local is_shown = require('fileops.config').get().pane.diff_after_edit and not was_reviewed
    local label = ('%s by %s'):format(
      labels[entry.operation] or 'Removed',
      require('fileops.sessions').name(session_id)
    )
    last_edit.applied(extra, label, is_shown)
  end)
end

return M
