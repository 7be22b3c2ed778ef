-- Lines that an agent changed, marked in the buffer until a person dismisses them. Marks are extmarks, so they
-- follow later typing. For a file that is not open they wait until it is.
local config = require('fileops.config')
local files = require('fileops.files')
local hunks = require('fileops.hunks')
require('fileops.highlights')

local M = {}

local ns = vim.api.nvim_create_namespace('fileops.marks')
local waiting = {} ---@type table<string, fileops.Region[]> real path → regions of a file that is not open

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
local function place(buf, region)
  local settings = config.get().marks
  local last = vim.api.nvim_buf_line_count(buf)
  local sign = settings.sign
  for i = 0, region.count - 1 do
    local row = region.line - 1 + i
    if row < last then
      vim.api.nvim_buf_set_extmark(buf, ns, row, 0, {
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
  local above = region.line <= last -- text that stood behind the last line is shown below it
  vim.api.nvim_buf_set_extmark(buf, ns, math.min(region.line, last) - 1, 0, {
    virt_lines = settings.deleted and removed_lines(region.removed) or nil,
    virt_lines_above = above,
    sign_text = region.count == 0 and sign ~= '' and '▁' or nil,
    sign_hl_group = 'FileopsRejected',
  })
end

--- Vim scrolls virtual lines above line 1 out of sight; bring them in where line 1 is the top line.
---@param buf integer
---@param count integer
local function show_above_first_line(buf, count)
  local function reveal()
    if vim.fn.line('w0') == 1 then vim.fn.winrestview({ topfill = count }) end
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

---@param buf integer
---@param regions fileops.Region[]
function M.show(buf, regions)
  if not config.get().marks.enabled then return end
  for _, region in ipairs(regions) do
    place(buf, region)
  end
  local first = regions[1]
  if first and first.line == 1 and #first.removed > 0 then show_above_first_line(buf, #first.removed) end
end

--- Remember an edit of a file that no buffer shows.
---@param path string
---@param edit_hunks fileops.Hunk[]
function M.remember(path, edit_hunks)
  if not config.get().marks.enabled then return end
  local key = files.real(path)
  local regions = hunks.moved(waiting[key] or {}, edit_hunks)
  for _, hunk in ipairs(edit_hunks) do
    vim.list_extend(regions, hunks.regions(hunk))
  end
  waiting[key] = regions
end

--- Place what waited for this file.
---@param buf integer
function M.opened(buf)
  if not files.is_file(buf) then return end
  local key = files.real(vim.api.nvim_buf_get_name(buf))
  local regions = waiting[key]
  if not regions then return end
  waiting[key] = nil
  M.show(buf, regions)
end

---@param buf? integer all buffers without it
function M.dismiss(buf)
  if buf then return vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1) end
  waiting = {}
  for _, each in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(each) then vim.api.nvim_buf_clear_namespace(each, ns, 0, -1) end
  end
end

--- First lines of the marked places, ascending, 1-based.
---@param buf integer
---@return integer[]
function M.lines(buf)
  local lines, previous = {}, nil
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, {})) do
    local line = mark[2] + 1
    if line ~= previous and line ~= (previous or -1) + 1 then lines[#lines + 1] = line end
    previous = line
  end
  return lines
end

--- Move the cursor to the next (or, with -1, the one before) marked place, around the end.
---@param direction 1|-1
function M.jump(direction)
  local lines = M.lines(0)
  if #lines == 0 then return vim.notify('fileops: no marked lines here') end
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

vim.api.nvim_create_autocmd('BufReadPost', {
  group = vim.api.nvim_create_augroup('fileops.marks', {}),
  callback = function(event) M.opened(event.buf) end,
})

return M
