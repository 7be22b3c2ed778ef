-- Marks what agents changed and no person has kept yet: a sign at each line, and the line highlighted. What a person
-- has undone has a muted sign. The daemon says where; until it does so again, marks move with what is typed.
local config = require('fileops.config')
require('fileops.ui.highlights')

local M = {}

local ns = vim.api.nvim_create_namespace('fileops.unkept')

local UNDONE_S = 20 -- for which a sign shows where something was undone
local REMOVED_SIGN = '▁' -- lines were only removed, above the next line

local drawn = {} ---@type table<integer, fileops.UnkeptMark[]> by buffer, top to bottom
local dots = {} ---@type table<integer, integer[]> extmarks where something was undone just now, by buffer

---@param buf integer
---@param line integer 1-based
---@param opts vim.api.keyset.set_extmark
---@return integer id
local function set(buf, line, opts) return vim.api.nvim_buf_set_extmark(buf, ns, line - 1, 0, opts) end

---@param buf integer
---@param change fileops.wire.UnkeptChange
---@param n_lines integer of the buffer
---@return fileops.UnkeptMark
local function place(buf, change, n_lines)
  local sign = config.get().sign
  local has_lines = change.end_line >= change.start_line
  local first = math.max(1, math.min(change.start_line, n_lines))
  local ids = {
    set(buf, first, {
      sign_text = sign ~= '' and (has_lines and sign or REMOVED_SIGN) or nil,
      sign_hl_group = 'FileopsSign',
      line_hl_group = has_lines and 'FileopsUnkept' or nil,
    }),
  }
  for line = first + 1, math.min(change.end_line, n_lines) do
    ids[#ids + 1] = set(buf, line, {
      sign_text = sign ~= '' and sign or nil,
      sign_hl_group = 'FileopsSign',
      line_hl_group = 'FileopsUnkept',
    })
  end
  return { change = change, ids = ids, is_at_end = change.start_line > n_lines }
end

---@param buf integer
function M.clear(buf)
  drawn[buf], dots[buf] = nil, nil
  if vim.api.nvim_buf_is_valid(buf) then vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1) end
end

--- Forget the marks of what was undone, once the person has seen where it was.
---@param buf integer
---@param ids integer[] of extmarks
local function let_leave(buf, ids)
  if #ids == 0 then return end
  dots[buf] = ids
  vim.defer_fn(function()
    if dots[buf] ~= ids then return end -- the marks were drawn anew, and ids are used again
    for _, id in ipairs(vim.api.nvim_buf_is_valid(buf) and ids or {}) do
      vim.api.nvim_buf_del_extmark(buf, ns, id)
    end
  end, UNDONE_S * 1000)
end

--- Mark these changes, and no others.
---@param buf integer
---@param changes fileops.wire.UnkeptChange[] of its present text
---@param undone fileops.wire.UndonePlace[] what the person has undone; of it, what was undone just now is marked
function M.draw(buf, changes, undone)
  M.clear(buf)
  local settings = config.get()
  if not settings.marks then return end
  local n_lines = vim.api.nvim_buf_line_count(buf)
  local undone_ids = {} ---@type integer[]
  for _, each in ipairs(settings.sign ~= '' and undone or {}) do
    local line = math.max(1, math.min(each.start_line, n_lines))
    if os.time() - each.time < UNDONE_S then
      undone_ids[#undone_ids + 1] =
        set(buf, line, { sign_text = '·', sign_hl_group = 'FileopsUndone', priority = 5 })
    end
  end
  let_leave(buf, undone_ids)
  local marks = {} ---@type fileops.UnkeptMark[]
  for _, change in ipairs(changes) do
    if change.kind ~= 'file' then marks[#marks + 1] = place(buf, change, n_lines) end
  end
  if #marks > 0 then drawn[buf] = marks end
end

--- The present lines of the buffer that a mark covers. Lines that were only removed are marked at the line below them,
--- or at the last one.
---@param buf integer
---@param mark fileops.UnkeptMark
---@return integer first, integer last 1-based
function M.place_of(buf, mark)
  local first = vim.api.nvim_buf_get_extmark_by_id(buf, ns, mark.ids[1], {})[1] or 0
  local last = vim.api.nvim_buf_get_extmark_by_id(buf, ns, mark.ids[#mark.ids], {})[1] or first
  return first + 1, math.max(first, last) + 1
end

---@param buf integer
---@return fileops.UnkeptMark[] top to bottom
function M.of_buffer(buf) return drawn[buf] or {} end

--- The changes that touch some lines; without lines, all of the buffer.
---@param buf integer
---@param first? integer 1-based
---@param last? integer
---@return fileops.wire.UnkeptChange[]
function M.touched(buf, first, last)
  local found = {} ---@type fileops.wire.UnkeptChange[]
  for _, mark in ipairs(M.of_buffer(buf)) do
    local from, to = M.place_of(buf, mark)
    if not first or (from <= last and first <= to) then found[#found + 1] = mark.change end
  end
  return found
end

---@param buf integer
---@return boolean whether anything is marked
function M.has(buf) return drawn[buf] ~= nil end

--- The first mark that does not end above a line. For each move of the cursor and for keys, so it looks at few of them:
--- as the marks are in order, it is found by halving.
---@param buf integer
---@param line integer 1-based
---@return fileops.UnkeptMark? mark, integer number
local function first_from(buf, line)
  local marks = M.of_buffer(buf)
  local low, high = 1, #marks + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    local _, last = M.place_of(buf, marks[middle])
    if last < line then
      low = middle + 1
    else
      high = middle
    end
  end
  return marks[low], low
end

--- The change at a line, and which of the buffer's it is.
---@param buf integer
---@param line integer 1-based
---@return fileops.wire.UnkeptChange? change, integer? number
function M.at(buf, line)
  local mark, number = first_from(buf, line)
  if mark and M.place_of(buf, mark) <= line then return mark.change, number end
end

--- Whether one of these lines is in a change, or next to one.
---@param buf integer
---@param first integer 1-based
---@param last integer
---@return boolean
function M.is_near(buf, first, last)
  local mark = first_from(buf, first - 1)
  return mark ~= nil and M.place_of(buf, mark) <= last + 1
end

local named = vim.api.nvim_create_namespace('fileops.author')
-- For what the author was named last, by buffer: while that is the same, as at most keys, the name is the same.
local named_for = {} ---@type table<integer, { marks: fileops.UnkeptMark[], line: integer, n_lines: integer }>

--- Name the author of the change at the cursor, after its line. Nothing is written into the text.
---@param buf integer
function M.name_author(buf)
  local before, marks = named_for[buf], drawn[buf]
  if not marks or not config.get().marks or buf ~= vim.api.nvim_get_current_buf() then
    named_for[buf] = nil
    if before then vim.api.nvim_buf_clear_namespace(buf, named, 0, -1) end
    return
  end
  local line, n_lines = vim.api.nvim_win_get_cursor(0)[1], vim.api.nvim_buf_line_count(buf)
  if before and before.marks == marks and before.line == line and before.n_lines == n_lines then return end
  if before then vim.api.nvim_buf_clear_namespace(buf, named, 0, -1) end
  named_for[buf] = { marks = marks, line = line, n_lines = n_lines }
  local change, number = M.at(buf, line)
  if not change then return end
  local words = ('  %s: %d of %d'):format(change.label:gsub('[%c]', ' '), number, #marks)
  vim.api.nvim_buf_set_extmark(buf, named, line - 1, 0, {
    virt_text = { { words, 'FileopsAuthor' } },
    hl_mode = 'combine',
  })
end

--- First lines of the changes, ascending, 1-based.
---@param buf integer
---@return integer[]
function M.lines(buf)
  return vim.tbl_map(function(mark) return (M.place_of(buf, mark)) end, M.of_buffer(buf))
end

return M
