-- The next shared daemon after one that was stopped: noticed by a watch on the folder of the socket, which costs
-- nothing meanwhile.
local M = {}

local handle ---@type uv.uv_fs_event_t?

--- Which socket has this name now, as that of the next daemon may have the same; nil without one.
---@param name string
---@return string?
function M.socket_named(name)
  local status = vim.uv.fs_lstat(name)
  return status and ('%d %d.%09d'):format(status.ino, status.mtime.sec, status.mtime.nsec)
end

--- End the watch, if there is one.
function M.leave()
  if handle then handle:close() end
  handle = nil
end

--- Call back once, when the name leads to another socket than that of the daemon that ended.
---@param name string
---@param last? string as `socket_named` returned it
---@param appeared fun()
---@return boolean ok false if the folder cannot be watched
function M.watch(name, last, appeared)
  M.leave()
  local own = vim.uv.new_fs_event()
  if not own then return false end
  handle = own
  local look = vim.schedule_wrap(function()
    if handle ~= own then return end
    local now = M.socket_named(name)
    if not now or now == last then return end
    M.leave()
    appeared()
  end)
  if not own:start(vim.fs.dirname(name), {}, look) then
    M.leave()
    return false
  end
  look() -- a daemon may have started before the watch
  return true
end

return M
