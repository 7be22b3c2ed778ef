-- The contents of `initialize`: the options that the plugin sends, and a check of the daemon that answers.
local config = require('fileops.config')
local locate = require('fileops.client.locate')
local protocol = require('fileops.client.protocol')

local M = {}

--- An empty table does not show whether it is a list. Where the daemon expects an object, make it one.
---@param options table initializationOptions
---@return table
function M.as_json(options)
  options = vim.deepcopy(options)
  local function object(value) return type(value) == 'table' and not next(value) and vim.empty_dict() or value end
  options.limits = object(options.limits)
  options.texts = object(options.texts)
  for _, filesystem in ipairs(options.filesystems or {}) do
    filesystem.options = object(filesystem.options)
  end
  return object(options)
end

--- The configuration for Neovim's LSP client.
---@param process { cmd: function, on_init: function, on_exit: function, root: fun(): string }
---@return vim.lsp.Config
function M.lsp_config(process)
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.experimental = {
    fileops = {
      reviews = true,
      unkept = true,
      confirm_command = true,
      correct_edit = true,
      diagnostics = true,
      save_document = true,
    },
  }
  -- Neovim accepts versioned edits without announcing it; our handler refuses them if the version has changed
  capabilities.workspace.workspaceEdit.documentChanges = true
  return {
    name = 'fileops',
    cmd = process.cmd,
    capabilities = capabilities,
    handlers = require('fileops.client.handlers').all(),
    -- every keystroke is reported at once, because the daemon decides by it what may be written to disk
    flags = { debounce_text_changes = 0, allow_incremental_sync = true },
    before_init = function(params)
      local options = vim.tbl_extend('force', params.initializationOptions or {}, config.get().server)
      params.initializationOptions = M.as_json(options)
    end,
    on_init = process.on_init,
    on_exit = process.on_exit,
    root_dir = function(buf, on_dir)
      locate.prepare(function()
        local _, found = locate.find()
        if found and require('fileops.client.sync').is_told(buf) then on_dir(process.root()) end
      end)
    end,
    reuse_client = function(client) return client.name == 'fileops' end,
  }
end

--- Return what is wrong with the daemon that answered, if anything.
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
