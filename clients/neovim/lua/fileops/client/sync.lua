-- Reports every open file to the daemon, so that it reads what the user sees and overwrites no unsaved text.
local config = require('fileops.config')
local buffers = require('fileops.buffers')

local M = {}

local MB = 1024 * 1024

local group = vim.api.nvim_create_augroup('fileops.sync', {})

---@param buf integer
---@return integer
local function size_of(buf) return vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf)) end

--- Whether the daemon is notified of this buffer: it is a file's text, and not so large that this would block the
--- editor. The user is told once about a buffer that is too large.
---@param buf integer
---@return boolean
function M.is_told(buf)
  if not vim.api.nvim_buf_is_loaded(buf) or not buffers.is_file(buf) then return false end
  local size, max_mb = size_of(buf), config.get().max_mb
  if size <= max_mb * MB then return true end
  if not vim.b[buf].fileops_too_large then
    vim.b[buf].fileops_too_large = true
    local name = vim.fs.basename(vim.api.nvim_buf_get_name(buf))
    local sentence = '%s is over %g MB: agents see the file, not this buffer'
    require('fileops.ui.messages').warn(sentence:format(name, max_mb))
  end
  return false
end

--- Whether a buffer is of a file that does not exist, and the person has typed nothing into it: it says nothing about
--- the file. The daemon would take it for an empty text of theirs, in place of a file that an agent may have deleted.
---@param buf integer
---@return boolean
local function is_blank(buf)
  if vim.bo[buf].modified or vim.uv.fs_stat(vim.api.nvim_buf_get_name(buf)) then return false end
  return vim.deep_equal(vim.api.nvim_buf_get_lines(buf, 0, -1, true), { '' })
end

---@param buf integer
---@param client_id integer
local function attach(buf, client_id)
  if not M.is_told(buf) or is_blank(buf) then return end
  local is_new = not vim.lsp.buf_is_attached(buf, client_id)
  -- else the daemon would take a text older than the file for what the person has typed
  if is_new then require('fileops.watch').check(buf) end
  vim.lsp.buf_attach_client(buf, client_id)
end

--- Report everything that `act` does to the buffer as one change. The daemon would take an intermediate text, with only
--- some of the places changed, for typing.
---@param buf integer
---@param act fun()
function M.as_one_change(buf, act)
  local client = vim.lsp.get_clients({ name = 'fileops', bufnr = buf })[1]
  local together = client and client.rpc.together -- missing in a transport that the person has set
  if together then return together(act) end
  act()
end

---@param client_id integer
function M.attach_all(client_id)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    attach(buf, client_id)
  end
  vim.api.nvim_clear_autocmds({ group = group })
  vim.api.nvim_create_autocmd(
    { 'BufReadPost', 'BufNewFile', 'BufWritePost', 'BufFilePost', 'BufModifiedSet' },
    {
      group = group,
      callback = function(event)
        if not vim.lsp.get_client_by_id(client_id) then return true end
        attach(event.buf, client_id)
        -- 'fixendofline' may just have added the file's last line end
        if event.event == 'BufWritePost' then require('fileops.client.exact_text').report_end(event.buf) end
      end,
    }
  )
  vim.api.nvim_create_autocmd('BufFilePre', { -- with a new name it is another document
    group = group,
    callback = function(event)
      if vim.lsp.buf_is_attached(event.buf, client_id) then
        vim.lsp.buf_detach_client(event.buf, client_id)
      end
    end,
  })
end

return M
