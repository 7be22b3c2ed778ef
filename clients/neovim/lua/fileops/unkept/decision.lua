-- What a person decides about changes that are written already, handed in to the daemon: it plans and writes, or says
-- why not. A daemon that ends or hangs in between is named; what it has done by then, the next list of changes shows.
local handlers = require('fileops.client.handlers')
local messages = require('fileops.ui.messages')
local protocol = require('fileops.client.protocol')
local request = require('fileops.ui.late').request

local M = {}

---@param n integer
---@param noun string
---@return string such as "3 changes"
function M.counted(n, noun) return ('%d %s%s'):format(n, noun, n == 1 and '' or 's') end

--- Keep these changes.
---@param ids string[]
---@param act fun() once they are kept
function M.keep(ids, act)
  request(protocol.methods.keep, { change_ids = ids }, 'keeping ' .. M.counted(#ids, 'change'), function(err)
    if err then return messages.failure(err) end
    act()
  end)
end

--- Undo, or undo an undo; with `dry_run` only preview it. The buffers of the files follow.
---@param params table of `fileops/rewind`
---@param what string for a message, such as "the undo of 3 changes"
---@param act fun(details: fileops.wire.RewindDetails)
function M.rewind(params, what, act)
  local ended = handlers.own_undo()
  params.approved = true
  request(protocol.methods.rewind, params, what, function(err, result)
    ended()
    if err then return messages.failure(err) end
    if result.status == 'error' then return messages.error(require('fileops.manual').reason(result.error)) end
    for _, file in ipairs(not params.dry_run and result.details.files or {}) do
      if file.applied_to ~= 'buffer' then handlers.file_written(file.file_path) end
    end
    act(result.details)
  end)
end

return M
