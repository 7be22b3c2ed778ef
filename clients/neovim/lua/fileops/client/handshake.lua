-- What `initialize` says: the options that the plugin sends, and whether the daemon that answers will do.
local locate = require('fileops.client.locate')
local protocol = require('fileops.client.protocol')

local M = {}

--- Of an empty table nobody can tell whether it is a list; what the daemon wants as an object is made one.
---@param options table initializationOptions
---@return table
function M.as_json(options)
  options = vim.deepcopy(options)
  local function object(value) return type(value) == 'table' and not next(value) and vim.empty_dict() or value end
  options.limits = object(options.limits)
  for _, filesystem in ipairs(options.filesystems or {}) do
    filesystem.options = object(filesystem.options)
  end
  return object(options)
end

--- What is wrong with the daemon that answered, if anything.
---@param result table of `initialize`
---@return string?
function M.unfit(result)
  local server = result.serverInfo or {}
  local ours = vim.tbl_get(result, 'capabilities', 'experimental', 'fileops')
  if not ours then return ('%s is not a fileops daemon'):format(server.name or 'the program') end
  if ours.protocol_version ~= protocol.PROTOCOL_VERSION then
    local newer = (tonumber(ours.protocol_version) or 0) > protocol.PROTOCOL_VERSION
    local advice = newer and 'update this plugin' or locate.install_command('--force ')
    return ('the daemon speaks protocol %s, this plugin %d; %s'):format(
      tostring(ours.protocol_version),
      protocol.PROTOCOL_VERSION,
      advice
    )
  end
  local version = vim.version.parse(server.version or '', { strict = false })
  if version and vim.version.lt(version, protocol.OLDEST_DAEMON) then
    return ('the daemon is %s, this plugin needs %s or newer: %s'):format(
      server.version,
      protocol.OLDEST_DAEMON,
      locate.install_command('--force ')
    )
  end
  return nil
end

return M
