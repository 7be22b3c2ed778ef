-- Virtual lines: text that is shown in a buffer and is not in it.
local M = {}

--- A line of text as it would look in a buffer: with its tab widths, and its background to the edge of the window.
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

---@param buf integer
---@return integer of virtual lines above line 1, of any plugin; 0 if none is ours
local function n_above_first_line(buf)
  local ours = {} ---@type table<integer, boolean>
  for name, ns in pairs(vim.api.nvim_get_namespaces()) do
    ours[ns] = vim.startswith(name, 'fileops.')
  end
  local n, has_ours = 0, false
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, -1, 0, { 0, -1 }, { details = true })) do
    local details = mark[4]
    if details.virt_lines and details.virt_lines_above then
      n, has_ours = n + #details.virt_lines, has_ours or ours[details.ns_id]
    end
  end
  return has_ours and n or 0
end

--- Vim scrolls virtual lines above line 1 out of sight; scroll ours into view if line 1 is the top line.
---@param buf integer
function M.reveal_above_first_line(buf)
  local function reveal()
    if vim.fn.line('w0') ~= 1 then return end
    -- of a greater number than there are Vim shows none
    local n_lines = math.min(n_above_first_line(buf), vim.api.nvim_win_get_height(0) - 2)
    if n_lines > 0 then vim.fn.winrestview({ topfill = n_lines }) end
  end
  vim.schedule(function() -- now, before the marks are drawn, Vim would remove the filling again
    if not vim.api.nvim_buf_is_valid(buf) then return end
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      if win == vim.api.nvim_get_current_win() then
        reveal() -- nvim_win_call would restore this window's view
      else
        vim.api.nvim_win_call(win, reveal)
      end
    end
  end)
end

local group = vim.api.nvim_create_augroup('fileops.virtual', {})
vim.api.nvim_create_autocmd(
  'WinScrolled',
  { -- such as `gg`; not if the person scrolls these lines out of sight
    group = group,
    callback = function()
      for id, change in pairs(vim.v.event) do
        local win = tonumber(id)
        if win and change.topline < 0 and vim.fn.line('w0', win) == 1 then
          M.reveal_above_first_line(vim.api.nvim_win_get_buf(win))
        end
      end
    end,
  }
)
vim.api.nvim_create_autocmd('BufWinEnter', {
  group = group,
  callback = function(event) M.reveal_above_first_line(event.buf) end,
})

return M
