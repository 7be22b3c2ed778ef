-- Which buffer belongs to which file, and how a file is opened. Paths are compared by what they lead to, so a link and
-- its target are the same file.
local M = {}

---@param path string
---@return string canonical; the path itself if nothing exists there
function M.real(path) return vim.uv.fs_realpath(path) or vim.fs.normalize(path) end

--- Return an absolute path, as the protocol requires, with `~` expanded.
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

--- Open a file in this window. If it cannot be opened, a message names it, and the window stays as it is.
---@param path string
---@return boolean opened
function M.open(path)
  local warn = require('fileops.ui.messages').warn
  local buf = M.buffer_of(path)
  if not buf and not vim.uv.fs_access(path, 'R') then
    warn(('%s %s'):format(M.short(path), vim.uv.fs_stat(path) and 'cannot be read' or 'is gone'))
    return false
  end
  local silent = { silent = true }
  local ok, problem
  if buf then
    ok, problem = pcall(vim.cmd.buffer, { buf, mods = silent })
  else
    local name = vim.fn.fnameescape(vim.fn.fnamemodify(path, ':.'))
    ok, problem = pcall(vim.cmd.edit, { name, mods = silent })
  end
  if not ok then
    warn(('%s cannot be opened: %s'):format(M.short(path), tostring(problem):match('E%d+:.*') or problem))
  end
  return ok
end

--- A file's name, as short as it can be without ambiguity.
---@param path string
---@return string
function M.short(path) return vim.fn.fnamemodify(path, ':~:.') end

---@param path string
---@return boolean
function M.is_notebook(path) return path:lower():sub(-6) == '.ipynb' end

--- A name for the text of a notebook's cells, which decides how it is coloured.
---@param path string
---@return string
function M.as_cells(path) return path .. '.py' end

return M
