-- Handles the answer to an agent's request: buffers follow what was written.
local M = {}

local DEFAULT_SESSION = 'default' -- the daemon's name for the session of a request that names none

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

--- Something was written: update open buffers.
---@param params table
---@param result fileops.wire.ToolResult
local function after_edit(params, result)
  if params.dry_run then return end
  local session_id = params.session_id or DEFAULT_SESSION
  if result.status ~= 'success' then
    local path = result.details.file_path or params.file_path
    if path then after_refusal(session_id, path, result) end
    return
  end
  -- an undo may touch several files, and lists them
  for _, file in ipairs(result.details.files or { vim.tbl_extend('force', result.details, result) }) do
    local extra = file.ui_extra ---@type fileops.wire.UiExtra?
    if not extra then return end
    if file.applied_to ~= 'buffer' then require('fileops.client.handlers').file_written(extra.file_path) end
    require('fileops.review.queue').take_accepted(session_id, extra.file_path)
  end
end

--- A command may have written files: buffers without unsaved changes follow the disk.
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
  if changes_files[method] then after_edit(params, result) end
  if method == 'fileops/bash' then after_command() end
end

--- An agent outside this Neovim edited a file. The first time that happens without a question, it is explained.
---@param event fileops.wire.DidEditParams
function M.follow_outside(event)
  if require('fileops.sessions').is_own(event.session_id) then return end
  local was_reviewed = require('fileops.review.queue').take_accepted(event.session_id, event.file_path)
  if not was_reviewed then require('fileops.unkept.introduction').edited(event.session_id) end
end

return M
