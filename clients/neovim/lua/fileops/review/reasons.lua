-- The reasons of a person who rejects a part, as the wire has them: one line for a whole decision.
local M = {}

--- The reasons in one; equal ones are said once, in the order in which they were given.
---@param reasons string[]
---@return string? nil if there is none
function M.in_one(reasons)
  local said = {} ---@type string[]
  for _, reason in ipairs(reasons) do
    if vim.trim(reason) ~= '' and not vim.list_contains(said, reason) then said[#said + 1] = reason end
  end
  return #said > 0 and table.concat(said, '; ') or nil
end

return M
