-- What agents changed and no person has kept yet, marked in a buffer: a sign in the colour of the session at each line,
-- the line in the colour of what happened to it, and above it what was removed. The daemon says where; marks move with
-- what is typed until it says so again.
local config = require('fileops.config')
local highlights = require('fileops.ui.highlights')
local virtual = require('fileops.ui.virtual')

local M = {}

local ns = vim.api.nvim_create_namespace('fileops.unkept')

local LINE_GROUPS = { added = 'FileopsAdd', changed = 'FileopsChange' }

local drawn = {} ---@type table<integer, fileops.UnkeptMark[]> by buffer, top to bottom
local shows_removed ---@type boolean? what the person chose last; nil: as the settings say

---@param buf integer
---@param text string of removed lines
---@param group string
---@return table[][] virtual lines
local function removed_lines(buf, text, group)
  local lines = vim.split(text, '\n', { plain = true })
  if lines[#lines] == '' then lines[#lines] = nil end
  return vim.tbl_map(
    function(line) return virtual.line(line, #line, #line, group, vim.o.columns, vim.bo[buf].tabstop) end,
    lines
  )
end

---@return boolean
local function wants_removed()
  if shows_removed == nil then return config.get().marks.deleted end
  return shows_removed
end

---@param buf integer
---@param change fileops.wire.UnkeptChange
---@return fileops.UnkeptMark
local function place(buf, change)
  local settings = config.get().marks
  local kind, n_lines = change.kind, vim.api.nvim_buf_line_count(buf)
  local sign_group = highlights.of_session(change.session_id or change.label)
  local sign = settings.sign ~= '' and settings.sign or nil
  local group = LINE_GROUPS[kind]
  if kind == 'changed' and wants_removed() then group = 'FileopsAdd' end -- beside what it replaced
  local first = math.min(change.start_line, n_lines)
  local opts = { ---@type vim.api.keyset.set_extmark
    sign_text = sign and (kind == 'removed' and '▁' or sign),
    sign_hl_group = sign_group,
    line_hl_group = group,
    strict = false,
  }
  if change.removed_text ~= '' and wants_removed() then
    opts.virt_lines = removed_lines(buf, change.removed_text, 'FileopsDelete')
    opts.virt_lines_above = change.start_line <= n_lines
  end
  local ids = { vim.api.nvim_buf_set_extmark(buf, ns, first - 1, 0, opts) }
  for line = first + 1, math.min(change.end_line, n_lines) do
    ids[#ids + 1] = vim.api.nvim_buf_set_extmark(buf, ns, line - 1, 0, {
      sign_text = sign,
      sign_hl_group = sign_group,
      line_hl_group = group,
    })
  end
  return { change = change, ids = ids }
end

---@param buf integer
---@param undone fileops.wire.UndonePlace
local function place_undone(buf, undone)
  if undone.removed_text == '' or not wants_removed() then return end
  local n_lines = vim.api.nvim_buf_line_count(buf)
  vim.api.nvim_buf_set_extmark(buf, ns, math.min(undone.start_line, n_lines) - 1, 0, {
    virt_lines = removed_lines(buf, undone.removed_text, 'FileopsRejectedLine'),
    virt_lines_above = undone.start_line <= n_lines,
    strict = false,
  })
end

---@param buf integer
function M.clear(buf)
  drawn[buf] = nil
  if vim.api.nvim_buf_is_valid(buf) then vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1) end
end

--- Mark these changes, and no others.
---@param buf integer
---@param changes fileops.wire.UnkeptChange[] of its present text
---@param undone fileops.wire.UndonePlace[] what the person has undone, which stays visible for a while
function M.draw(buf, changes, undone)
  M.clear(buf)
  if not config.get().marks.enabled then return end
  for _, each in ipairs(undone) do
    place_undone(buf, each)
  end
  local with_lines = vim.tbl_filter(function(change) return change.kind ~= 'file' end, changes)
  if #with_lines == 0 then return end
  drawn[buf] = vim.tbl_map(function(change) return place(buf, change) end, with_lines)
  local first = with_lines[1]
  if first.start_line == 1 and first.removed_text ~= '' then virtual.reveal_above_first_line(buf) end
end

--- Show what was removed, or do not, in all buffers.
function M.toggle_removed()
  shows_removed = not wants_removed()
  for buf in pairs(vim.deepcopy(drawn)) do
    local changes = {} ---@type fileops.wire.UnkeptChange[]
    for i, mark in ipairs(drawn[buf]) do
      local first, last = M.place_of(buf, mark)
      local has_lines = mark.change.end_line >= mark.change.start_line
      changes[i] = vim.tbl_extend(
        'force',
        mark.change,
        { start_line = first, end_line = has_lines and last or first - 1 }
      )
    end
    M.draw(buf, changes, {})
  end
end

--- Lines of the buffer that a mark is at, where they are now.
---@param buf integer
---@param mark fileops.UnkeptMark
---@return integer first, integer last 1-based
function M.place_of(buf, mark)
  local first = vim.api.nvim_buf_get_extmark_by_id(buf, ns, mark.ids[1], {})[1] or 0
  local last = vim.api.nvim_buf_get_extmark_by_id(buf, ns, mark.ids[#mark.ids], {})[1] or first
  return first + 1, math.max(first, last) + 1
end

--- The changes that touch some lines; without lines, all of the buffer.
---@param buf integer
---@param first? integer 1-based
---@param last? integer
---@return fileops.wire.UnkeptChange[]
function M.touched(buf, first, last)
  local found = {} ---@type fileops.wire.UnkeptChange[]
  for _, mark in ipairs(drawn[buf] or {}) do
    local from, to = M.place_of(buf, mark)
    if not first or (from <= last and first <= to) then found[#found + 1] = mark.change end
  end
  return found
end

---@param buf integer
---@return boolean whether anything is marked
function M.has(buf) return drawn[buf] ~= nil end

--- First lines of the changes, ascending, 1-based.
---@param buf integer
---@return integer[]
function M.lines(buf)
  return vim.tbl_map(function(mark) return (M.place_of(buf, mark)) end, drawn[buf] or {})
end

return M
