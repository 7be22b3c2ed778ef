-- Virtual lines: text that is shown in a buffer and is not in it.
local M = {}

--- A line of text as it would look in a buffer: tabs as wide as there, its background to the edge of the window.
---@param text string
---@param from integer 0-based byte from which it differs from the line it replaces; its length if it does not
---@param to integer
---@param group string
---@param width integer cells to fill
---@param tabstop integer
---@return table[] chunks
function M.line(text, from, to, group, width, tabstop)
  text = text:gsub('\r$', '')
  to = math.min(to, #text)
  local chunks, column = {}, 0 ---@type table[], integer
  local function put(part, part_group)
    if part == '' then return end
    local shown = {}
    for piece, tab in part:gmatch('([^\t]*)(\t?)') do
      shown[#shown + 1] = piece
      column = column + vim.fn.strdisplaywidth(piece)
      if tab ~= '' then
        local n_cells = tabstop - column % tabstop
        shown[#shown + 1] = (' '):rep(n_cells)
        column = column + n_cells
      end
    end
    chunks[#chunks + 1] = { table.concat(shown), part_group }
  end
  put(text:sub(1, from), group)
  put(text:sub(from + 1, to), 'FileopsText')
  put(text:sub(math.max(from, to) + 1), group)
  chunks[#chunks + 1] = { (' '):rep(math.max(1, width - column)), group }
  return chunks
end

--- Vim scrolls virtual lines above line 1 out of sight; bring them in where line 1 is the top line.
---@param buf integer
---@param count? integer how many there are; all of them without it
function M.reveal_above_first_line(buf, count)
  local function reveal()
    if vim.fn.line('w0') ~= 1 then return end
    vim.fn.winrestview({ topfill = count or vim.api.nvim_win_get_height(0) - 1 })
  end
  vim.schedule(function() -- now, before the marks are drawn, Vim would take the filling away again
    if not vim.api.nvim_buf_is_valid(buf) then return end
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      if win == vim.api.nvim_get_current_win() then
        reveal() -- nvim_win_call would put this window's view back
      else
        vim.api.nvim_win_call(win, reveal)
      end
    end
  end)
end

return M
