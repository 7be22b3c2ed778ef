-- The review as a person sees it: an edit of an open file in its text; else a pane below, with its own keys, for edits
-- and for commands; the proposal of an edit in a tab page where it is edited.
-- By default it takes neither the cursor nor a key.
local config = require('fileops.config')
local keymaps = require('fileops.ui.keymaps')
local pane = require('fileops.ui.pane')
local text = require('fileops.review.text')

local M = {}

local KINDS = { edit = require('fileops.review.edit'), command = require('fileops.review.command') }

local shown ---@type fileops.Pane?
local current ---@type fileops.Review?
local ended ---@type { what: string, why: string, title: string }? gone under the person's hands: the pane says so
local batch ---@type { n_arrived: integer, is_dirty: boolean }? while `together` runs
local layout ---@type 'inline'|'side_by_side'|nil the person's last choice

---@return fileops.Review[]
local function waiting() return require('fileops.review.queue').waiting() end

---@param review fileops.Review
---@return integer
local function position(review)
  for i, other in ipairs(waiting()) do
    if other == review then return i end
  end
  return 1
end

--- A page that says something instead of a proposal.
---@param ... string
---@return fileops.Page
local function saying(...) return { lines = { ... }, decorations = {}, hunk_at = {}, hunk_lines = {} } end

---@param review fileops.Review
---@return table
local function spec_of(review)
  if ended then
    return {
      name = ('review/%d/ended'):format(review.id),
      file_path = '',
      layout = 'inline',
      hunks = {},
      page = saying(
        ('%s: %s.'):format(ended.what, ended.why),
        'No key decides anything here; any of them continues.'
      ),
      titles = { ended.title },
      n_needed = 1,
      hints = { { config.get().keys.close, #waiting() > 0 and 'next review' or 'close' } },
    }
  end
  local count = #waiting() > 1 and (' %d/%d'):format(position(review), #waiting()) or ''
  local spec = KINDS[review.kind].spec(review, count)
  spec.layout = spec.layout or layout or config.get().pane.layout
  return spec
end

local function redraw()
  if batch then
    batch.is_dirty = true
  elseif shown and current then
    shown:update(spec_of(current))
  end
end

--- Many reviews come and go at once: the pane is drawn at the end, and one message counts those that came.
---@param act fun()
function M.together(act)
  if batch then return act() end
  batch = { n_arrived = 0, is_dirty = false }
  local ok, problem = pcall(act)
  local ended_batch = batch
  batch = nil
  if ended_batch.is_dirty then redraw() end
  if ended_batch.n_arrived > 1 then
    require('fileops.ui.messages').info(('%d reviews wait  (:Fileops reviews)'):format(#waiting()))
  end
  if not ok then error(problem, 0) end
end

--- Say that a review came; of several at once, `together` counts them.
---@param sentence string
local function announce(sentence)
  if batch then batch.n_arrived = batch.n_arrived + 1 end
  if not batch or batch.n_arrived == 1 then require('fileops.ui.messages').info(sentence) end
end

--- Whether the person sees a review somewhere.
---@param review fileops.Review
---@return boolean
local function is_seen(review)
  return (shown ~= nil and shown:is_open() and current == review) or text.is_visible(review)
end

local function show_help()
  local keys = config.get().keys
  local lines = {}
  for _, entry in ipairs(KINDS[current and current.kind or 'edit'].help) do
    local is_meant = not entry.is_of_set or (current and current.set)
    if is_meant and keys[entry[1]] then lines[#lines + 1] = ('%-8s %s'):format(keys[entry[1]], entry[2]) end
  end
  require('fileops.ui.float').open('review', lines)
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

--- What a decision is on: the review in the text that the cursor is in, else that of the pane, else the one that waits
--- longest.
---@return fileops.Review?
function M.current()
  local in_text = text.in_buffer(vim.api.nvim_get_current_buf())
  if in_text then return in_text end
  if current and not ended then return current end
  local first = waiting()[1]
  if not first then require('fileops.ui.messages').info('no review is waiting') end
  return first
end

---@param decide fun(review: fileops.Review)
local function on_current(decide)
  return function()
    -- what was looked at is gone: a key meant for it decides nothing else
    local is_in_text = text.in_buffer(vim.api.nvim_get_current_buf()) ~= nil
    if ended and not is_in_text then return go_on() end
    local review = M.current()
    if review then decide(review) end
  end
end

--- Said yes to from elsewhere, a command that was never on the screen is shown instead.
---@param decide fun(review: fileops.Review)
local function on_seen(decide)
  return on_current(function(review)
    if review.kind == 'command' and review ~= current then
      require('fileops.ui.messages').info('look at the command first')
      return M.enter(review)
    end
    decide(review)
  end)
end

M.accept = on_seen(function(review) require('fileops.review.queue').accept(review) end)
M.always = on_seen(function(review) require('fileops.review.queue').always(review) end)

---@param reason? string for the model
function M.reject(reason)
  on_current(
    function(review) require('fileops.review.queue').reject(review, reason ~= '' and reason or nil) end
  )()
end

--- Ask for the reason first; leaving that question leaves the review as it is.
M.reject_because = on_current(function(review)
  vim.ui.input({ prompt = 'Reject, because: ' }, function(reason)
    if reason then require('fileops.review.queue').reject(review, reason ~= '' and reason or nil) end
  end)
end)

M.accept_all = on_current(function(review) require('fileops.review.listed').decide_all(review, true) end)

---@param reason? string for the model
function M.reject_all(reason)
  on_current(
    function(review)
      require('fileops.review.listed').decide_all(review, false, reason ~= '' and reason or nil)
    end
  )()
end

--- Decide all edits that wait, the oldest first. Commands are looked at one by one.
---@param decide fun(review: fileops.Review)
local function on_edits(decide)
  local edits = vim.tbl_filter(function(review) return review.kind == 'edit' end, waiting())
  if #edits == 0 then return require('fileops.ui.messages').info('no review is waiting') end
  for _, review in ipairs(edits) do
    decide(review)
  end
end

function M.accept_reviews()
  on_edits(function(review) require('fileops.review.queue').accept(review) end)
end

---@param reason? string for the model
function M.reject_reviews(reason)
  on_edits(
    function(review) require('fileops.review.queue').reject(review, reason ~= '' and reason or nil) end
  )
end

M.edit = on_current(function(review)
  if review.kind == 'edit' then require('fileops.review.proposal').open(review) end
end)

local actions = {
  accept = M.accept,
  always = M.always,
  reject = function() M.reject() end,
  reject_because = M.reject_because,
  accept_all = M.accept_all,
  reject_all = function() M.reject_all() end,
  edit = M.edit,
  toggle_change = function()
    local id = shown and shown:hunk_id()
    if not (id and current) then return end
    require('fileops.review.queue').toggle(current, id)
    M.judged(current)
  end,
  layout = function()
    if current and current.kind == 'command' then return end
    layout = (layout or config.get().pane.layout) == 'inline' and 'side_by_side' or 'inline'
    redraw()
  end,
  next_change = function() return shown and shown:jump(1) end,
  previous_change = function() return shown and shown:jump(-1) end,
  next_review = function() step(1) end,
  previous_review = function() step(-1) end,
  list = function() M.list() end,
  close = function() return shown and shown:close() end,
  help = show_help,
}

---@param buf integer
local function map(buf)
  local guarded = {}
  for name, action in pairs(actions) do
    guarded[name] = function()
      if ended and name ~= 'help' then return go_on() end
      action()
    end
  end
  keymaps.map(buf, guarded)
end

---@param review fileops.Review
---@return boolean
local function show(review)
  require('fileops.ui.last_edit').close()
  if shown then shown:close() end -- its window is gone, which it has not heard of yet
  current, ended = review, nil
  local spec = spec_of(review)
  spec.height = config.get().pane.height
  spec.map = map
  spec.on_close = function()
    shown, current, ended = nil, nil, nil
  end
  shown = pane.open(spec)
  return shown ~= nil
end

--- Go to where a review is shown: in the text, else into the pane, which is opened.
---@param review? fileops.Review
---@param in_pane? boolean in any case
function M.enter(review, in_pane)
  local here = text.in_buffer(vim.api.nvim_get_current_buf())
  review = review or (in_pane and here) or (not ended and current) or here or waiting()[1]
  if not review then return require('fileops.ui.messages').info('no review is waiting') end
  if not in_pane and review ~= current and text.enter(review) then return end
  if shown and shown:is_open() then
    if current ~= review or ended then select_review(review) end
  elseif not show(review) then
    return require('fileops.ui.messages').warn('no room for the review')
  end
  if shown then shown:enter() end
end

--- List what waits, to choose one.
function M.list()
  local all = waiting()
  if #all == 0 then return require('fileops.ui.messages').info('no review is waiting') end
  vim.ui.select(all, {
    prompt = 'Waiting reviews',
    kind = 'fileops.review',
    format_item = function(review)
      return ('%s  %s'):format(
        KINDS[review.kind].item(review),
        require('fileops.sessions').proposer(review.params)
      )
    end,
  }, function(review)
    if review and vim.tbl_contains(all, review) then M.enter(review) end
  end)
end

--- A second has passed in which a review may have come closer to its end.
---@param is_last_minute fun(review: fileops.Review): boolean
function M.second_passed(is_last_minute)
  text.second_passed(is_last_minute)
  if shown and current and not ended and is_last_minute(current) then
    shown:retitle(spec_of(current).titles)
  end
end

---@param review fileops.Review
---@param words string such as "60 s left"
function M.is_about_to_end(review, words)
  if is_seen(review) then return end
  local sentence = ('%s: %s to decide  (:Fileops review)'):format(KINDS[review.kind].summary(review), words)
  require('fileops.ui.messages').info(sentence)
end

--- Its content is another one: the file changed.
---@param review fileops.Review
function M.changed(review)
  M.judged(review)
  if is_seen(review) then return end
  require('fileops.ui.messages').info(KINDS[review.kind].summary(review) .. ': its review has changed')
end

--- A verdict on a change of it is another one.
---@param review fileops.Review
function M.judged(review)
  if config.get().review.open == 'text' then text.show(review) end
  redraw()
end

---@param review fileops.Review
function M.arrived(review)
  require('fileops.review.countdown').watch()
  require('fileops.ui.notice').waiting()
  local open = config.get().review.open
  if open == 'text' and review.kind == 'edit' and text.show(review) and text.is_visible(review) then
    redraw() -- of another one, which counts those that wait
    local keys = config.get().keys
    local how = (' (%s goes there)'):format(keys.next_change or ':Fileops review')
    return announce(
      ('%s proposes %s%s'):format(
        require('fileops.sessions').proposer(review.params),
        KINDS.edit.summary(review),
        how
      )
    )
  end
  if shown and shown:is_open() then
    redraw()
  elseif open == 'never' or not show(review) then
    announce(('a review waits: %s  (:Fileops review)'):format(KINDS[review.kind].summary(review)))
  elseif open == 'focus' and vim.api.nvim_get_mode().mode == 'n' and shown then
    shown:enter()
  end
end

--- The agent's knowledge of the file changed while the review waits.
---@param review fileops.Review
function M.staleness_changed(review)
  redraw()
  if is_seen(review) or not require('fileops.review.queue').stale_reason(review) then return end
  local name = vim.fs.basename(review.params.file_path)
  require('fileops.ui.messages').warn(name .. ' changed: accepting its review will be refused')
end

--- The review waits here no more: show the next one in its place, or close. Where the cursor is in the pane and it was
--- not the person who decided, it stays: the key that they are about to press is meant for this review, and would be a
--- command in their file, or an answer to a question that they have not seen.
---@param review fileops.Review
---@param why? string if it was not decided here
function M.gone(review, why)
  text.hide(review)
  if not shown then return end
  if current ~= review then return redraw() end
  if why and shown:is_open() and shown:has_cursor() then
    ended = {
      what = KINDS[review.kind].summary(review),
      why = why,
      title = ' %#FileopsTitle# Review%* %#FileopsStale#'
        .. (review.review_id and 'ended%*' or 'withdrawn%* · nothing of it was done'),
    }
    return redraw()
  end
  local next_one = waiting()[1]
  if next_one then return select_review(next_one) end
  shown:close()
end

return M
