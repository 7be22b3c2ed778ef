-- The configured keys of a window of this plugin, mapped in its buffer.
local config = require('fileops.config')

local M = {}

--- An action whose key is not configured gets none.
---@param buf integer
---@param actions table<string, fun()> by the name of the key in the configuration
function M.map(buf, actions)
  local keys = config.get().keys
  for name, action in pairs(actions) do
    local key = keys[name]
    if key then
      vim.keymap.set('n', key, action, { buffer = buf, nowait = true, desc = 'fileops: ' .. name })
    end
  end
end

return M
