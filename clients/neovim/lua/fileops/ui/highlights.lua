-- Highlight groups, all links that a colour scheme or a person may replace.
local M = {}

M.links = {
  FileopsAdd = 'DiffAdd',
  FileopsChange = 'DiffChange',
  FileopsDelete = 'DiffDelete',
  FileopsText = 'DiffText',
  FileopsFiller = 'NonText',
  FileopsHunk = 'Title',
  FileopsLineNr = 'LineNr',
  FileopsAccepted = 'Added',
  FileopsRejected = 'Removed',
  FileopsRejectedLine = 'Comment',
  FileopsSign = 'Changed',
  FileopsStale = 'WarningMsg',
  FileopsTitle = 'Title',
  FileopsKey = 'Special',
  FileopsMuted = 'Comment',
  FileopsCommand = 'Normal',
}

function M.define()
  for name, link in pairs(M.links) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

M.define()
vim.api.nvim_create_autocmd('ColorScheme', {
  group = vim.api.nvim_create_augroup('fileops.highlights', {}),
  callback = M.define,
})

return M
