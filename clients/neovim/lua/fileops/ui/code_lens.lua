-- The daemon's code lenses, where `server = { code_lens = true }` asked for them: "agent edit: undo" on each edit's
-- first line, run by `vim.lsp.codelens.run()`. Neovim 0.12 shows and keeps them once a person has switched lenses on
-- (`vim.lsp.codelens.enable()`, which is for all servers, and so not ours to call); older ones are helped here.
local config = require('fileops.config')

local M = {}

local keeps_itself = vim.lsp.codelens.enable ~= nil
local METHOD = 'textDocument/codeLens'

---@return boolean
local function wanted() return config.get().server.code_lens == true end

---@param buf integer
---@param client_id integer
local function fetch(buf, client_id)
  local client = vim.lsp.get_client_by_id(client_id)
  if not client or not vim.api.nvim_buf_is_loaded(buf) then return end
  local params = { textDocument = vim.lsp.util.make_text_document_params(buf) }
  require('fileops.client.process').call(client, 'request', METHOD, params, vim.lsp.codelens.on_codelens, buf)
end

---@param buf integer a file that was reported to the daemon
---@param client_id integer
function M.opened(buf, client_id)
  if wanted() and not keeps_itself then fetch(buf, client_id) end
end

--- `workspace/codeLens/refresh`, for a Neovim that does not know it.
---@type lsp.Handler
local function refresh(_, _, ctx)
  local client = wanted() and vim.lsp.get_client_by_id(ctx.client_id)
  for buf in pairs(client and client.attached_buffers or {}) do
    fetch(buf, ctx.client_id)
  end
  return vim.NIL
end

M.handlers = keeps_itself and {} or { ['workspace/codeLens/refresh'] = refresh } ---@type table<string, lsp.Handler>

return M
