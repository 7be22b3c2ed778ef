-- What waits for a person: proposed edits and shell commands in one queue, the verdict on each change, and whether an
-- accepted edit could be written. `listed` (the daemon's list) and `questions` (requests that wait for an answer) know
-- where questions come from and where decisions go; `view` knows how they look.
local events = require('fileops.client.events')
local buffers = require('fileops.buffers')

local M = {}

local queue = {} ---@type fileops.Review[]

local undelivered = {} ---@type table<string, fileops.Accepted> by session and real path
local n_reviews = 0

---@return fileops.Review[]
function M.waiting() return queue end

---@param id integer
---@return fileops.Review?
function M.get(id)
  return vim.iter(queue):find(function(review) return review.id == id end)
end

---@return integer of a new review
function M.next_id()
  n_reviews = n_reviews + 1
  return n_reviews
end

---@param review fileops.Review
---@return boolean
function M.is_waiting(review) return vim.list_contains(queue, review) end

--- A person's reasons in one line, in the order given; equal reasons appear once.
---@param reasons string[]
---@return string? nil if there is none
function M.in_one(reasons)
  local said = {} ---@type string[]
  for _, reason in ipairs(reasons) do
    if vim.trim(reason) ~= '' and not vim.list_contains(said, reason) then said[#said + 1] = reason end
  end
  return #said > 0 and table.concat(said, '; ') or nil
end

--- Why changes are rejected, in the order of the file.
---@param review fileops.Review
---@param of_all? string reason for rejecting the rest
---@return string?
local function reason_of(review, of_all)
  local reasons = {} ---@type string[]
  for _, id in ipairs(review.reasons and review.change_ids or {}) do
    reasons[#reasons + 1] = review.reasons[id]
  end
  reasons[#reasons + 1] = of_all
  return M.in_one(reasons)
end

--- The state after the verdicts on the changes.
---@param review fileops.Review
---@return fileops.Decision
function M.outcome(review)
  if not next(review.rejected) then return { outcome = 'accept' } end
  local kept = vim.tbl_filter(function(id) return not review.rejected[id] end, review.change_ids)
  if #kept == 0 then return { outcome = 'reject', reason = reason_of(review) } end
  if #kept == #review.change_ids then return { outcome = 'accept' } end
  return { outcome = 'accept', change_ids = kept, reason = reason_of(review) }
end

--- For listeners.
---@param review fileops.Review
---@return table
local function about(review)
  local params = review.params
  return {
    id = review.id,
    kind = review.kind,
    session_id = review.session_id,
    file_path = params.file_path,
    command = params.command,
  }
end

---@param session_id string
---@param path string
---@return string
local function key_of(session_id, path) return session_id .. '\n' .. buffers.real(path) end

--- Show a review, and let it be decided. Reviews are in the order in which they were asked.
---@param review fileops.Review
function M.add(review)
  if review.kind == 'edit' then undelivered[key_of(review.session_id, review.params.file_path)] = nil end
  local at = #queue + 1
  while at > 1 and queue[at - 1].id > review.id do
    at = at - 1
  end
  table.insert(queue, at, review)
  require('fileops.review.view').arrived(review)
  events.emit('review', about(review), 'FileopsReview')
end

--- Stop showing it, without deciding about it.
---@param review fileops.Review
---@param why? string if it was not the person here who decided
function M.remove(review, why)
  for i, other in ipairs(queue) do
    if other == review then table.remove(queue, i) end
  end
  require('fileops.review.view').gone(review, why)
end

--- It is decided or gone for good.
---@param review fileops.Review
---@param how string an outcome, or what else became of it
function M.ended(review, how)
  events.emit('reviewed', vim.tbl_extend('force', about(review), { outcome = how }), 'FileopsReviewed')
end

---@param review fileops.Review
---@param decision fileops.Decision
local function settle(review, decision)
  if not M.is_waiting(review) then return end
  if review.kind == 'edit' and not review.set and decision.outcome ~= 'reject' then
    undelivered[key_of(review.session_id, review.params.file_path)] = { is_refused = false }
  end
  review.settle(decision)
end

--- A text of the person's that accepting would not write; it is shown to them first.
---@param review fileops.Review
---@return boolean shown
local function offers_text(review)
  return review.kind == 'edit' and require('fileops.review.proposal').offer(review)
end

--- Accept what was not rejected.
---@param review fileops.Review
function M.accept(review)
  if not offers_text(review) then settle(review, M.outcome(review)) end
end

--- Accept, and ask no more in that session (for a command: about the same command).
---@param review fileops.Review
function M.always(review)
  if next(review.rejected) then
    return require('fileops.ui.messages').info(
      'some changes are rejected: accept the others, or take that back first'
    )
  end
  if not offers_text(review) then settle(review, { outcome = 'accept_always' }) end
end

---@param review fileops.Review
---@param reason? string for the model, after those of single changes
function M.reject(review, reason) settle(review, { outcome = 'reject', reason = reason_of(review, reason) }) end

--- Write this instead.
---@param review fileops.Review
---@param text string with LF line ends
---@param revision? integer of the review that the text was made of
function M.modify(review, text, revision)
  settle(review, { outcome = 'modify', text = text, revision = revision })
end

--- Nothing of an edit was written. A person who had accepted it believes otherwise, so tell them once.
---@param session_id string
---@param path string
---@param why string
function M.was_refused(session_id, path, why)
  local edit = undelivered[key_of(session_id, path)]
  if not edit or edit.is_refused then return end
  edit.is_refused = true
  require('fileops.ui.messages').warn(('%s was not written: %s'):format(vim.fs.basename(path), why))
end

--- The outcome of an edit is known. Returns whether the person had accepted it in a review.
---@param session_id string
---@param path string
---@return boolean
function M.take_accepted(session_id, path)
  local key = key_of(session_id, path)
  local was_accepted = undelivered[key] ~= nil
  undelivered[key] = nil
  return was_accepted
end

--- Set the verdict on one change; nil takes it back.
---@param review fileops.Review
---@param change_id string
---@param accepts boolean?
---@param reason? string of a rejection
function M.judge(review, change_id, accepts, reason)
  review.accepted[change_id] = accepts == true or nil
  review.rejected[change_id] = accepts == false or nil
  review.reasons = review.reasons or {}
  review.reasons[change_id] = reason
end

--- Whether there is a verdict on each change.
---@param review fileops.Review
---@return boolean
function M.is_judged(review)
  return vim
    .iter(review.change_ids)
    :all(function(id) return review.accepted[id] or review.rejected[id] or false end)
end

return M
