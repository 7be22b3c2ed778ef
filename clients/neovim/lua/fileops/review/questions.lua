-- Questions that the daemon asks by a request, and that wait here for an answer: may this shell command be run? If
-- Neovim exits without an answer, it is rejected.
local queue = require('fileops.review.queue')

local M = {}

local REQUEST_CANCELLED = -32800

-- What a decision is called in the answer to `fileops/confirmCommand`.
local outcomes = { accept = 'proceed_once', accept_always = 'proceed_always', reject = 'cancel' }

---@return fileops.Review[]
local function waiting()
  return vim.tbl_filter(function(review) return review.kind == 'command' end, queue.waiting())
end

---@param review fileops.Review
local function finish(review, how, why)
  queue.remove(review, why)
  queue.ended(review, how)
end

--- May this command be run? `answer` is called once.
---@param params fileops.wire.ConfirmCommandParams
---@param from fileops.Asked
---@param answer fun(value: fileops.wire.ConfirmEditResult?, problem: table?)
---@return fileops.Review
function M.ask_command(params, from, answer)
  ---@type fileops.Review
  local review = {
    id = queue.next_id(),
    kind = 'command',
    client_id = from.client_id,
    request_id = from.request_id,
    session_id = params.session_id,
    params = params,
    change_ids = {},
    rejected = {},
    accepted = {},
    answer = answer,
    settle = function() end,
  }
  review.settle = function(decision)
    answer({ outcome = outcomes[decision.outcome] })
    finish(review, decision.outcome)
  end
  queue.add(review)
  return review
end

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

--- The daemon withdrew a request. If the transport hides ids, only a single waiting question can be meant. A shared
--- daemon does not say whether the agent gave up or another editor decided.
---@param request_id integer|string
---@param client_id integer
function M.cancelled(request_id, client_id)
  local is_shared = require('fileops.client.process').state.shared ~= nil
  local why = is_shared and 'the agent took it back, or another editor decided' or 'the agent took it back'
  local unknown = {} ---@type fileops.Review[]
  for _, review in ipairs(waiting()) do
    if review.client_id == client_id then
      if review.request_id == request_id then
        require('fileops.ui.messages').info(('command: %s; nothing was run here'):format(why))
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
