-- Diff mode with whole hunks: from Nvim 0.11 on, 'diffopt' has "linematch" by default, with which |do| and |dp| would
-- take part of a change. It is removed while a window of ours is in diff mode.
local M = {}

local n_users = 0
local saved, ours = nil, nil ---@type string?, string?

--- A window of ours enters diff mode. Call the returned function once to end that.
---@return fun()
function M.begin()
  n_users = n_users + 1
  if n_users == 1 then
    saved = vim.o.diffopt
    local parts = vim.tbl_filter(
      function(part) return not vim.startswith(part, 'linematch:') end,
      vim.split(saved, ',', { plain = true })
    )
    ours = table.concat(parts, ',')
    vim.o.diffopt = ours
  end
  local is_over = false
  return function()
    if is_over then return end
    is_over, n_users = true, n_users - 1
    if n_users == 0 and saved and vim.o.diffopt == ours then vim.o.diffopt = saved end -- else the person has set it
  end
end

return M
