-- The daemon's list of reviews, as this Neovim shows it. The daemon owns them: they appear and disappear by
-- `fileops/didChangeReviews`, and are decided by `fileops/decideReview` alone. A review that was decided here is kept
-- until the daemon has reported its outcome.
local changes = require('fileops.review.changes')
local change_set = require('fileops.review.set')
local queue = require('fileops.review.queue')
local protocol = require('fileops.client.protocol')
local request = require('fileops.ui.late').request

local M = {}

local known = {} ---@type table<string, fileops.Review> by review_id; also those whose daemon is out of reach
local sets = {} ---@type table<string, fileops.ReviewSet> by the daemon's review_id
local ended_since ---@type table<string, boolean>? while the whole list is on its way: what was closed since

---@return table messages
local function messages() return require('fileops.ui.messages') end

---@param review fileops.Review
---@return string
local function name_of(review) return vim.fs.basename(review.params.file_path) end

local outcomes = {
  reject = 'rejected',
  accept = 'accepted',
  accept_always = 'accepted',
  modify = 'accepted with changes',
}

local states = {
  withdrawn = 'the agent took it back',
  timed_out = 'no decision in time',
  undecided = 'no decision',
  waiting = 'it waits for another editor',
}

--- What became of a review that was not decided here.
---@param closed { state?: string, outcome?: string, by?: fileops.wire.DecidedBy }
---@return string such as "accepted in VS Code"
local function fate(closed)
  if closed.state ~= 'decided' then return states[closed.state] or 'it no longer waits' end
  local client = closed.by and closed.by.client
  local place = client == 'Neovim' and 'another Neovim' or client or 'another editor'
  return ('%s in %s'):format(outcomes[closed.outcome] or 'decided', place)
end

local reasons = {
  deleted = 'its file was deleted',
  created = 'its file exists now',
  another_file = 'its path leads to another file',
}

--- Why a decided review must be decided again.
---@param previous fileops.wire.PreviousDecision
---@return string such as "lines 3–4 changed too"
local function why_again(previous)
  local first = previous.ranges[1]
  if not first then return reasons[previous.reason] or 'its file changed too' end
  local more = #previous.ranges > 1 and (' and %d more'):format(#previous.ranges - 1) or ''
  local lines = first.start_line == first.end_line and ('line %d'):format(first.start_line)
    or ('lines %d–%d'):format(first.start_line, first.end_line)
  return ('%s%s changed too'):format(lines, more)
end

---@param review fileops.Review
---@param how string
---@param why? string if it was not decided here
local function finish(review, how, why)
  known[review.review_id] = nil
  review.is_deciding = nil
  if queue.is_waiting(review) then queue.remove(review, why) end
  require('fileops.review.proposal').close(review, why)
  queue.ended(review, how)
end

--- The decision did not count: the review waits again.
---@param review fileops.Review
local function ask_on(review)
  review.is_deciding = nil
  queue.take_accepted(review.session_id, review.params.file_path)
  if known[review.review_id] == review and not queue.is_waiting(review) then queue.add(review) end
  require('fileops.review.proposal').asked_on(review)
end

local silent = { info = function() end, warn = function() end }

---@param review fileops.Review
---@param err fileops.RequestError?
---@param result fileops.wire.DecideReviewResult?
---@param is_told? boolean the outcome has been reported, with another file of the same change set
local function decided(review, err, result, is_told)
  local say = is_told and silent or messages()
  if known[review.review_id] ~= review then return end -- it was closed before, and that has been reported
  local name = name_of(review)
  if err or not result then
    local daemon = require('fileops.client.process')
    local client = daemon.client()
    if not client or client.rpc.is_closing() or daemon.state.stopping then
      review.is_lost, review.is_deciding = true, nil -- the next list says whether it counted
    else
      ask_on(review)
    end
    return say.warn(('%s: %s'):format(name, err and err.message or 'no answer'))
  end
  if result.reason == 'reopened' or result.reason == 'review_changed' then
    ask_on(review)
    local previous = review.params.previous
    local why = previous and why_again(previous) or 'its file changed too'
    return say.warn(('%s is not decided: %s; check it again'):format(name, why))
  end
  if result.reason then -- already_decided, unknown_review
    local why = fate(result)
    finish(review, result.outcome or result.state or 'withdrawn', why)
    return say.info(('%s: %s'):format(name, why))
  end
  if result.error and review.set then
    say.warn(('no file of the change set was written: %s'):format(result.error.message))
  elseif result.error then
    queue.was_refused(review.session_id, review.params.file_path, result.error.message)
  elseif result.state ~= 'decided' then
    say.info(('%s: %s'):format(name, fate(result)))
  end
  local is_kept = result.error ~= nil or result.state ~= 'decided' -- the typed text was not written
  finish(
    review,
    result.state == 'decided' and result.outcome or result.state,
    is_kept and 'nothing was written' or nil
  )
end

---@param set fileops.ReviewSet
---@return fileops.Review[] of its files
local function reviews_of(set)
  local reviews = {}
  for _, part in ipairs(change_set.parts(set.params)) do
    table.insert(reviews, known[part.review_id])
  end
  return reviews
end

--- All files are decided, and so is the set.
---@param set fileops.ReviewSet
local function hand_in(set)
  set.is_sent = true
  local decision = change_set.decision(set.decided)
  request(
    protocol.methods.decide_review,
    {
      review_id = set.params.review_id,
      revision = decision.revision or set.params.revision,
      outcome = decision.outcome,
      files = decision.files,
      reason = decision.reason,
    },
    'your decision',
    function(err, result)
      set.is_sent = nil
      if err or not result or result.reason == 'reopened' or result.reason == 'review_changed' then
        set.decided = {}
      else
        sets[set.params.review_id] = nil
      end
      for i, review in ipairs(reviews_of(set)) do
        decided(review, err, result, i > 1)
      end
    end
  )
end

---@param review fileops.Review
---@param decision fileops.Decision
local function decide(review, decision)
  review.is_deciding, review.decided = true, decision
  local set = review.set
  if set then
    set.decided[review.params.file_path] = decision
    queue.remove(review)
    if vim.tbl_count(set.decided) == #set.params.files then hand_in(set) end
    return
  end
  queue.remove(review)
  request(protocol.methods.decide_review, {
    review_id = review.review_id,
    revision = decision.revision or review.params.revision,
    outcome = decision.outcome,
    change_ids = decision.change_ids,
    text = decision.text,
    reason = decision.reason,
  }, 'your decision', function(err, result) decided(review, err, result) end)
end

--- The text that the person had decided on, if the proposal may lack some of it: they typed it, or decided in a place
--- that is not known here.
---@param review fileops.Review
---@param previous fileops.wire.PreviousDecision?
---@return string?
local function typed_text(review, previous)
  if not previous then return review.typed end
  if previous.change_ids then return nil end
  local own = review.decided
  if own and own.outcome ~= 'modify' then return nil end
  return own and own.text or previous.text
end

---@param review fileops.Review
---@param params fileops.wire.Review
local function fill(review, params)
  review.params = params
  review.session_id = params.session.session_id
  review.change_ids = vim.tbl_map(function(change) return change.id end, params.changes)
  review.typed = typed_text(review, params.previous)
  review.note = params.previous and 'decided before; ' .. why_again(params.previous) or nil
end

---@param params fileops.wire.Review
---@param set fileops.ReviewSet?
---@return fileops.Review
local function new(params, set)
  ---@type fileops.Review
  local review = {
    id = queue.next_id(),
    kind = 'edit',
    review_id = params.review_id,
    session_id = params.session.session_id,
    params = params,
    change_ids = {},
    rejected = {},
    accepted = {},
    set = set,
    settle = function() end,
  }
  review.settle = function(decision) decide(review, decision) end
  fill(review, params)
  return review
end

--- The review as the person sees it: of a notebook, with the texts of its cells instead of JSON.
---@param params fileops.wire.Review
---@return fileops.wire.Review
local function shown(params)
  local cells = params.by_cells
  if not cells then return params end
  local previous = params.previous
  return vim.tbl_extend('force', params, {
    original_text = cells.original_text,
    proposed_text = cells.proposed_text,
    changes = cells.changes,
    previous = previous and vim.tbl_extend('force', previous, { text = cells.previous_text }),
  })
end

---@param params fileops.wire.Review of one edit, or of one file of a change set
---@param set? fileops.ReviewSet
local function open(params, set)
  params = shown(params)
  local review = known[params.review_id]
  if not review then
    review = new(params, set)
    known[params.review_id] = review
    return queue.add(review)
  end
  local before = review.params
  if params.revision < before.revision then return end -- from a list that was made before the review changed
  local is_new, was_lost = params.revision > before.revision, review.is_lost
  review.is_lost = nil
  if is_new then
    review.rejected = changes.still_decided(before, params, review.rejected)
    review.accepted = changes.still_decided(before, params, review.accepted)
    fill(review, params)
    review.decided, review.is_deciding, review.text_offered = nil, nil, nil
  elseif review.is_deciding then
    return -- it is being sent
  end
  if queue.is_waiting(review) then
    require('fileops.review.view').changed(review)
  else
    queue.add(review)
  end
  if is_new or was_lost then require('fileops.review.proposal').asked_on(review) end
end

--- Show each file of a change set as a separate edit.
---@param params fileops.wire.Review
local function open_set(params)
  local set = sets[params.review_id]
  if set and params.revision < set.params.revision then return end
  if not set then
    set = { params = params, decided = {} }
    sets[params.review_id] = set
  end
  local before = reviews_of(set)
  if params.revision > set.params.revision then set.decided = {} end
  set.params = params
  local present = {} ---@type table<string, boolean>
  for _, part in ipairs(change_set.parts(params)) do
    present[part.review_id] = true
    open(part, set)
  end
  for _, review in ipairs(before) do
    if not present[review.review_id] then finish(review, 'withdrawn', 'it no longer waits') end
  end
end

---@param params fileops.wire.Review
local function open_any(params) return (params.files and open_set or open)(params) end

---@param closed fileops.wire.ClosedReview
local function close(closed)
  if ended_since then ended_since[closed.review_id] = true end
  local set = sets[closed.review_id]
  if set then
    if set.is_sent then return end -- the answer reports the outcome
    sets[closed.review_id] = nil
    local why = fate(closed)
    for i, review in ipairs(reviews_of(set)) do
      if i == 1 then messages().info(('%s: %s'):format(name_of(review), why)) end
      finish(review, closed.outcome or closed.state, why)
    end
    return
  end
  local review = known[closed.review_id]
  if not review or review.is_deciding then return end -- the answer reports the outcome
  local why = fate(closed)
  messages().info(('%s: %s'):format(name_of(review), why))
  finish(review, closed.outcome or closed.state, why)
end

--- Handle what the daemon reports about its list.
---@param params fileops.wire.DidChangeReviewsParams
function M.changed(params)
  require('fileops.review.view').together(function()
    for _, closed in ipairs(params.closed) do
      close(closed)
    end
    for _, review in ipairs(params.opened) do
      open_any(review)
    end
  end)
end

local function end_lost()
  for _, review in ipairs(vim.tbl_values(known)) do
    if review.is_lost then finish(review, 'withdrawn', 'it no longer waits') end
  end
end

--- Ask a newly attached daemon for its list. A review that was shown before and is not listed was decided or withdrawn.
---@param client vim.lsp.Client
---@param requests string[] that the daemon serves
function M.attached(client, requests)
  if not vim.list_contains(requests, protocol.methods.reviews) then return end_lost() end
  ended_since = {}
  require('fileops.client.process').call(
    client,
    'request',
    protocol.methods.reviews,
    vim.empty_dict(),
    function(err, result)
      local ended = ended_since or {}
      ended_since = nil
      if err then return require('fileops.log').note('no list of reviews: ' .. err.message) end
      require('fileops.review.view').together(function()
        for _, review in ipairs(result.reviews) do
          if not ended[review.review_id] then open_any(review) end
        end
        end_lost()
      end)
    end
  )
end

--- The daemon cannot be reached. What it asks waits there, if it still runs, and is shown again after reattaching.
---@param why string
function M.lost(why)
  ended_since = nil
  for _, review in pairs(known) do
    review.is_lost, review.is_deciding = true, nil
    if queue.is_waiting(review) then queue.remove(review, why) end
    require('fileops.review.proposal').close(review, why)
  end
  for _, set in pairs(sets) do
    set.decided, set.is_sent = {}, nil
  end
end

--- Files of a change set that were already decided and wait for the others are rejected, too.
---@param review fileops.Review of a file
---@param reason? string
function M.reject_decided(review, reason)
  for path in pairs(review.set and review.set.decided or {}) do
    review.set.decided[path] = { outcome = 'reject', reason = reason }
  end
end

return M
