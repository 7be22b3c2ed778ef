-- Highlight groups, all links that a colour scheme or a person may replace.
local M = {}

M.links = {
  FileopsUnkept = 'DiffAdd',
  FileopsSign = 'Changed',
  FileopsUndone = 'Comment',
  FileopsAuthor = 'Comment',
  FileopsAdd = 'DiffAdd',
  FileopsDelete = 'DiffDelete',
  FileopsText = 'DiffText',
  FileopsDecided = 'Comment',
  FileopsTitle = 'Title',
  FileopsKey = 'Special',
  FileopsMuted = 'Comment',
  FileopsWarning = 'WarningMsg',
}

function M.define()
  for name, link in pairs(M.links) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

M.define()
local group = vim.api.nvim_create_augroup('fileops.highlights', {})
vim.api.nvim_create_autocmd('ColorScheme', { group = group, callback = M.define })

return M
