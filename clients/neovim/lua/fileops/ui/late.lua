-- A message about a daemon that does not answer a person's decision, because it hangs or is busy.
local M = {}

local LATE_MS = 4000 -- a write of many files takes less

--- Ask the daemon. If its answer is late, a message says about what, and that nothing is lost.
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
