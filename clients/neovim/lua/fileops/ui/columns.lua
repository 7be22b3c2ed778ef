-- Texts in columns, measured in the cells that they take on the screen.
local M = {}

---@param text string
---@param width integer cells
---@param is_right? boolean set at the right
---@return string of that width; a longer text is cut
function M.cell(text, width, is_right)
  if vim.fn.strdisplaywidth(text) > width then
    local n_chars = width - 1
    while n_chars > 0 and vim.fn.strdisplaywidth(vim.fn.strcharpart(text, 0, n_chars)) > width - 1 do
      n_chars = n_chars - 1
    end
    text = vim.fn.strcharpart(text, 0, n_chars) .. '…'
  end
  local padding = (' '):rep(width - vim.fn.strdisplaywidth(text))
  return is_right and padding .. text or text .. padding
end

---@param texts string[]
---@param most integer
---@return integer cells that the widest takes, at most so many
function M.width(texts, most)
  local width = 0
  for _, text in ipairs(texts) do
    width = math.max(width, vim.fn.strdisplaywidth(text))
  end
  return math.min(width, most)
end

return M
