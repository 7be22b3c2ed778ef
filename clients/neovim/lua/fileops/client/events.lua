-- Listeners for events: Lua listeners, then `User` autocmds.
local M = {}

local listeners = {} ---@type table<string, function[]>

--- Call `fn(data)` at each event of that name, until the returned function is called. `*` means all, as `fn(data,
--- event)`.
---@param event string
---@param fn fun(data: table, event: string)
---@return fun() off
function M.on(event, fn)
  listeners[event] = listeners[event] or {}
  table.insert(listeners[event], fn)
  return function()
    for i, listener in ipairs(listeners[event]) do
      if listener == fn then return table.remove(listeners[event], i) end
    end
  end
end

---@param event string
---@param data table
---@param autocmd? string pattern of the `User` autocmd
function M.emit(event, data, autocmd)
  for _, name in ipairs({ event, '*' }) do
    for _, listener in ipairs(vim.list_slice(listeners[name] or {})) do
      local ok, problem = pcall(listener, data, event)
      if not ok then
        require('fileops.ui.messages').error(('a listener of %s failed: %s'):format(event, problem))
      end
    end
  end
  if autocmd then vim.api.nvim_exec_autocmds('User', { pattern = autocmd, modeline = false, data = data }) end
end

return M
