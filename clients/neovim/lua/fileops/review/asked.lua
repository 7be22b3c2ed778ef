-- Questions that the daemon asks by a request and that wait here for the answer: a shell command, and an edit if the
-- daemon is older than the list of reviews. What is not answered when Neovim leaves is rejected: an older daemon would
-- write an edit without a decision.
local queue = require('fileops.review.queue')

local M = {}

local REQUEST_CANCELLED = -32800

---@return fileops.Review[]
local function waiting()
  return vim.tbl_filter(function(review) return review.review_id == nil end, queue.waiting())
end

---@param review fileops.Review
local function finish(review, how, why)
  require('fileops.review.proposal').close(review, why)
  queue.remove(review, why)
  queue.ended(review, how)
end

-- What a decision is called in the answers to `fileops/confirmEdit` and `fileops/confirmCommand`.
local outcomes = {
  accept = 'proceed_once',
  accept_always = 'proceed_always',
  modify = 'modify',
  reject = 'cancel',
}

---@param decision fileops.Decision
---@return fileops.wire.ConfirmEditResult
local function answer_of(decision)
  -- Parts of an edit cannot be accepted in such an answer: it rejects all.
  if decision.change_ids then return { outcome = 'cancel' } end
  return { outcome = outcomes[decision.outcome], text = decision.text }
end

---@param kind 'edit'|'command'
---@param params fileops.wire.ConfirmEditParams|fileops.wire.ConfirmCommandParams
---@param from fileops.Asked
---@param answer fun(value: fileops.wire.ConfirmEditResult?, problem: table?)
---@return fileops.Review
local function enqueue(kind, params, from, answer)
  ---@type fileops.Review
  local review = {
    id = queue.next_id(),
    kind = kind,
    client_id = from.client_id,
    request_id = from.request_id,
    session_id = params.session_id,
    params = params,
    hunks = params.hunks or {},
    change_ids = vim.tbl_map(function(hunk) return hunk.id end, params.hunks or {}),
    rejected = {},
    accepted = {},
    answer = answer,
    settle = function() end,
  }
  review.settle = function(decision)
    answer(answer_of(decision))
    finish(review, decision.outcome)
  end
  queue.add(review)
  return review
end

--- May this edit be written? `answer` is called once.
---@param params fileops.wire.ConfirmEditParams
---@param from fileops.Asked
---@param answer fun(value: fileops.wire.ConfirmEditResult?, problem: table?)
---@return fileops.Review
function M.ask(params, from, answer) return enqueue('edit', params, from, answer) end

--- May this command be run? `answer` is called once.
---@param params fileops.wire.ConfirmCommandParams
---@param from fileops.Asked
---@param answer fun(value: fileops.wire.ConfirmEditResult?, problem: table?)
---@return fileops.Review
function M.ask_command(params, from, answer) return enqueue('command', params, from, answer) end

function M.reject_all()
  for _, review in ipairs(waiting()) do
    queue.reject(review)
  end
end

---@param review fileops.Review
---@param why string
local function withdraw(review, why)
  review.answer(nil, { code = REQUEST_CANCELLED, message = why })
  finish(review, 'withdrawn', why)
end

---@param review fileops.Review
---@return string
local function what(review)
  if review.kind == 'command' then return 'its command' end
  return 'its edit of ' .. vim.fs.basename(review.params.file_path)
end

--- The daemon took a request back. Where the transport hides ids, only a single waiting question can be meant. With a
--- shared daemon it does not say whether the agent gave up or another editor decided.
---@param request_id integer|string
---@param client_id integer
function M.cancelled(request_id, client_id)
  local is_shared = require('fileops.client.process').state.shared ~= nil
  local why = is_shared and 'the agent took it back, or another editor decided' or 'the agent took it back'
  local unknown = {}
  for _, review in ipairs(waiting()) do
    if review.client_id == client_id then
      if review.request_id == request_id then
        local sentence = is_shared and 'decided elsewhere, or withdrawn: ' or 'the agent withdrew '
        require('fileops.ui.messages').info(sentence .. what(review))
        return withdraw(review, why)
      end
      if review.request_id == nil then table.insert(unknown, review) end
    end
  end
  if #unknown == 1 then withdraw(unknown[1], why) end
end

---@param why string
function M.withdraw_all(why)
  for _, review in ipairs(waiting()) do
    withdraw(review, why)
  end
end

vim.api.nvim_create_autocmd('VimLeavePre', {
  group = vim.api.nvim_create_augroup('fileops.review', {}),
  callback = M.reject_all,
})

return M
