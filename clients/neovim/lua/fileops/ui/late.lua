-- A word about a daemon that does not answer what a person decided: it hangs, or has much to do.
local M = {}

local LATE_MS = 4000 -- a write of many files takes less

--- Ask the daemon. If its answer is late, the person reads about what, and that nothing is lost.
---@param method string
---@param params table
---@param what string such as "the undo of 3 changes"
---@param callback fileops.Callback
function M.request(method, params, what, callback)
  local timer = assert(vim.uv.new_timer())
  timer:start(
    LATE_MS,
    0,
    vim.schedule_wrap(function()
      if timer:is_closing() then return end
      local late = ('the daemon has not answered about %s yet'):format(what)
      require('fileops.ui.messages').warn(
        late
          .. '. Nothing is lost: what is not done is listed again when it answers, or when another one runs'
          .. ' (:Fileops restart).',
        late
      )
    end)
  )
  require('fileops').request(method, params, function(err, result)
    timer:close()
    callback(err, result)
  end)
end

return M
