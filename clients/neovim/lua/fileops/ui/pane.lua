-- Windows below the others that show a diff, inline or side by side. A pane never takes the cursor unless asked to,
-- closes as a whole, gives the cursor back where it came from, and leaves no buffer behind.
local render = require('fileops.ui.render')
local winbar = require('fileops.ui.winbar')
require('fileops.ui.highlights')

local M = {}

local ns = vim.api.nvim_create_namespace('fileops.pane')
local BREAK = '      ' -- before the rest of a wrapped line, as wide as a page's labels

---@class fileops.Pane
local Pane = {}
Pane.__index = Pane

---@param spec fileops.PaneSpec
---@return fileops.Page[]
local function pages_of(spec)
  if spec.page then return { spec.page } end
  if spec.layout == 'side_by_side' then return { render.side_by_side(spec.hunks, spec.verdicts) } end
  return { render.inline(spec.hunks, spec.verdicts) }
end

---@param page fileops.Page
---@param buf integer
---@param namespace integer
function M.decorate(page, buf, namespace)
  for _, each in ipairs(page.decorations) do
    vim.api.nvim_buf_set_extmark(buf, namespace, each.row, each.col or 0, each.opts)
  end
end

---@param page fileops.Page
---@param buf integer
---@param spec fileops.PaneSpec
local function fill(page, buf, spec)
  local lines = #page.lines > 0 and page.lines or { spec.empty or 'nothing to show' }
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  M.decorate(page, buf, ns)
end

---@param win integer
---@param side_by_side boolean
---@param wrap boolean
local function dress(win, side_by_side, wrap)
  local options = {
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    foldcolumn = '0',
    foldenable = false,
    wrap = wrap,
    showbreak = wrap and BREAK or '',
    list = false,
    spell = false,
    cursorline = true,
    winfixheight = true,
    scrollbind = side_by_side,
    cursorbind = side_by_side,
    statuscolumn = '',
    colorcolumn = '',
  }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { scope = 'local', win = win })
  end
end

---@param self fileops.Pane
local function title(self)
  local spec, n = self.spec, #self.wins
  for i, win in ipairs(self.wins) do
    local width = vim.api.nvim_win_get_width(win)
    local text = ''
    if i == 1 then
      local needed = n == 1 and vim.list_slice(spec.hints or {}, 1, spec.n_needed or 0) or {}
      text = winbar.fitting(spec.titles, width - winbar.width(winbar.hints(needed, width)) - 1)
    end
    local room = width - winbar.width(text) - 1
    local bar = text .. '%<%=' .. (i == n and winbar.hints(spec.hints or {}, room) or '')
    vim.api.nvim_set_option_value('winbar', bar, { scope = 'local', win = win })
  end
end

---@param self fileops.Pane
---@param i integer
---@return integer buf
local function new_buffer(self, i)
  local spec = self.spec
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].undolevels = -1
  local side = #self.pages == 2 and (i == 1 and '/before' or '/after') or ''
  pcall(vim.api.nvim_buf_set_name, buf, ('fileops://%s%s'):format(spec.name, side))
  fill(self.pages[i], buf, spec)
  if spec.map then spec.map(buf) end
  vim.bo[buf].filetype = 'fileops-diff'
  if #self.pages == 2 and vim.g.syntax_on then
    vim.bo[buf].syntax = vim.filetype.match({ filename = spec.file_path }) or ''
  end
  return buf
end

---@param page fileops.Page
---@param wraps boolean
---@return integer
local function n_screen_lines(page, wraps)
  if not wraps then return math.max(#page.lines, 1) end
  local n = 0
  for i, line in ipairs(page.lines) do
    local width = vim.fn.strdisplaywidth(line)
    for _, each in ipairs(page.decorations) do
      if each.row == i - 1 and each.opts.virt_text then
        width = width + vim.fn.strdisplaywidth(each.opts.virt_text[1][1])
      end
    end
    n = n + 1 + math.ceil(math.max(0, width - vim.o.columns) / (vim.o.columns - #BREAK))
  end
  return n
end

---@param self fileops.Pane
---@return boolean opened
local function open_windows(self)
  local splitkeep = vim.o.splitkeep
  vim.o.splitkeep = 'screen' -- the text above must not jump
  local n_lines = n_screen_lines(self.pages[1], self.spec.page and true or false) + 1 -- the bar
  local height = math.max(4, math.min(n_lines, self.spec.height, math.floor(vim.o.lines / 2)))
  for i = 1, #self.pages do
    local buf = new_buffer(self, i)
    local where = i == 1 and { split = 'below', win = -1, height = height }
      or { split = 'right', win = self.wins[1] }
    local ok, win = pcall(vim.api.nvim_open_win, buf, false, where)
    if not ok then
      vim.api.nvim_buf_delete(buf, { force = true })
      break
    end
    self.bufs[i], self.wins[i] = buf, win
    dress(win, #self.pages == 2, self.spec.page and true or false)
  end
  vim.o.splitkeep = splitkeep
  if #self.wins == 0 then return false end
  title(self)
  return true
end

---@param self fileops.Pane
local function watch(self)
  self.group = vim.api.nvim_create_augroup('fileops.pane.' .. self.spec.name, {})
  vim.api.nvim_create_autocmd('WinClosed', {
    group = self.group,
    callback = function(event)
      if vim.tbl_contains(self.wins, tonumber(event.match)) then vim.schedule(function() self:close() end) end
    end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', { -- `:edit` in the window of the pane, which is the person's then
    group = self.group,
    callback = function(event)
      if vim.tbl_contains(self.bufs, event.buf) then vim.schedule(function() self:close() end) end
    end,
  })
end

--- Nil where there is no room for it, or the command-line window forbids it.
---@param spec fileops.PaneSpec
---@return fileops.Pane?
function M.open(spec)
  if vim.fn.getcmdwintype() ~= '' then return nil end
  local self = setmetatable({ spec = spec, wins = {}, bufs = {}, pages = pages_of(spec), group = 0 }, Pane)
  if not open_windows(self) then return nil end
  watch(self)
  return self
end

---@param self fileops.Pane
---@param i integer
---@return boolean
local function is_shown(self, i)
  local win, buf = self.wins[i], self.bufs[i]
  return win ~= nil and vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == buf
end

---@return boolean
function Pane:is_open() return is_shown(self, 1) end

---@return boolean
function Pane:has_cursor() return vim.tbl_contains(self.wins, vim.api.nvim_get_current_win()) end

--- Put the cursor into the pane; closing gives it back.
function Pane:enter()
  if not self:is_open() then return end
  if not self:has_cursor() then self.came_from = vim.api.nvim_get_current_win() end
  vim.api.nvim_set_current_win(self.wins[#self.wins])
end

--- Draw again; the layout may have changed.
---@param changes table fields of the spec to replace
function Pane:update(changes)
  if not self:is_open() then return end
  local had_cursor = self:has_cursor()
  local cursor = vim.api.nvim_win_get_cursor(self.wins[1])
  local renamed = changes.name and changes.name ~= self.spec.name
  local layout = self.spec.layout
  for name, value in pairs(changes) do
    self.spec[name] = value
  end
  self.pages = pages_of(self.spec)
  if layout ~= self.spec.layout or renamed then
    local came_from = self.came_from
    vim.api.nvim_del_augroup_by_id(self.group)
    local old = self.wins
    self.wins, self.bufs = {}, {}
    if had_cursor and came_from and vim.api.nvim_win_is_valid(came_from) then
      vim.api.nvim_set_current_win(came_from)
    end
    for _, win in ipairs(old) do
      if vim.api.nvim_win_is_valid(win) then vim.api.nvim_win_close(win, true) end
    end
    if not open_windows(self) then return self:close() end
    watch(self)
    if had_cursor then self:enter() end
  else
    local top = vim.api.nvim_win_call(self.wins[1], vim.fn.winsaveview).topline
    for i, buf in ipairs(self.bufs) do
      fill(self.pages[i], buf, self.spec)
      vim.api.nvim_win_call(self.wins[i], function() vim.fn.winrestview({ topline = top }) end)
    end
    title(self)
  end
  for _, win in ipairs(self.wins) do
    local last = vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(win))
    vim.api.nvim_win_set_cursor(win, renamed and { 1, 0 } or { math.min(cursor[1], last), 0 })
  end
end

--- Another title; nothing else is drawn.
---@param titles string[]
function Pane:retitle(titles)
  if not self:is_open() then return end
  self.spec.titles = titles
  title(self)
end

--- The hunk that the cursor is in.
---@return string?
function Pane:hunk_id()
  local win = self:has_cursor() and vim.api.nvim_get_current_win() or self.wins[1]
  return self.pages[1].hunk_at[vim.api.nvim_win_get_cursor(win)[1]]
end

--- Scroll, if need be, so that all of a hunk is on the screen, or as much of it as there is room for.
---@param self fileops.Pane
---@param win integer
---@param first integer 1-based line of its heading, where the cursor goes
local function reveal(self, win, first)
  local hunk_at, last = self.pages[1].hunk_at, first
  while hunk_at[last + 1] == hunk_at[first] do
    last = last + 1
  end
  vim.api.nvim_win_set_cursor(win, { first, 0 })
  vim.api.nvim_win_call(win, function()
    local height, top = vim.fn.winheight(0), vim.fn.winsaveview().topline
    if first >= top and last < top + height then return end
    -- not higher than needed: what is above the last hunk says more than empty lines below it
    local lowest = math.max(1, vim.api.nvim_buf_line_count(0) - height + 1)
    vim.fn.winrestview({ topline = math.min(first, lowest) })
  end)
end

---@param direction 1|-1
function Pane:jump(direction)
  local win = self:has_cursor() and vim.api.nvim_get_current_win() or self.wins[1]
  local here = vim.api.nvim_win_get_cursor(win)[1]
  local lines = self.pages[1].hunk_lines
  for i = 1, #lines do
    local line = lines[direction == 1 and i or #lines - i + 1]
    if (direction == 1 and line > here) or (direction == -1 and line < here) then
      for _, each in ipairs(#self.wins > 1 and self.wins or { win }) do
        reveal(self, each, line)
      end
      return
    end
  end
end

function Pane:close()
  if #self.wins == 0 then return end
  local bufs, had_cursor, wins = self.bufs, self:has_cursor(), {} ---@type integer[], boolean, integer[]
  for i, win in ipairs(self.wins) do
    if is_shown(self, i) then wins[#wins + 1] = win end
  end
  self.wins, self.bufs = {}, {}
  vim.api.nvim_del_augroup_by_id(self.group)
  local splitkeep = vim.o.splitkeep
  vim.o.splitkeep = 'screen'
  if had_cursor and self.came_from and vim.api.nvim_win_is_valid(self.came_from) then
    vim.api.nvim_set_current_win(self.came_from)
  end
  for _, win in ipairs(wins) do
    pcall(vim.api.nvim_win_close, win, true) -- not the last one
  end
  vim.o.splitkeep = splitkeep
  for _, buf in ipairs(bufs) do
    if vim.api.nvim_buf_is_valid(buf) then pcall(vim.api.nvim_buf_delete, buf, { force = true }) end
  end
  if self.spec.on_close then self.spec.on_close() end
end

return M
