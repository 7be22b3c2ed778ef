-- Saves buffers before an agent's own tools use their files, if the person wants that (`fileops/saveDocument`).
local config = require('fileops.config')

local M = {}

--- The daemon asks only if the file has the text on which the buffer is based, so no change of others is lost.
---@param params fileops.wire.SaveDocumentParams
---@return fileops.wire.SaveDocumentResult
function M.save(params)
  local buf = vim.uri_to_bufnr(params.uri)
  local is_known = vim.api.nvim_buf_is_loaded(buf) and vim.lsp.util.buf_versions[buf] == params.version
  if config.get().unsaved ~= 'save' or not is_known then return { saved = false } end
  require('fileops.reload').acknowledge(buf) -- a file that was only touched would make Vim ask
  local did_save = pcall(vim.api.nvim_buf_call, buf, function() vim.cmd('silent update') end)
  return { saved = did_save and not vim.bo[buf].modified }
end

return M
