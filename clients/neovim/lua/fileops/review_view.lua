-- The review as a person sees it: a pane below, with keys of its own, for edits and for commands; the proposal of an
-- edit in a tab page where it is edited.
-- Without being told to, it takes neither the cursor nor a key.
local command_view = require('fileops.command_view')
local config = require('fileops.config')
local hunks = require('fileops.hunks')
local pane = require('fileops.pane')

local M = {}

local shown ---@type fileops.Pane?
local current ---@type fileops.Review?
local ended ---@type { what: string, why: string }? withdrawn under the person's hands: the pane says so
local layout ---@type 'inline'|'side_by_side'|nil the person's last choice
local editors = {} ---@type table<integer, integer> review id → tab page where its text is edited

---@return fileops.Review[]
local function waiting() return require('fileops.review').waiting() end

---@param review fileops.Review
---@return integer
local function position(review)
  for i, other in ipairs(waiting()) do
    if other == review then return i end
  end
  return 1
end

---@param review fileops.Review
---@return string
local function title(review)
  local params = review.params
  if ended then return ' %#FileopsTitle# Review%* %#FileopsStale#taken back%* · nothing of it was done' end
  local count = #waiting() > 1 and (' %d/%d'):format(position(review), #waiting()) or ''
  if review.kind == 'command' then return command_view.title(params, count) end
  local why = require('fileops.review').stale_reason(review)
  if why then
    return (' %%#FileopsTitle# Review%s%%* %s %%#FileopsStale# changed: accepting will be refused %%*'):format(
      count,
      pane.escape(vim.fs.basename(params.file_path))
    )
  end
  local creates = params.operation == 'create' and ' · new file' or ''
  return ('%%#FileopsTitle# Review%s%%* %s%s %%#FileopsMuted#· %s%%*'):format(
    count,
    pane.subject(params.file_path, hunks.stats(params.hunks)),
    creates,
    pane.escape(params.session_id)
  )
end

---@param review fileops.Review
---@return fileops.Hint[]
local function hints(review)
  local keys = config.get().keys
  if require('fileops.review').stale_reason(review) then
    return { { keys.accept, 'agent reads again' }, { keys.reject, 'reject' }, { keys.help, 'help' } }
  end
  return {
    { keys.help, 'help' },
    { keys.accept, 'accept' },
    { keys.reject, 'reject' },
    { keys.toggle_hunk, 'hunk' },
    { keys.edit, 'edit' },
    { keys.always, 'always' },
    { keys.layout, 'layout' },
  }
end

--- A page that says something instead of a proposal.
---@param ... string
---@return fileops.Page
local function saying(...) return { lines = { ... }, decorations = {}, hunk_at = {}, hunk_lines = {} } end

---@param review fileops.Review
---@return table
local function look(review)
  if ended then
    local key = config.get().keys.close
    return {
      name = ('review/%d/ended'):format(review.id),
      file_path = '',
      layout = 'inline',
      hunks = {},
      page = saying(
        ('%s: %s.'):format(ended.what, ended.why),
        'No key decides anything here; any of them goes on.'
      ),
      title = title(review),
      hints = { { key, #waiting() > 0 and 'next review' or 'close' } },
    }
  end
  if review.kind == 'command' then
    return {
      name = ('review/%d/command'):format(review.id),
      file_path = '',
      layout = 'inline',
      hunks = {},
      page = command_view.page(review.params),
      title = title(review),
      hints = command_view.hints(config.get().keys),
    }
  end
  return {
    name = ('review/%d/%s'):format(review.id, vim.fs.basename(review.params.file_path)),
    page = false,
    file_path = review.params.file_path,
    layout = layout or config.get().pane.layout,
    hunks = review.params.hunks,
    verdicts = {
      rejected = review.rejected,
      is_stale = require('fileops.review').stale_reason(review) ~= nil,
    },
    title = title(review),
    hints = hints(review),
    empty = 'an empty file is created',
  }
end

local function redraw()
  if shown and current then shown:update(look(current)) end
end

local help = {
  { 'accept', 'accept (the hunks that are not rejected)' },
  { 'always', 'accept, and ask no more in this session' },
  { 'reject', 'reject the whole edit' },
  { 'toggle_hunk', 'reject this hunk, or take that back' },
  { 'edit', 'edit the proposed text yourself' },
  { 'layout', 'inline or side by side' },
  { 'next_hunk', 'next hunk' },
  { 'previous_hunk', 'previous hunk' },
  { 'next_review', 'next waiting review' },
  { 'previous_review', 'previous waiting review' },
  { 'list', 'list the waiting reviews' },
  { 'close', 'close the pane; the review goes on waiting' },
}

local function show_help()
  local keys = config.get().keys
  local lines = {}
  for _, entry in ipairs(current and current.kind == 'command' and command_view.help or help) do
    if keys[entry[1]] then lines[#lines + 1] = ('%-8s %s'):format(keys[entry[1]], entry[2]) end
  end
  require('fileops.float').open('review', lines)
end

---@param review fileops.Review
local function select_review(review)
  current, ended = review, nil
  redraw()
end

--- From a review that is no more: to the next one, or back to where the cursor came from.
local function go_on()
  ended = nil
  local next_one = waiting()[1]
  if next_one then return select_review(next_one) end
  if shown then shown:close() end
end

---@param direction 1|-1
local function step(direction)
  local all = waiting()
  if #all < 2 or not current then return end
  select_review(all[(position(current) - 1 + direction) % #all + 1])
end

--- A decision on the review that is shown; without a pane, on the one that waits longest.
---@return fileops.Review?
function M.current()
  if current and not ended then return current end
  local first = waiting()[1]
  if not first then require('fileops.say').say('no review is waiting') end
  return first
end

---@param decide fun(review: fileops.Review)
local function on_current(decide)
  return function()
    if ended then return go_on() end -- what was looked at is gone: a key meant for it decides nothing else
    local review = M.current()
    if review then decide(review) end
  end
end

--- Said yes to from elsewhere, a command that was never on the screen is shown instead.
---@param decide fun(review: fileops.Review)
local function on_seen(decide)
  return on_current(function(review)
    if review.kind == 'command' and review ~= current then
      require('fileops.say').say('look at the command first')
      return M.enter(review)
    end
    decide(review)
  end)
end

M.accept = on_seen(function(review) require('fileops.review').accept(review) end)
M.always = on_seen(function(review) require('fileops.review').always(review) end)
M.reject = on_current(function(review) require('fileops.review').reject(review) end)
M.edit = on_current(function(review)
  if review.kind == 'edit' then M.edit_proposal(review) end
end)

local actions = {
  accept = M.accept,
  always = M.always,
  reject = M.reject,
  edit = M.edit,
  toggle_hunk = function()
    local id = shown and shown:hunk_id()
    if not (id and current) then return end
    require('fileops.review').toggle(current, id)
    redraw()
  end,
  layout = function()
    if current and current.kind == 'command' then return end
    layout = (layout or config.get().pane.layout) == 'inline' and 'side_by_side' or 'inline'
    redraw()
  end,
  next_hunk = function() return shown and shown:jump(1) end,
  previous_hunk = function() return shown and shown:jump(-1) end,
  next_review = function() step(1) end,
  previous_review = function() step(-1) end,
  list = function() M.list() end,
  close = function() return shown and shown:close() end,
  help = show_help,
}

---@param buf integer
local function map(buf)
  local keys = config.get().keys
  for name, action in pairs(actions) do
    local key = keys[name]
    if key then
      local function run()
        if ended and name ~= 'help' then return go_on() end
        action()
      end
      vim.keymap.set('n', key, run, { buffer = buf, nowait = true, desc = 'fileops: ' .. name })
    end
  end
end

---@param review fileops.Review
---@return boolean
local function show(review)
  require('fileops.edit_view').close()
  current, ended = review, nil
  local spec = look(review)
  spec.height = config.get().pane.height
  spec.map = map
  spec.on_close = function()
    shown, current, ended = nil, nil, nil
  end
  shown = pane.open(spec)
  return shown ~= nil
end

--- Open the pane and go into it.
---@param review? fileops.Review
function M.enter(review)
  review = review or (not ended and current) or waiting()[1]
  if not review then return require('fileops.say').say('no review is waiting') end
  if shown and shown:is_open() then
    if current ~= review or ended then select_review(review) end
  elseif not show(review) then
    return require('fileops.say').warn('no room for the review')
  end
  if shown then shown:enter() end
end

--- List what waits, to choose one.
function M.list()
  local all = waiting()
  if #all == 0 then return require('fileops.say').say('no review is waiting') end
  vim.ui.select(all, {
    prompt = 'Waiting reviews',
    kind = 'fileops.review',
    format_item = function(review)
      if review.kind == 'command' then
        return ('%s  %s'):format(command_view.summary(review.params), review.params.session_id)
      end
      local stats = hunks.stats(review.params.hunks)
      local name = require('fileops.files').short(review.params.file_path)
      return ('%s  %s  %s'):format(name, hunks.summary(stats), review.params.session_id)
    end,
  }, function(review)
    if review and vim.tbl_contains(all, review) then M.enter(review) end
  end)
end

---@param review fileops.Review
---@return string
local function summary(review)
  local params = review.params
  if review.kind == 'command' then return command_view.summary(params) end
  return ('%s %s'):format(vim.fs.basename(params.file_path), hunks.summary(hunks.stats(params.hunks)))
end

---@param review fileops.Review
function M.arrived(review)
  local open = config.get().review.open
  if shown and shown:is_open() then
    redraw()
  elseif open == 'none' or not show(review) then
    require('fileops.say').say(('a review waits: %s  (:Fileops review)'):format(summary(review)))
  elseif open == 'focus' and vim.api.nvim_get_mode().mode == 'n' and shown then
    shown:enter()
  end
end

--- The agent's knowledge of the file changed while the review waits.
---@param review fileops.Review
function M.staleness_changed(review)
  redraw()
  local is_seen = shown ~= nil and shown:is_open() and current == review
  if is_seen or not require('fileops.review').stale_reason(review) then return end
  local name = vim.fs.basename(review.params.file_path)
  require('fileops.say').warn(name .. ' changed: accepting its review will be refused')
end

--- The tab page where a proposal is edited. What the person is typing into must not be taken from under their hands:
--- it stays, and says that it is of no use any more.
---@param review fileops.Review
---@param why? string it was withdrawn
local function close_editor(review, why)
  local tab = editors[review.id]
  if not tab or not vim.api.nvim_tabpage_is_valid(tab) then return end
  if why and tab == vim.api.nvim_get_current_tabpage() then
    local bar = ' %#FileopsStale#' .. pane.escape(why) .. '%* · what you write here is not used'
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(tab)) do
      local is_proposal = vim.bo[vim.api.nvim_win_get_buf(win)].buftype == 'acwrite'
      if is_proposal then vim.api.nvim_set_option_value('winbar', bar, { scope = 'local', win = win }) end
    end
    return
  end
  editors[review.id] = nil
  if #vim.api.nvim_list_tabpages() > 1 then vim.cmd('tabclose! ' .. vim.api.nvim_tabpage_get_number(tab)) end
end

--- The review was decided or withdrawn: show the next one in its place, or close. Where the cursor is in the pane and
--- it was not the person who decided, it stays: the key that they are about to press is meant for this review, and
--- would be a command in their file, or an answer to a question that they have not seen.
---@param review fileops.Review
---@param why? string it was withdrawn
function M.gone(review, why)
  close_editor(review, why)
  if not shown then return end
  if current ~= review then return redraw() end
  if why and shown:is_open() and shown:has_cursor() then
    ended = { what = summary(review), why = why }
    return redraw()
  end
  local next_one = waiting()[1]
  if next_one then return select_review(next_one) end
  shown:close()
end

---@class (exact) fileops.Editable
---@field lines string[]
---@field final_newline boolean

---@param text string
---@return fileops.Editable
local function editable(text)
  text = text:gsub('\r\n', '\n') -- the daemon gives each line the end that the file wants
  local final_newline = text:sub(-1) == '\n' or text == ''
  if text:sub(-1) == '\n' then text = text:sub(1, -2) end
  return { lines = vim.split(text, '\n', { plain = true }), final_newline = final_newline }
end

---@param buf integer
---@return string
local function text_of(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  if #lines == 1 and lines[1] == '' then return '' end
  return table.concat(lines, '\n') .. (vim.bo[buf].endofline and '\n' or '')
end

---@param win integer
---@param review fileops.Review
---@param side 'original'|'proposed'
---@param text string
---@return integer buf
local function fill_side(win, review, side, text)
  local buf = vim.api.nvim_create_buf(false, true)
  local content = editable(text)
  vim.bo[buf].buftype = side == 'proposed' and 'acwrite' or 'nofile'
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].swapfile = false
  local name = vim.fs.basename(review.params.file_path)
  vim.api.nvim_buf_set_name(buf, ('fileops://review/%d/%s/%s'):format(review.id, side, name))
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, content.lines)
  vim.bo[buf].fixendofline = false
  vim.bo[buf].endofline = content.final_newline
  vim.bo[buf].modifiable = side == 'proposed'
  vim.bo[buf].modified = false
  vim.api.nvim_win_set_buf(win, buf)
  vim.bo[buf].syntax = vim.filetype.match({ filename = review.params.file_path, buf = buf }) or ''
  vim.api.nvim_win_call(win, vim.cmd.diffthis)
  return buf
end

--- Both texts in a tab page, the proposed one to be changed: writing it accepts it, closing it goes back.
---@param review fileops.Review
function M.edit_proposal(review)
  local params = review.params
  if not params.proposed_text then
    return require('fileops.say').warn('the text is too large to be edited here')
  end
  local tab = editors[review.id]
  if tab and vim.api.nvim_tabpage_is_valid(tab) then return vim.api.nvim_set_current_tabpage(tab) end
  vim.cmd('tabnew')
  local right = vim.api.nvim_get_current_win()
  local scratch = vim.api.nvim_get_current_buf()
  editors[review.id] = vim.api.nvim_get_current_tabpage()
  local buf = fill_side(right, review, 'proposed', params.proposed_text)
  if vim.api.nvim_buf_is_valid(scratch) and vim.api.nvim_buf_get_name(scratch) == '' then
    vim.api.nvim_buf_delete(scratch, { force = true })
  end
  vim.cmd('leftabove vnew')
  local left, empty = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  fill_side(left, review, 'original', params.original_text or '')
  if vim.api.nvim_buf_is_valid(empty) then vim.api.nvim_buf_delete(empty, { force = true }) end
  local function bar(win, text) vim.api.nvim_set_option_value('winbar', text, { scope = 'local', win = win }) end
  bar(left, ' %#FileopsTitle#original%* ' .. pane.escape(vim.fs.basename(params.file_path)))
  local keys = { { ':w', 'accept' }, { ':tabclose', 'back' } }
  local name = ' %#FileopsTitle#proposed%* %='
  bar(right, name .. pane.hints(keys, vim.api.nvim_win_get_width(right) - #' proposed '))
  vim.api.nvim_set_current_win(right)
  vim.cmd('silent! normal! ]c')
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buf,
    callback = function()
      if not vim.tbl_contains(waiting(), review) then
        return require('fileops.say').warn('the review is gone; this text is not used')
      end
      if require('fileops.review').stale_reason(review) then
        local name_of_file = vim.fs.basename(params.file_path)
        return require('fileops.say').warn(
          name_of_file .. ' changed: nothing can be written; your text stays here'
        )
      end
      vim.bo[buf].modified = false
      local text = text_of(buf)
      vim.schedule(function() require('fileops.review').modify(review, text) end)
    end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buf,
    callback = function()
      local page = editors[review.id]
      editors[review.id] = nil
      vim.schedule(function() -- the original beside it goes too
        if page and vim.api.nvim_tabpage_is_valid(page) and #vim.api.nvim_list_tabpages() > 1 then
          vim.cmd('tabclose! ' .. vim.api.nvim_tabpage_get_number(page))
        end
      end)
    end,
  })
end

return M
