-- What waits for a person: proposed edits and shell commands in one queue, the verdict on each hunk, the answer to the
-- daemon, and whether an edit that was accepted could be written. What it looks like is `view`'s business.
local events = require('fileops.client.events')
local buffers = require('fileops.buffers')

local M = {}

local REQUEST_CANCELLED = -32800

local queue = {} ---@type fileops.Review[]

local undelivered = {} ---@type table<string, fileops.Accepted> by session and real path
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
---@return fileops.wire.ConfirmEditResult
function M.outcome(review)
  if review.kind == 'command' then return { outcome = 'proceed_once' } end
  local kept = {}
  for _, hunk in ipairs(review.params.hunks) do
    if not review.rejected[hunk.id] then kept[#kept + 1] = hunk.id end
  end
  if #kept == #review.params.hunks then return { outcome = 'proceed_once' } end
  if #kept == 0 then return { outcome = 'cancel' } end
  return { outcome = 'modify', hunk_ids = kept }
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

---@param session_id string
---@param path string
---@return string
local function key_of(session_id, path) return session_id .. '\n' .. buffers.real(path) end

---@param review fileops.Review
---@param how string
---@param why? string it was withdrawn
local function leave(review, how, why)
  for i, other in ipairs(queue) do
    if other == review then table.remove(queue, i) end
  end
  require('fileops.review.view').gone(review, why)
  events.emit('reviewed', vim.tbl_extend('force', about(review), { outcome = how }), 'FileopsReviewed')
end

---@param review fileops.Review
---@param answer fileops.wire.ConfirmEditResult
local function settle(review, answer)
  if not vim.tbl_contains(queue, review) then return end
  if review.kind == 'edit' and answer.outcome ~= 'cancel' then
    undelivered[key_of(review.params.session_id, review.params.file_path)] =
      { is_refused = false, original_text = review.params.original_text }
  end
  review.answer(answer)
  leave(review, answer.outcome)
end

---@param kind 'edit'|'command'
---@param params fileops.wire.ConfirmEditParams|fileops.wire.ConfirmCommandParams
---@param from fileops.Asked
---@param answer fun(value: fileops.wire.ConfirmEditResult?, problem: table?)
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
  if kind == 'edit' then undelivered[key_of(params.session_id, params.file_path)] = nil end
  table.insert(queue, review)
  require('fileops.review.view').arrived(review)
  events.emit('review', about(review), 'FileopsReview')
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

--- Accept what is not rejected.
---@param review fileops.Review
function M.accept(review) settle(review, M.outcome(review)) end

--- Accept, and be asked no more in that session (of a command: for the same one).
---@param review fileops.Review
function M.always(review)
  if next(review.rejected) then
    return require('fileops.ui.messages').info(
      'some hunks are rejected: accept the others, or take that back first'
    )
  end
  settle(review, { outcome = 'proceed_always' })
end

---@param review fileops.Review
function M.reject(review) settle(review, { outcome = 'cancel' }) end

--- Write this instead.
---@param review fileops.Review
---@param text string with LF line ends
function M.modify(review, text) settle(review, { outcome = 'modify', text = text }) end

--- How the file of an edit changed since the agent read it. An undo needs no knowledge of the file, and looks at what
--- stands; the daemon tells it from an edit by the title alone.
---@param review fileops.Review
---@return string? such as "modified by typing here"
function M.change_since(review)
  local params = review.params
  if review.kind == 'command' or vim.startswith(params.title, 'Confirm Undo') then return nil end
  return require('fileops.ui.stale').reason(params.file_path, params.session_id)
end

--- Why this edit cannot be written any more: its file changed since the agent read it. Under `freshness = "relevant"`,
--- which an agent outside may have, the daemon looks whether the change matters, and nothing is known before.
---@param review fileops.Review
---@return string? such as "modified by typing here"
function M.stale_reason(review)
  if review.params.session or require('fileops.config').get().server.freshness == 'relevant' then
    return nil
  end
  return M.change_since(review)
end

--- What a session knows of a file went stale or is fresh again: a review of it shows that, and is told of.
---@param path string
---@param session_id string
function M.staleness_changed(path, session_id)
  if #queue == 0 then return end
  local key = key_of(session_id, path)
  for _, review in ipairs(queue) do
    local params = review.params
    if review.kind == 'edit' and key_of(params.session_id, params.file_path) == key then
      require('fileops.review.view').staleness_changed(review)
    end
  end
end

--- Nothing of an edit was written. Where the person had accepted it they believe otherwise, and are told, once.
---@param session_id string
---@param path string
---@param why string
---@return fileops.Accepted? edit if the person had accepted it, and was told now
function M.was_refused(session_id, path, why)
  local edit = undelivered[key_of(session_id, path)]
  if not edit or edit.is_refused then return nil end
  edit.is_refused = true
  require('fileops.ui.messages').warn(('%s was not written: %s'):format(vim.fs.basename(path), why))
  return edit
end

--- The outcome of an edit is there. Returns whether the person had accepted it in a review.
---@param session_id string
---@param path string
---@return boolean
function M.take_accepted(session_id, path)
  local key = key_of(session_id, path)
  local was_accepted = undelivered[key] ~= nil
  undelivered[key] = nil
  return was_accepted
end

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
  leave(review, 'withdrawn', why)
end

---@param review fileops.Review
---@return string
local function what(review)
  if review.kind == 'command' then return 'its command' end
  return 'its edit of ' .. vim.fs.basename(review.params.file_path)
end

--- The daemon took a request back. Where the transport hides ids, only a single waiting review can be meant. With a
--- shared daemon it does not say whether the agent gave up or another editor decided.
---@param request_id integer|string
---@param client_id integer
function M.cancelled(request_id, client_id)
  local is_shared = require('fileops.client.process').state.shared ~= nil
  local why = is_shared and 'the agent took it back, or another editor decided' or 'the agent took it back'
  local unknown = {}
  for _, review in ipairs(vim.list_slice(queue)) do
    if review.client_id == client_id then
      if review.request_id == request_id then
        local sentence = is_shared and 'decided elsewhere, or taken back: ' or 'the agent took back '
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
  for _, review in ipairs(vim.list_slice(queue)) do
    withdraw(review, why)
  end
end

vim.api.nvim_create_autocmd('VimLeavePre', {
  group = vim.api.nvim_create_augroup('fileops.review', {}),
  callback = M.reject_all,
})

return M
