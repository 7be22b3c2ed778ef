-- Lines that an agent changed, marked in the buffer until a person dismisses them. Marks are extmarks, so they
-- follow later typing; what is undone is not marked any more, and what is redone is again. For a file that is not open
-- they wait until it is.
local config = require('fileops.config')
local buffers = require('fileops.buffers')
local hunks = require('fileops.ui.hunks')
local reload = require('fileops.reload')
require('fileops.ui.highlights')

local M = {}

local ns = vim.api.nvim_create_namespace('fileops.marks')
local waiting = {} ---@type table<string, fileops.Region[]> real path → regions of a file that is not open

local edits = {} ---@type table<integer, fileops.MarkedEdit[]> by buffer

local line_groups = { add = 'FileopsAdd', change = 'FileopsChange' }

---@param removed string[]
---@return table[] virtual lines
local function removed_lines(removed)
  return vim.tbl_map(function(text)
    local shown = text:gsub('\r$', ''):gsub('\t', '    ')
    return { { shown == '' and ' ' or shown, 'FileopsDelete' } }
  end, removed)
end

---@param buf integer
---@param region fileops.Region
---@param edit fileops.MarkedEdit
local function place(buf, region, edit)
  local ids = edit.ids
  local settings = config.get().marks
  local last = vim.api.nvim_buf_line_count(buf)
  local sign = settings.sign
  for i = 0, region.count - 1 do
    local row = region.line - 1 + i
    if row < last then
      ids[#ids + 1] = vim.api.nvim_buf_set_extmark(buf, ns, row, 0, {
        end_row = row,
        line_hl_group = settings.deleted and 'FileopsAdd' or line_groups[region.kind],
        sign_text = sign ~= '' and sign or nil,
        sign_hl_group = 'FileopsSign',
        invalidate = true,
        undo_restore = true,
      })
    end
  end
  if #region.removed == 0 then return end
  local above = region.line <= last -- text that was after the last line is shown below it
  local row = math.min(region.line, last) - 1
  local takes_its_place = region.count > 0 and row + region.count <= last
  ids[#ids + 1] = vim.api.nvim_buf_set_extmark(buf, ns, row, 0, {
    -- what was removed is shown beside what came in its place, and goes with that
    end_row = takes_its_place and row + region.count - 1 or nil,
    end_col = takes_its_place and 0 or nil,
    invalidate = takes_its_place or nil,
    strict = false,
    virt_lines = settings.deleted and removed_lines(region.removed) or nil,
    virt_lines_above = above,
    sign_text = region.count == 0 and sign ~= '' and '▁' or nil,
    sign_hl_group = 'FileopsRejected',
  })
  if region.count == 0 then edit.deletions[ids[#ids]] = region.removed end
end

---@param buf integer
---@param edit fileops.MarkedEdit
local function unmark(buf, edit)
  for _, id in ipairs(edit.ids) do
    vim.api.nvim_buf_del_extmark(buf, ns, id)
  end
  edit.ids, edit.deletions = {}, {}
end

---@param buf integer
---@param edit fileops.MarkedEdit
local function mark(buf, edit)
  for _, region in ipairs(edit.regions) do
    place(buf, region, edit)
  end
end

--- After an undo or a redo: marks of the current text, and of nothing else.
---@param buf integer
local function follow_undo(buf)
  if not edits[buf] then return end
  local now = reload.undo_state(buf)
  for _, edit in ipairs(edits[buf]) do
    if not edit.is_undone and now < edit.seq then
      edit.is_undone = true
      unmark(buf, edit)
    elseif edit.is_undone and now == edit.seq then -- the very text again; of any later state that is not known
      edit.is_undone = false
      mark(buf, edit)
    end
  end
end

--- Text that was removed and that these regions put back is not shown as removed any more.
---@param buf integer
---@param regions fileops.Region[]
local function forget_restored(buf, regions)
  for _, edit in ipairs(edits[buf] or {}) do
    for id, removed in pairs(edit.deletions) do
      local row, _, details = unpack(vim.api.nvim_buf_get_extmark_by_id(buf, ns, id, { details = true }))
      local first = row and (details.virt_lines_above and row - #removed or row + 1) or -1
      for _, region in ipairs(first >= 0 and regions or {}) do
        local is_inside = region.line - 1 <= first and first + #removed <= region.line - 1 + region.count
        local now = is_inside and vim.api.nvim_buf_get_lines(buf, first, first + #removed, false)
        if now and vim.deep_equal(now, removed) then
          vim.api.nvim_buf_del_extmark(buf, ns, id)
          edit.deletions[id] = nil
        end
      end
    end
  end
end

--- The buffer was changed in these regions, by no agent: they are not marked.
---@param buf integer
---@param regions fileops.Region[]
function M.restored(buf, regions)
  if config.get().marks.enabled then forget_restored(buf, regions) end
end

--- An agent changed these regions of the buffer.
---@param buf integer
---@param regions fileops.Region[]
---@param seq? integer the undo state that holds the change; without it, the present one
function M.show(buf, regions, seq)
  if not config.get().marks.enabled then return end
  local unkept = require('fileops.unkept.changes')
  if unkept.is_served() then return unkept.refresh(buf) end -- which marks it, and more
  forget_restored(buf, regions)
  local edit = {
    seq = seq or reload.undo_state(buf),
    regions = regions,
    ids = {},
    deletions = {},
    is_undone = false,
  }
  mark(buf, edit)
  edits[buf] = edits[buf] or {}
  table.insert(edits[buf], edit)
  local first = regions[1]
  if first and first.line == 1 and #first.removed > 0 then
    require('fileops.ui.virtual').reveal_above_first_line(buf)
  end
end

--- An agent's edit is in the buffer, which was brought to its file, and may have changed in other places too: mark
--- what is the edit's.
---@param buf integer
---@param edit_hunks fileops.wire.Hunk[]
function M.show_edit(buf, edit_hunks)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  M.show(buf, hunks.regions_in(lines, edit_hunks), reload.step_of(buf))
end

--- Remember an edit of a file that no buffer shows.
---@param path string
---@param edit_hunks fileops.wire.Hunk[]
function M.remember(path, edit_hunks)
  if not config.get().marks.enabled or require('fileops.unkept.changes').is_served() then return end
  local key = buffers.real(path)
  local regions = hunks.moved(waiting[key] or {}, edit_hunks)
  for _, hunk in ipairs(edit_hunks) do
    vim.list_extend(regions, hunks.regions(hunk))
  end
  waiting[key] = regions
end

--- Place what waited for this file.
---@param buf integer
function M.opened(buf)
  if not buffers.is_file(buf) then return end
  local key = buffers.real(vim.api.nvim_buf_get_name(buf))
  local regions = waiting[key]
  if not regions then return end
  waiting[key] = nil
  M.show(buf, regions)
end

---@param buf? integer all buffers without it
function M.dismiss(buf)
  if buf then
    edits[buf] = nil
    return vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  end
  waiting, edits = {}, {}
  for _, each in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(each) then vim.api.nvim_buf_clear_namespace(each, ns, 0, -1) end
  end
end

--- First lines of the marked places, ascending, 1-based.
---@param buf integer
---@return integer[]
function M.lines(buf)
  local lines, previous = {}, nil
  for _, found in ipairs(vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })) do
    local line = found[2] + 1
    if not found[4].invalid then
      if line ~= previous and line ~= (previous or -1) + 1 then lines[#lines + 1] = line end
      previous = line
    end
  end
  return lines
end

--- Move the cursor to the next (or, with -1, the one before) marked place, around the end.
---@param direction 1|-1
function M.jump(direction)
  local lines = M.lines(0)
  if #lines == 0 then return require('fileops.ui.messages').info('no marked lines here') end
  local here = vim.api.nvim_win_get_cursor(0)[1]
  local target = direction == 1 and lines[1] or lines[#lines]
  for i = 1, #lines do
    local line = lines[direction == 1 and i or #lines - i + 1]
    if (direction == 1 and line > here) or (direction == -1 and line < here) then
      target = line
      break
    end
  end
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { target, 0 })
end

local group = vim.api.nvim_create_augroup('fileops.marks', {})
vim.api.nvim_create_autocmd('BufReadPost', {
  group = group,
  callback = function(event)
    M.dismiss(event.buf) -- read again: where their text is now is unknown
    M.opened(event.buf)
  end,
})
vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI' }, {
  group = group,
  callback = function(event) follow_undo(event.buf) end,
})
vim.api.nvim_create_autocmd('BufUnload', {
  group = group,
  callback = function(event) edits[event.buf] = nil end,
})

return M
