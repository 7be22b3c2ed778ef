-- What agents changed, newest first: a list with the diff of the entry under the cursor, and the ways to take it back.
local columns = require('fileops.ui.columns')
local config = require('fileops.config')
local buffers = require('fileops.buffers')
local events = require('fileops.client.events')
local hunks = require('fileops.ui.hunks')
local keymaps = require('fileops.ui.keymaps')
local pane = require('fileops.ui.pane')
local winbar = require('fileops.ui.winbar')
local render = require('fileops.ui.render')
local sessions = require('fileops.sessions')
local messages = require('fileops.ui.messages')

local M = {}

local ns = vim.api.nvim_create_namespace('fileops.history')

local LIST_WIDTH = 44 -- the diff needs the room more
local NAME_WIDTH = 16 -- of a file, at most

local view ---@type fileops.HistoryView?

---@param entries fileops.wire.HistoryEntry[]
---@return string[] lines
function M.lines(entries)
  local names = vim.tbl_map(function(entry) return vim.fs.basename(entry.file_path) end, entries)
  local stats = vim.tbl_map(function(entry) return hunks.summary(entry.stats) end, entries)
  local name_width, stats_width = columns.width(names, NAME_WIDTH), columns.width(stats, NAME_WIDTH)
  local lines = {}
  for i, entry in ipairs(entries) do
    lines[i] = table.concat({
      (entry.undone_by and '↶' or #entry.undoes > 0 and '↷' or ' ')
        .. os.date(' %H:%M', math.floor(entry.timestamp)),
      columns.cell(names[i], name_width),
      columns.cell(stats[i], stats_width, true),
      -- the agent comes last: what does not fit is not seen
      sessions.name(entry.session_id),
    }, '  ')
  end
  return lines
end

---@param buf integer
---@param lines string[]
local function put(buf, lines)
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
end

---@return fileops.wire.HistoryEntry? entry under the cursor
local function selected()
  if not view then return nil end
  return view.entries[vim.api.nvim_win_get_cursor(view.list_win)[1]]
end

local function draw_diff()
  if not view then return end
  local entry = selected()
  local page = render.inline(entry and hunks.parse(entry.diff) or {})
  put(view.diff, #page.lines > 0 and page.lines or { entry and 'no text changed' or '' })
  pane.decorate(page, view.diff, ns)
  vim.api.nvim_win_set_cursor(view.diff_win, { 1, 0 })
  local note = entry
    and entry.rebased
    and (' %%#FileopsStale#%s%%*'):format(winbar.escape(sessions.rebased(entry.rebased)))
  vim.api.nvim_set_option_value(
    'winbar',
    (note or '') .. '%<%=' .. view.hints,
    { scope = 'local', win = view.diff_win }
  )
end

local function draw()
  if not view then return end
  local lines = M.lines(view.entries)
  put(view.list, #lines > 0 and lines or { 'no agent has edited anything yet' })
  for i, entry in ipairs(view.entries) do
    local muted = entry.undone_by or not entry.undoable
    local group = muted and 'FileopsMuted' or nil
    if group then
      vim.api.nvim_buf_set_extmark(view.list, ns, i - 1, 0, { end_col = #lines[i], hl_group = group })
    end
  end
end

--- Fetch the list again. The cursor stays on its entry: a key that was meant for it must not meet another one.
local function refresh()
  if not view then return end
  require('fileops').edits(view.params, function(err, result)
    if err then return messages.failure(err) end
    if not view then return end
    local before = selected()
    view.entries = result.edits
    draw()
    for i, entry in ipairs(view.entries) do
      if before and entry.edit_id == before.edit_id then
        vim.api.nvim_win_set_cursor(view.list_win, { i, 0 })
      end
    end
    draw_diff()
  end)
end

---@return boolean
function M.is_open() return view ~= nil end

function M.close()
  if not view then return end
  local closing = view
  view = nil
  if vim.api.nvim_win_is_valid(closing.came_from) then vim.api.nvim_set_current_win(closing.came_from) end
  for _, win in ipairs({ closing.list_win, closing.diff_win }) do
    if vim.api.nvim_win_is_valid(win) then pcall(vim.api.nvim_win_close, win, true) end
  end
end

--- The person's own undo: the daemon need not ask whether it is wanted.
---@param params table
local function undo(params)
  params.approved = true
  local ended = require('fileops.client.handlers').own_undo()
  require('fileops').undo(params, function(err, result)
    ended()
    if err then return messages.failure(err) end
    if result.status == 'error' then
      messages.error(require('fileops.manual').reason(result.error))
    else
      local n_undone = #result.details.undone
      local told = { [0] = 'a part was undone', 'one edit was undone' }
      messages.info(told[n_undone] or ('%d edits were undone'):format(n_undone))
    end
    refresh()
  end)
end

--- Of a change set the person chooses: files that were changed together belong together.
---@param entry fileops.wire.HistoryEntry
local function undo_entry(entry)
  local in_force = vim.tbl_filter(
    function(other) return entry.set_id ~= nil and other.set_id == entry.set_id and not other.undone_by end,
    view and view.entries or {}
  )
  if #in_force <= 1 then return undo({ edit_id = entry.edit_id }) end
  local ways = {
    ('Undo the change set: %d files'):format(#in_force),
    'Undo this file only',
    'Leave them',
  }
  vim.ui.select(ways, {
    prompt = 'These files were changed together',
    kind = 'fileops.undo',
    format_item = tostring,
  }, function(_, choice)
    if choice == 1 then undo({ set_id = entry.set_id }) end
    if choice == 2 then undo({ edit_id = entry.edit_id }) end
  end)
end

local actions = {
  undo = function()
    local entry = selected()
    if entry then undo_entry(entry) end
  end,
  undo_session = function()
    local entry = selected()
    if not entry then return end
    if entry.session_id == '' then return messages.info('this is your own; u takes it back') end
    M.ask_undo_session(entry.session_id)
  end,
  open = function()
    local entry = selected()
    if not entry then return end
    M.close()
    buffers.open(entry.file_path)
  end,
  refresh = refresh,
  close = M.close,
}

---@param name string
---@return integer buf
local function scratch(name)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  pcall(vim.api.nvim_buf_set_name, buf, 'fileops://' .. name)
  keymaps.map(buf, actions)
  vim.bo[buf].filetype = 'fileops-diff'
  return buf
end

---@param win integer
---@param bar string
local function dress(win, bar)
  local options = {
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    foldcolumn = '0',
    foldenable = false,
    wrap = false,
    list = false,
    spell = false,
    cursorline = true,
    winfixheight = true,
    winbar = bar,
  }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { scope = 'local', win = win })
  end
end

---@param path string
---@param session_id? string
---@return string
local function subject(path, session_id)
  if session_id then return 'of ' .. sessions.name(session_id) end
  return path ~= '' and buffers.short(path) or 'of all files'
end

--- Open the list, of one file or of one session where such is given.
---@param path string "" for all files
---@param session_id? string
function M.open(path, session_id)
  M.close()
  require('fileops.ui.last_edit').close()
  local came_from = vim.api.nvim_get_current_win()
  local height = math.max(4, math.min(config.get().pane.height, math.floor(vim.o.lines / 2)))
  local list, diff = scratch('history/edits'), scratch('history/diff')
  local list_win = vim.api.nvim_open_win(list, true, { split = 'below', win = -1, height = height })
  local width = math.max(vim.o.columns - LIST_WIDTH - 1, math.floor(vim.o.columns / 2))
  local diff_win = vim.api.nvim_open_win(diff, false, { split = 'right', win = list_win, width = width })
  local keys = config.get().keys
  dress(list_win, ' %#FileopsTitle#History%* ' .. winbar.escape(subject(path, session_id)))
  local hints = {
    { keys.undo, 'undo' },
    { keys.undo_session, 'session' },
    { keys.open, 'open' },
    { keys.close, 'close' },
  }
  dress(diff_win, '')
  local opened = {
    list_win = list_win,
    diff_win = diff_win,
    list = list,
    diff = diff,
    entries = {},
    params = { file_path = path ~= '' and buffers.absolute(path) or nil, session_id = session_id },
    hints = winbar.hints(hints, vim.api.nvim_win_get_width(diff_win)),
    came_from = came_from,
  }
  view = opened
  vim.api.nvim_create_autocmd('CursorMoved', { buffer = list, callback = draw_diff })
  for _, buf in ipairs({ list, diff }) do
    vim.api.nvim_create_autocmd('BufWipeout', {
      buffer = buf,
      callback = vim.schedule_wrap(function()
        if view == opened then M.close() end -- by then another may be open
      end),
    })
  end
  refresh()
end

--- Undo the newest agent's edit of the current file that can still be undone.
---@param edit_id string of a certain edit instead
function M.undo_last(edit_id)
  if edit_id ~= '' then return undo({ edit_id = edit_id }) end
  local path = vim.api.nvim_buf_get_name(0)
  require('fileops').edits({ file_path = path }, function(err, result)
    if err then return messages.failure(err) end
    for _, entry in ipairs(result.edits) do
      if entry.undoable then return undo({ edit_id = entry.edit_id }) end
    end
    messages.info('no agent edit of this file to undo')
  end)
end

---@param session_id string
function M.undo_session(session_id)
  if session_id == '' then return messages.error('which session? :Fileops undo-session ID') end
  undo({ session_id = session_id })
end

--- The same at a key: where it is about several edits, the person is asked first, as a key is soon hit.
---@param session_id string
function M.ask_undo_session(session_id)
  local params = { session_id = session_id, approved = true, dry_run = true }
  require('fileops').undo(params, function(err, result)
    if err then return messages.failure(err) end
    if result.status == 'error' then return messages.error(require('fileops.manual').reason(result.error)) end
    local n_edits, n_files = #result.details.undone, #result.details.files
    if n_edits <= 1 then return M.undo_session(session_id) end
    local what = ('Undo %d edits in %d %s'):format(n_edits, n_files, n_files == 1 and 'file' or 'files')
    vim.ui.select({ what, 'Leave them' }, {
      prompt = 'Edits of ' .. sessions.name(session_id),
      kind = 'fileops.undo',
      format_item = tostring,
    }, function(_, choice)
      if choice == 1 then M.undo_session(session_id) end
    end)
  end)
end

events.on('edit', refresh) -- of an agent outside, too

return M
