-- Sends the person's decisions about written changes to the daemon, which plans and writes, or says why not. If a
-- daemon ends or hangs meanwhile, a message says so; the next list shows what it has done.
local buffers = require('fileops.buffers')
local handlers = require('fileops.client.handlers')
local messages = require('fileops.ui.messages')
local protocol = require('fileops.client.protocol')
local request = require('fileops.ui.late').request

local M = {}

local n_sent = 0
local waiting = {} ---@type fun()[]

---@param method string
---@param params table
---@param what string
---@param act fun(err: fileops.RequestError?, result: any)
local function send(method, params, what, act)
  n_sent = n_sent + 1
  request(method, params, what, function(err, result)
    n_sent = n_sent - 1
    act(err, result)
    while n_sent == 0 and waiting[1] do -- what waits may send the next decision
      table.remove(waiting, 1)()
    end
  end)
end

--- Call `act` when all decisions that were sent are answered. The daemon's new list may come before the answer.
---@param act fun()
function M.when_answered(act)
  if n_sent == 0 then return act() end
  waiting[#waiting + 1] = act
end

---@param n integer
---@param noun string
---@return string such as "3 changes"
function M.counted(n, noun) return ('%d %s%s'):format(n, noun, n == 1 and '' or 's') end

--- Keep these changes.
---@param ids string[]
---@param act fun(n_kept: integer?, keep_id: string?) nil: it failed, which was said
function M.keep(ids, act)
  local what = 'keeping ' .. M.counted(#ids, 'change')
  send(protocol.methods.keep, { change_ids = ids }, what, function(err, result)
    if err then
      messages.failure(err)
      return act(nil)
    end
    act(result.n_changes, result.keep_id)
  end)
end

--- Take a keep back: what has not changed since is listed again.
---@param keep_id? string nil: the newest one of the project, made here or elsewhere
---@param act fun(n_changes: integer?) nil: it failed, which was said
function M.undo_keep(keep_id, act)
  local params = keep_id and { keep_id = keep_id } or vim.empty_dict()
  send(protocol.methods.undo_keep, params, 'taking a keep back', function(err, result)
    if err then
      messages.failure(err)
      return act(nil)
    end
    act(result.n_changes)
  end)
end

--- Whether a file was changed in unsaved text of another editor, and so neither on disk nor here.
---@param details fileops.wire.RewindDetails
---@return boolean
function M.is_elsewhere(details)
  return vim.iter(details.files):any(function(file)
    local buf = file.applied_to == 'buffer' and buffers.buffer_of(file.file_path)
    return file.applied_to == 'buffer' and not (buf and vim.bo[buf].modified)
  end)
end

--- Undo, or undo an undo; with `dry_run` only preview it. The buffers of the files follow. A preview in which
--- everything is kept or committed has no files.
---@param params table of `fileops/rewind`
---@param what string for a message, such as "the undo of 3 changes"
---@param act fun(details: fileops.wire.RewindDetails)
function M.rewind(params, what, act)
  params.approved = true
  send(protocol.methods.rewind, params, what, function(err, result)
    if err then return messages.failure(err) end
    if params.change_ids and (result.error or {}).code == 'unknown_target' then
      return messages.warn('nothing to undo: kept or undone already, or changed since')
    end
    local is_rest_previewed = params.dry_run and (result.details.n_decided or 0) > 0
    if result.status == 'error' and not is_rest_previewed then return messages.error(result.error.message) end
    for _, file in ipairs(not params.dry_run and result.details.files or {}) do
      if file.applied_to ~= 'buffer' then handlers.file_written(file.file_path) end
    end
    act(result.details)
  end)
end

return M
