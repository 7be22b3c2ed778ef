-- Says whether what the person types in a buffer may change what the daemon lists of it: text in an agent's change or
-- next to one, or lines that may have been cut from one. Else the marks only move, and nothing need be asked soon.
local marks = require('fileops.unkept.marks')

local M = {}

local is_followed = {} ---@type table<integer, true>
local is_touched = {} ---@type table<integer, true> buffers of which that is so, since it was last taken
-- By buffer, the line in which a letter was typed beside all its marks: another one there is beside them, too.
local beside = {} ---@type table<integer, { marks: fileops.UnkeptMark[], row: integer }>
local newest = {} ---@type table<integer, integer> the newest change, as `changenr()` counts them, by buffer

--- Whether text with a line end was put there that is not blank.
---@param buf integer
---@param row integer 0-based
---@param col integer
---@param n_rows integer
---@param last_col integer
---@return boolean
local function has_new_lines(buf, row, col, n_rows, last_col)
  if n_rows == 0 then return false end
  local lines = vim.api.nvim_buf_get_lines(buf, row, row + n_rows + 1, false)
  lines[1] = lines[1]:sub(col + 1)
  if lines[n_rows + 1] then lines[n_rows + 1] = lines[n_rows + 1]:sub(1, last_col) end
  return vim.iter(lines):any(function(line) return line:find('%S') ~= nil end)
end

--- The text has changed, and the marks have not moved yet. For each key.
local function on_bytes(_, buf, _, row, col, _, old_row, _, _, new_row, new_col)
  if is_touched[buf] then return end
  local shown, last = marks.of_buffer(buf), beside[buf]
  local is_in_line = old_row == 0 and new_row == 0
  if last and is_in_line and last.row == row and last.marks == shown then return end
  beside[buf] = is_in_line and { marks = shown, row = row } or nil
  local is_near = marks.is_near(buf, row + 1, row + old_row + 1)
  if is_near or has_new_lines(buf, row, col, new_row, new_col) then
    is_touched[buf], beside[buf] = true, nil
  end
end

--- Take note of what is typed in a buffer from now on.
---@param buf integer
function M.follow(buf)
  if is_followed[buf] then return end
  is_followed[buf], newest[buf] = true, vim.fn.undotree(buf).seq_last
  vim.api.nvim_buf_attach(buf, false, {
    on_bytes = on_bytes,
    on_reload = function() is_touched[buf] = true end,
    on_detach = function()
      is_followed[buf], is_touched[buf], beside[buf], newest[buf] = nil, nil, nil, nil
    end,
  })
end

--- Whether the text has changed, since the last call, so that the daemon may list something else.
---@param buf integer
---@return boolean
function M.take(buf)
  local was_touched = is_touched[buf] or false
  is_touched[buf] = nil
  return was_touched
end

--- Take note of the newest change of the current buffer.
---@param buf integer
---@return boolean is_older whether the last change was an undo or a redo, which is no new one
function M.note_newest(buf)
  local number, before = vim.fn.changenr(), newest[buf] or 0
  newest[buf] = math.max(number, before)
  return number <= before
end

return M
