-- Which buffer belongs to which file. Paths are compared by what they really name, so a link and its target are one.
local M = {}

---@param path string
---@return string canonical; the path itself if nothing exists there
function M.real(path) return vim.uv.fs_realpath(path) or vim.fs.normalize(path) end

--- Absolute, as the protocol wants it, `~` expanded.
---@param path string
---@return string
function M.absolute(path) return (vim.fn.fnamemodify(vim.fn.expand(path), ':p')) end

---@param buf integer
---@return boolean whether the buffer is a file's text
function M.is_file(buf)
  if not vim.api.nvim_buf_is_valid(buf) or vim.bo[buf].buftype ~= '' then return false end
  local name = vim.api.nvim_buf_get_name(buf)
  return name ~= '' and not name:match('^%a[%w+.-]+://')
end

--- The loaded buffer of a file.
---@param path string
---@return integer? buf
function M.buffer_of(path)
  local wanted = M.real(path)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and M.is_file(buf) then
      local name = vim.api.nvim_buf_get_name(buf)
      if name == path or M.real(name) == wanted then return buf end
    end
  end
  return nil
end

--- A file's name as short as it stays clear.
---@param path string
---@return string
function M.short(path) return vim.fn.fnamemodify(path, ':~:.') end

return M
