-- The text without the agents' changes, beside the file in diff mode. Diff mode's own commands decide: what the file
-- obtains is undone, in its unsaved text; what this text obtains is kept. When its neighbour shows another file, as
-- after `:cnfile`, this window follows.
local buffers = require('fileops.buffers')
local cells = require('fileops.unkept.cells')
local changes = require('fileops.unkept.changes')
local marks = require('fileops.unkept.marks')
local messages = require('fileops.ui.messages')

local M = {}

---@class fileops.DiffView
---@field file_win integer
---@field before_win integer
---@field buf integer of the file
---@field before integer buffer with the text without the changes
---@field scope fileops.DiffScope
---@field filled string[] the text that it was given
---@field keeps { lines: string[], keep_id: string? }[] what was kept here, and the text before that, the newest last
---@field n_pending integer decisions that are on their way
---@field finish fun() of `whole_hunks`

---@alias fileops.DiffScope fun(change: fileops.wire.UnkeptChange): boolean which changes the text lacks

---@class fileops.DiffPart of a file, up to a change
---@field common string[] lines above the change
---@field removed string[] lines that the change replaced
---@field own string[] lines that it put there
---@field change_id? string nil for what is below the last change

local views = {} ---@type table<integer, fileops.DiffView> by window of the file
-- Buffers that left diff mode: a window remembers a buffer's options, and would bring diff mode back with it.
local left = {} ---@type table<integer, boolean>
local n_opened = 0

---@param buf integer
---@param change fileops.wire.UnkeptChange
---@return string[]
local function removed_lines(buf, change)
  local text = change.removed_text
  if text == '' then return {} end
  if change.start_line <= 1 then text = text:gsub('^\239\187\191', '') end -- a buffer has a byte order mark as 'bomb'
  if vim.bo[buf].fileformat == 'dos' then text = text:gsub('\r\n', '\n') end
  local lines = vim.split(text, '\n', { plain = true })
  if lines[#lines] == '' then lines[#lines] = nil end
  return lines
end

--- The file, divided at the changes of the scope.
---@param buf integer
---@param scope fileops.DiffScope
---@return fileops.DiffPart[]
local function parts_of(buf, scope)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  if #lines == 1 and lines[1] == '' then lines = {} end
  local parts, next_line = {}, 1 ---@type fileops.DiffPart[], integer
  for _, mark in ipairs(marks.of_buffer(buf)) do
    local first, last = marks.place_of(buf, mark)
    if mark.change.end_line < mark.change.start_line then -- the text has nothing of it
      first = (mark.is_at_end or #lines == 0) and #lines + 1 or first
      last = first - 1
    end
    if scope(mark.change) and first >= next_line then
      parts[#parts + 1] = {
        common = vim.list_slice(lines, next_line, first - 1),
        removed = removed_lines(buf, mark.change),
        own = vim.list_slice(lines, first, last),
        change_id = mark.change.change_id,
      }
      next_line = last + 1
    end
  end
  parts[#parts + 1] = { common = vim.list_slice(lines, next_line), removed = {}, own = {} }
  return parts
end

---@param parts fileops.DiffPart[]
---@return string[]
local function text_before(parts)
  local lines = {} ---@type string[]
  for _, part in ipairs(parts) do
    vim.list_extend(lines, part.common)
    vim.list_extend(lines, part.removed)
  end
  return #lines > 0 and lines or { '' }
end

---@param lines string[]
---@param part string[]
---@param at integer
---@return boolean
local function has_at(lines, part, at)
  for i, line in ipairs(part) do
    if lines[at + i - 1] ~= line then return false end
  end
  return true
end

--- The changes that are in a text, but not in the text before. A text is understood only if it has each change
--- completely or not at all, and everything else is unchanged.
---@param parts fileops.DiffPart[]
---@param lines string[]
---@return string[]? change ids; nil if it is any other text
local function kept_in(parts, lines)
  local kept, failed = {}, {} ---@type string[], table<string, boolean>
  local function follow(i, at)
    local part = parts[i]
    if not part then return at == #lines + 1 end
    local key = i .. ' ' .. at
    if failed[key] or not has_at(lines, part.common, at) then return false end
    at = at + #part.common
    if has_at(lines, part.removed, at) and follow(i + 1, at + #part.removed) then return true end
    if part.change_id and has_at(lines, part.own, at) and follow(i + 1, at + #part.own) then
      kept[#kept + 1] = part.change_id
      return true
    end
    failed[key] = true
    return false
  end
  return follow(1, 1) and kept or nil
end

---@param view fileops.DiffView
---@return string[]
local function lines_in(view) return vim.api.nvim_buf_get_lines(view.before, 0, -1, true) end

---@param view fileops.DiffView
---@return boolean
local function is_open(view)
  return vim.api.nvim_win_is_valid(view.file_win)
    and vim.api.nvim_win_is_valid(view.before_win)
    and vim.api.nvim_buf_is_valid(view.before)
end

--- Set the text to its present content; the person cannot undo that.
---@param view fileops.DiffView
local function fill(view)
  view.filled = text_before(parts_of(view.buf, view.scope))
  if not vim.deep_equal(view.filled, lines_in(view)) then
    local levels = vim.bo[view.before].undolevels
    vim.bo[view.before].undolevels = -1
    require('fileops.reload').splice(view.before, view.filled)
    vim.bo[view.before].undolevels = levels
    view.keeps = {}
  end
  vim.bo[view.before].modified = false
  vim.api.nvim_win_call(view.before_win, function() vim.cmd('diffupdate') end)
end

local look ---@type fun(view: fileops.DiffView)

--- The person changed the text: agents' changes that are now in it are kept; those kept before and no longer in it are
--- not.
---@param view fileops.DiffView
function look(view)
  if not is_open(view) then return end
  local now = lines_in(view)
  if vim.deep_equal(now, view.filled) then
    vim.bo[view.before].modified = false
    return
  end
  local ids = kept_in(parts_of(view.buf, view.scope), now)
  local last = view.keeps[#view.keeps]
  local is_taken_back = last ~= nil and vim.deep_equal(now, last.lines)
  if is_taken_back and view.n_pending > 0 then return end -- checked again when the answer is there
  local function decided()
    view.n_pending = view.n_pending - 1
    look(view)
  end
  if ids and #ids > 0 then
    local keep = { lines = view.filled }
    table.insert(view.keeps, keep)
    view.filled, view.n_pending = now, view.n_pending + 1
    changes.keep_ids(ids, function(keep_id)
      keep.keep_id = keep_id
      decided()
    end)
  elseif is_taken_back and last.keep_id then
    table.remove(view.keeps)
    view.filled, view.n_pending = now, view.n_pending + 1
    changes.undo_keep(last.keep_id, decided)
  else
    return -- typed, or part of a change: `:write` says so
  end
  vim.bo[view.before].modified = false
end

--- Put back what cannot be kept.
---@param view fileops.DiffView
local function write(view)
  look(view)
  if not vim.bo[view.before].modified then return end
  fill(view)
  messages.warn('only whole changes of agents can be kept; other text that you wrote here is removed again')
end

---@param view fileops.DiffView
---@return integer buf
local function new_before(view)
  local before = vim.api.nvim_create_buf(false, true)
  n_opened = n_opened + 1
  local path = vim.api.nvim_buf_get_name(view.buf)
  vim.api.nvim_buf_set_name(before, ('fileops://before/%d/%s'):format(n_opened, vim.fs.basename(path)))
  vim.bo[before].buftype = 'acwrite'
  vim.bo[before].bufhidden = 'wipe'
  vim.bo[before].swapfile = false
  vim.bo[before].syntax = vim.filetype.match({ filename = path, buf = view.buf }) or ''
  vim.api.nvim_create_autocmd('BufWriteCmd', { buffer = before, callback = function() write(view) end })
  local is_due = false
  vim.api.nvim_buf_attach(before, false, {
    on_lines = function()
      if is_due then return end
      is_due = true
      vim.schedule(function()
        is_due = false
        if view.before == before then look(view) end
      end)
    end,
  })
  return before
end

--- Show the file that is now in the file's window.
---@param view fileops.DiffView
local function bind(view)
  view.buf = vim.api.nvim_win_get_buf(view.file_win)
  view.before, view.keeps = new_before(view), {}
  if not vim.api.nvim_win_is_valid(view.before_win) then
    view.before_win = vim.api.nvim_open_win(view.before, false, { split = 'left', win = view.file_win })
  else
    vim.wo[view.before_win].winfixbuf = false
    vim.api.nvim_win_set_buf(view.before_win, view.before)
  end
  vim.api.nvim_set_option_value('winfixbuf', true, { scope = 'local', win = view.before_win })
  fill(view)
  vim.api.nvim_win_call(view.file_win, function() vim.cmd('diffoff!') end) -- also the buffers that were shown before
  for _, win in ipairs({ view.before_win, view.file_win }) do
    vim.api.nvim_win_call(win, function() vim.cmd('diffthis') end)
  end
  local old_name = changes.old_name(view.buf)
  if old_name then messages.info('renamed from ' .. buffers.short(old_name)) end -- both sides may be the same
end

---@param view fileops.DiffView
local function close(view)
  views[view.file_win] = nil
  view.finish()
  if vim.api.nvim_win_is_valid(view.file_win) then
    vim.api.nvim_win_call(view.file_win, function() vim.cmd('diffoff!') end) -- also the buffers that were shown before
  end
  if vim.api.nvim_win_is_valid(view.before_win) then pcall(vim.api.nvim_win_close, view.before_win, true) end
end

---@param win integer
---@return fileops.DiffView?
local function view_of(win)
  return vim
    .iter(pairs(views))
    :map(function(_, view) return view end)
    :find(function(view) return view.file_win == win or view.before_win == win end)
end

--- Open the text before the agents' changes beside the file of this window, or close it. Of a notebook, its cells are
--- compared in a tab page.
---@param scope fileops.DiffScope
function M.toggle(scope)
  if cells.close() then return end
  local buf = vim.api.nvim_get_current_buf()
  local path = vim.api.nvim_buf_get_name(buf)
  if buffers.is_file(buf) and buffers.is_notebook(path) and changes.is_served() and marks.has(buf) then
    local before, now = text_before(parts_of(buf, scope)), vim.api.nvim_buf_get_lines(buf, 0, -1, true)
    return cells.compare(path, before, now, function() M.toggle_text(scope) end)
  end
  M.toggle_text(scope)
end

--- The same, for lines of the file itself.
---@param scope fileops.DiffScope
function M.toggle_text(scope)
  local view = view_of(vim.api.nvim_get_current_win())
  if view then return close(view) end
  M.open(scope)
end

--- Open it. If it is open, show what the scope says.
---@param scope fileops.DiffScope
function M.open(scope)
  local win = vim.api.nvim_get_current_win()
  if not changes.is_served() then
    return changes.fetch(function() end)
  end
  if not buffers.is_file(vim.api.nvim_win_get_buf(win)) then
    return messages.info('this buffer is not a file')
  end
  local view = view_of(win)
  if view then
    view.scope = scope
    return fill(view)
  end
  view = {
    file_win = win,
    before_win = -1,
    buf = -1,
    before = -1,
    scope = scope,
    filled = {},
    keeps = {},
    n_pending = 0,
    finish = require('fileops.ui.whole_hunks').begin(),
  }
  views[win] = view
  bind(view)
end

--- The changes of a buffer that are not kept are different now.
---@param buf integer
function M.refresh(buf)
  for _, view in pairs(views) do
    local is_due = view.buf == buf and view.n_pending == 0 and is_open(view)
    if is_due and not vim.bo[view.before].modified then fill(view) end
  end
end

local group = vim.api.nvim_create_augroup('fileops.diff', {})
vim.api.nvim_create_autocmd('BufWinEnter', {
  group = group,
  callback = function(event)
    local win = vim.api.nvim_get_current_win()
    if not views[win] and left[event.buf] then
      left[event.buf] = nil
      return vim.cmd('diffoff')
    end
    if not views[win] then return end
    vim.schedule(function() -- when the command that opened the buffer has finished with it
      local view = views[win]
      if not view or not is_open(view) or vim.api.nvim_win_get_buf(win) == view.buf then return end
      if not buffers.is_file(vim.api.nvim_win_get_buf(win)) then return close(view) end
      bind(view)
    end)
  end,
})
vim.api.nvim_create_autocmd('BufWinLeave', {
  group = group,
  callback = function(event)
    local view = views[vim.api.nvim_get_current_win()]
    if view and view.buf == event.buf then left[event.buf] = true end
  end,
})
vim.api.nvim_create_autocmd('WinClosed', {
  group = group,
  callback = function(event)
    local view = view_of(tonumber(event.match) --[[@as integer]])
    if view then vim.schedule(function() close(view) end) end
  end,
})

return M
