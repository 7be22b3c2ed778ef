-- A terminal notification (OSC 9) when something waits for the person and they look at another window. Terminals that
-- do not know it ignore it. It is sent only if the terminal reports focus; otherwise it is unknown where they look.
local config = require('fileops.config')

local M = {}

local has_focus = true

--- Whether the person looks at another window, as far as the terminal reports.
---@return boolean
function M.is_away() return not has_focus end

---@param n_waiting integer reviews
---@return string the terminal's control sequence
function M.sequence(n_waiting) return ('\27]9;fileops: %d to review\27\\'):format(n_waiting) end

--- A review waits.
function M.waiting()
  if has_focus or not config.get().notice or #vim.api.nvim_list_uis() == 0 then return end
  local sequence = M.sequence(#require('fileops.review.queue').waiting())
  if vim.api.nvim_ui_send then return vim.api.nvim_ui_send(sequence) end -- Nvim 0.12
  vim.api.nvim_chan_send(vim.v.stderr, sequence) -- the terminal itself: standard output is Neovim's own channel
end

local group = vim.api.nvim_create_augroup('fileops.notice', {})
vim.api.nvim_create_autocmd('FocusLost', { group = group, callback = function() has_focus = false end })
vim.api.nvim_create_autocmd('FocusGained', { group = group, callback = function() has_focus = true end })

return M
