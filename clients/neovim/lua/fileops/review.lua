-- What waits for a person: proposed edits and shell commands in one queue, the verdict on each hunk, and the answer to
-- the daemon. What it looks like is `review_view`'s business.
local events = require('fileops.events')

local M = {}

---@class (exact) fileops.Review
---@field id integer ours, counted from 1
---@field kind 'edit'|'command'
---@field client_id integer
---@field request_id? integer|string the daemon's; nil under a transport that hides it
---@field params fileops.ConfirmEditParams|fileops.ConfirmCommandParams
---@field rejected table<string, boolean> hunk id → true
---@field answer fun(value: fileops.ConfirmEditAnswer?, problem: table?)

---@class (exact) fileops.Asked which request of the daemon's it is
---@field client_id integer
---@field request_id? integer|string

local REQUEST_CANCELLED = -32800

local queue = {} ---@type fileops.Review[]
local n_asked = 0

---@return fileops.Review[]
function M.waiting() return queue end

---@param id integer
---@return fileops.Review?
function M.get(id)
  return vim.iter(queue):find(function(review) return review.id == id end)
end

--- What stands after the verdicts on the hunks.
---@param review fileops.Review
---@return fileops.ConfirmEditAnswer
function M.outcome(review)
  if review.kind == 'command' then return { outcome = 'proceed_once' } end
  local accepted = {}
  for _, hunk in ipairs(review.params.hunks) do
    if not review.rejected[hunk.id] then accepted[#accepted + 1] = hunk.id end
  end
  if #accepted == #review.params.hunks then return { outcome = 'proceed_once' } end
  if #accepted == 0 then return { outcome = 'cancel' } end
  return { outcome = 'modify', hunk_ids = accepted }
end

--- For listeners.
---@param review fileops.Review
---@return table
local function about(review)
  local params = review.params
  return {
    id = review.id,
    kind = review.kind,
    session_id = params.session_id,
    file_path = params.file_path,
    command = params.command,
  }
end

---@param review fileops.Review
---@param how string
local function leave(review, how)
  for i, other in ipairs(queue) do
    if other == review then table.remove(queue, i) end
  end
  require('fileops.review_view').gone(review)
  events.emit('reviewed', vim.tbl_extend('force', about(review), { outcome = how }), 'FileopsReviewed')
end

---@param review fileops.Review
---@param answer fileops.ConfirmEditAnswer
local function settle(review, answer)
  if not vim.tbl_contains(queue, review) then return end
  review.answer(answer)
  leave(review, answer.outcome)
end

---@param kind 'edit'|'command'
---@param params fileops.ConfirmEditParams|fileops.ConfirmCommandParams
---@param from fileops.Asked
---@param answer fun(value: fileops.ConfirmEditAnswer?, problem: table?)
---@return fileops.Review
local function enqueue(kind, params, from, answer)
  n_asked = n_asked + 1
  ---@type fileops.Review
  local review = {
    id = n_asked,
    kind = kind,
    client_id = from.client_id,
    request_id = from.request_id,
    params = params,
    rejected = {},
    answer = answer,
  }
  table.insert(queue, review)
  require('fileops.review_view').arrived(review)
  events.emit('review', about(review), 'FileopsReview')
  return review
end

--- May this edit be written? `answer` is called once.
---@param params fileops.ConfirmEditParams
---@param from fileops.Asked
---@param answer fun(value: fileops.ConfirmEditAnswer?, problem: table?)
---@return fileops.Review
function M.ask(params, from, answer) return enqueue('edit', params, from, answer) end

--- May this command be run? `answer` is called once.
---@param params fileops.ConfirmCommandParams
---@param from fileops.Asked
---@param answer fun(value: fileops.ConfirmEditAnswer?, problem: table?)
---@return fileops.Review
function M.ask_command(params, from, answer) return enqueue('command', params, from, answer) end

--- Accept what is not rejected.
---@param review fileops.Review
function M.accept(review) settle(review, M.outcome(review)) end

--- Accept, and be asked no more in that session (of a command: for the same one).
---@param review fileops.Review
function M.always(review)
  if next(review.rejected) then
    return vim.notify('fileops: some hunks are rejected: accept the others, or take that back first')
  end
  settle(review, { outcome = 'proceed_always' })
end

---@param review fileops.Review
function M.reject(review) settle(review, { outcome = 'cancel' }) end

--- Write this instead.
---@param review fileops.Review
---@param text string with LF line ends
function M.modify(review, text) settle(review, { outcome = 'modify', text = text }) end

---@param review fileops.Review
---@param hunk_id string
function M.toggle(review, hunk_id) review.rejected[hunk_id] = not review.rejected[hunk_id] or nil end

function M.reject_all()
  for _, review in ipairs(vim.list_slice(queue)) do
    M.reject(review)
  end
end

---@param review fileops.Review
---@param why string
local function withdraw(review, why)
  review.answer(nil, { code = REQUEST_CANCELLED, message = why })
  leave(review, 'withdrawn')
end

---@param review fileops.Review
---@return string
local function what(review)
  if review.kind == 'command' then return 'its command' end
  return 'its edit of ' .. vim.fs.basename(review.params.file_path)
end

--- The daemon took a request back. Where the transport hides ids, only a single waiting review can be meant.
---@param request_id integer|string
---@param client_id integer
function M.cancelled(request_id, client_id)
  local unknown = {}
  for _, review in ipairs(vim.list_slice(queue)) do
    if review.client_id == client_id then
      if review.request_id == request_id then
        vim.notify('fileops: the agent took back ' .. what(review))
        return withdraw(review, 'withdrawn by the agent')
      end
      if review.request_id == nil then table.insert(unknown, review) end
    end
  end
  if #unknown == 1 then withdraw(unknown[1], 'withdrawn by the agent') end
end

---@param why string
function M.withdraw_all(why)
  for _, review in ipairs(vim.list_slice(queue)) do
    withdraw(review, why)
  end
end

vim.api.nvim_create_autocmd('VimLeavePre', {
  group = vim.api.nvim_create_augroup('fileops.review', {}),
  callback = M.reject_all,
})

return M
