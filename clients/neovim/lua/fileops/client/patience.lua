-- Requests by which a person decides. Of a daemon that hangs and does not answer, a message says what is not done yet.
local M = {}

local PATIENCE_MS = 3000 -- an undo in many files may take longer, and is only announced then

---@param method string
---@param params table
---@param done string what is done by it, such as "kept"
---@param callback fileops.Callback
function M.request(method, params, done, callback)
  local timer = assert(vim.uv.new_timer())
  timer:start(
    PATIENCE_MS,
    0,
    vim.schedule_wrap(function()
      if timer:is_closing() then return end
      require('fileops.ui.messages').warn(
        ('no answer of the daemon: not %s yet (:Fileops restart)'):format(done)
      )
    end)
  )
  require('fileops').request(method, params, function(err, result)
    timer:close()
    callback(err, result)
  end)
end

return M
