-- Reviews as a person sees them: an edit of an open file in its text, else file and proposal in diff mode; a shell
-- command in a buffer. Nothing opens by itself, and no key is taken; a message says what waits. The verbs decide on
-- what the person is looking at.
local buffers = require('fileops.buffers')
local changes = require('fileops.review.changes')
local command = require('fileops.review.command')
local config = require('fileops.config')
local hunks = require('fileops.ui.hunks')
local messages = require('fileops.ui.messages')
local queue = require('fileops.review.queue')
local sessions = require('fileops.sessions')
local text = require('fileops.review.text')

local M = {}

local batch ---@type { n_arrived: integer }? while `together` runs

---@return table of edits that are shown in diff mode
local function proposal() return require('fileops.review.proposal') end

---@param cells fileops.wire.CellUiExtra[]
---@return string[] names
local function cells_of(cells)
  local names = {} ---@type string[]
  for _, cell in ipairs(cells) do
    local name = cell.cell_id == '' and 'all code cells' or cell.cell_id
    if not vim.list_contains(names, name) then names[#names + 1] = name end
  end
  return names
end

--- In one line.
---@param review fileops.Review
---@return string such as "Codex proposes area.py +3 −1"
function M.summary(review)
  if review.kind == 'command' then return command.summary(review) end
  local operation = require('fileops.review.set').operation(review.params)
  return ('%s proposes %s%s %s'):format(
    sessions.proposer(review.params),
    buffers.short(review.params.file_path),
    hunks.in_cells(cells_of(review.params.cells or {})),
    operation or hunks.summary(changes.stats(review.params))
  )
end

--- The name of the buffer for a review that no open file can show.
---@param review fileops.Review
---@return string
function M.name_of(review) return review.kind == 'command' and command.name(review) or proposal().name(review) end

--- Many reviews may appear at once: one message counts them.
---@param act fun()
function M.together(act)
  if batch then return act() end
  batch = { n_arrived = 0 }
  local ok, problem = pcall(act)
  local n_arrived = batch.n_arrived
  batch = nil
  if n_arrived > 1 then messages.info(('%d reviews wait  (:Fileops changes)'):format(#queue.waiting())) end
  if not ok then error(problem, 0) end
end

--- Report a new review; `together` counts several that arrive at once.
---@param sentence string
local function announce(sentence)
  if batch then batch.n_arrived = batch.n_arrived + 1 end
  if not batch or batch.n_arrived == 1 then messages.info(sentence) end
end

--- The review that the current buffer shows.
---@return fileops.Review?
function M.here()
  local buf = vim.api.nvim_get_current_buf()
  return text.in_buffer(buf) or proposal().in_buffer(buf) or command.in_buffer(buf)
end

--- Go to where a review is shown. From its text, file and proposal are opened in diff mode.
---@param review? fileops.Review the one that waits longest, without it
function M.enter(review)
  review = review or M.here() or queue.waiting()[1]
  if not review then return messages.info('no review is waiting') end
  if review.kind == 'command' then return command.open(review) end
  local is_here = text.in_buffer(vim.api.nvim_get_current_buf()) == review
  if not is_here and text.is_complete(review) and text.show(review) then
    local is_visible = text.is_visible(review) or buffers.open(review.params.file_path)
    if is_visible and text.enter(review) then return end
  end
  proposal().open(review)
end

--- Go from a decided review to the next that waits.
function M.go_on()
  if #queue.waiting() > 0 then M.enter(queue.waiting()[1]) end
end

---@param accepts boolean
---@param review fileops.Review
---@param reason? string
local function decide_one(accepts, review, reason)
  if not accepts then return queue.reject(review, reason) end
  if proposal().accept(review) then return end -- the person has changed it: accept that text
  queue.accept(review)
end

--- The edits that a level means. Commands are looked at one by one.
---@param level 'agent'|'all'
---@param here fileops.Review?
---@return fileops.Review[]
local function edits_of(level, here)
  return vim.tbl_filter(function(review)
    local is_meant = level == 'all' or (here ~= nil and review.session_id == here.session_id)
    return review.kind == 'edit' and is_meant
  end, queue.waiting())
end

M.LEVELS = { 'change', 'file', 'agent', 'all' }

--- Accept or reject: the change under the cursor or those in a range, the file or command on the screen, all edits of
--- its agent, or all that wait. What was not looked at is shown instead.
---@param accepts boolean
---@param level 'change'|'file'|'agent'|'all'
---@param reason? string for the agent
---@param range? { first: integer, last: integer }
function M.decide(accepts, level, reason, range)
  local here = M.here()
  if #queue.waiting() == 0 then return messages.info('no review is waiting') end
  if level == 'all' or (level == 'agent' and here) then
    local edits = edits_of(level, here)
    if #edits == 0 then return messages.info('no edit is waiting') end
    for _, review in ipairs(edits) do
      if accepts then
        queue.accept(review)
      else
        require('fileops.review.listed').reject_decided(review, reason)
        queue.reject(review, reason)
      end
    end
    return
  end
  if not here then
    M.enter()
    return messages.info('look at it first, then decide')
  end
  if level == 'change' and text.in_buffer(vim.api.nvim_get_current_buf()) then
    local options = range or {} ---@type table
    options.reason = reason
    return text.decide(accepts, options)
  end
  decide_one(accepts, here, reason)
end

--- Accept what is on the screen, and ask no more in its session, or about this very command.
function M.accept_always()
  local here = M.here()
  if here then return queue.always(here) end
  if #queue.waiting() == 0 then return messages.info('no review is waiting') end
  M.enter()
  messages.info('look at it first, then decide')
end

---@param review fileops.Review
---@return boolean whether the person sees it somewhere
local function is_seen(review) return text.is_visible(review) or M.here() == review end

---@param review fileops.Review
---@param words string such as "60 s left"
function M.is_about_to_end(review, words)
  if is_seen(review) then return end
  messages.info(('%s: %s to decide  (:Fileops review)'):format(M.summary(review), words))
end

--- Its content has changed, because the file changed.
---@param review fileops.Review
function M.changed(review)
  text.show(review)
  if not is_seen(review) then messages.info(M.summary(review) .. ': its review has changed') end
end

---@param review fileops.Review
function M.arrived(review)
  require('fileops.review.countdown').watch()
  require('fileops.ui.notice').waiting()
  local is_in_text = text.show(review) and text.is_visible(review)
  if review.params.previous then return end -- a message has said why it is asked again
  local how = is_in_text and config.get().keys.next
  announce(('%s  (%s)'):format(M.summary(review), how and how .. ' goes there' or ':Fileops review'))
end

--- The review no longer waits here.
---@param review fileops.Review
---@param why? string if it was not decided here
function M.gone(review, why)
  text.hide(review)
  if review.kind == 'command' then command.close(review, why) end
end

return M
