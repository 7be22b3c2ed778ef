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

-- One colour per session: dark, light. Both editors take the same ones in the same order.
local SESSIONS = {
  { '#4ea1ff', '#0b63c5' },
  { '#e8a33d', '#a05a00' },
  { '#b48cf2', '#6f42c1' },
  { '#3fc1b0', '#00796b' },
  { '#f078b4', '#b4236f' },
  { '#d7c84b', '#7a6a00' },
  { '#6cc36c', '#2e7d32' },
  { '#f2777a', '#b3261e' },
}

--- The colour of a session, the same in every editor and after every restart: a plain hash of its name.
---@param session_id string
---@return string group "FileopsSession1" to "FileopsSession8"
function M.of_session(session_id)
  local hash = 0
  for i = 1, #session_id do
    hash = (hash * 31 + session_id:byte(i)) % 65521 -- the largest prime below 2^16
  end
  return 'FileopsSession' .. (1 + hash % #SESSIONS)
end

function M.define()
  for i, colours in ipairs(SESSIONS) do
    local fg = colours[vim.o.background == 'light' and 2 or 1]
    vim.api.nvim_set_hl(0, 'FileopsSession' .. i, { fg = fg, default = true })
  end
  for name, link in pairs(M.links) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

M.define()
local group = vim.api.nvim_create_augroup('fileops.highlights', {})
vim.api.nvim_create_autocmd('ColorScheme', { group = group, callback = M.define })

return M
