-- Starts the daemon without a command, when a person opens the first file of a project, so that agents' edits wait for
-- them from the beginning. Loaded with the first file.
local config = require('fileops.config')

local M = {}

--- Whether agents and a person may work on this file together: it is in the workspace folder that was set, or in a
--- project. Git's own files (a commit message, a rebase's list) do not count: their editor closes in a moment.
---@param buf integer
---@return boolean
local function is_in_project(buf)
  if not require('fileops.buffers').is_file(buf) then return false end
  local path = vim.fs.normalize(vim.api.nvim_buf_get_name(buf))
  if path:find('/.git/', 1, true) then return false end
  local root = config.get().root
  if root and vim.startswith(path, vim.fs.normalize(root) .. '/') then return true end
  return require('fileops.client.process').project_of(path) ~= nil
end

--- Whether a person is there who could decide: a script that edits files needs no daemon.
---@return boolean
local function has_person() return #vim.api.nvim_list_uis() > 0 end

local function start()
  local process = require('fileops.client.process')
  if process.state.status == 'stopped' then process.start() end
end

--- Start the daemon if it is time, but only once. If it was stopped later, it stays stopped.
---@param buf integer the file that was opened, or the buffer that is there when Neovim has started
function M.look(buf)
  local when = config.get().autostart
  if when == 'project' then
    local is_time = has_person() and is_in_project(buf)
    if not is_time then return end
  end
  vim.api.nvim_clear_autocmds({ group = 'fileops.autostart' })
  if not when then return end
  if vim.v.vim_did_enter == 1 then return vim.schedule(start) end
  vim.api.nvim_create_autocmd('VimEnter', { once = true, callback = start })
end

return M
