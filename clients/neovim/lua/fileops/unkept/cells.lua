-- A notebook without agents' changes, and as it is, as texts of its cells in diff mode, in a tab page. They are only
-- shown: the buffer of the notebook has JSON, in which marks, keep and undo work as in any file.
local buffers = require('fileops.buffers')
local messages = require('fileops.ui.messages')
local protocol = require('fileops.client.protocol')

local M = {}

local pages = {} ---@type table<integer, true> tab pages that were opened here
local n_opened = 0

---@param path string
---@param side 'before'|'now'
---@param text string
local function fill(path, side, text)
  local buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_name(buf, ('fileops://cells/%d/%s/%s'):format(n_opened, side, vim.fs.basename(path)))
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'wipe', false
  vim.bo[buf].syntax = vim.filetype.match({ filename = buffers.as_cells(path), buf = buf }) or ''
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, vim.split((text:gsub('\n$', '')), '\n', { plain = true }))
  vim.bo[buf].modifiable = false
  vim.cmd.diffthis()
end

--- Close the tab page, if it is one with the cells of a notebook.
---@return boolean
function M.close()
  local page = vim.api.nvim_get_current_tabpage()
  if not pages[page] then return false end
  pages[page] = nil
  vim.cmd.tabclose()
  return true
end

--- Compare two texts of a notebook by its cells.
---@param path string
---@param before string[]
---@param now string[]
---@param otherwise fun() if the cells cannot be shown
function M.compare(path, before, now, otherwise)
  local function joined(lines) return table.concat(lines, '\n') .. '\n' end
  local params = { file_path = path, before = joined(before), after = joined(now) }
  require('fileops').request(protocol.methods.cell_texts, params, function(err, result)
    if err then return messages.failure(err) end
    if result.not_cells then return otherwise() end
    n_opened = n_opened + 1
    vim.cmd('tabnew')
    pages[vim.api.nvim_get_current_tabpage()] = true
    fill(path, 'now', result.after)
    vim.cmd('leftabove vnew')
    fill(path, 'before', result.before)
    vim.cmd.wincmd('p')
    vim.cmd('silent! normal! gg]c')
  end)
end

return M
