-- A proposed edit that waits for a person, as a pane shows it: its changes with the verdicts on them. Plain functions;
-- the queue is `queue`'s business and the pane `view`'s.
local buffers = require('fileops.buffers')
local change_set = require('fileops.review.set')
local changes = require('fileops.review.changes')
local config = require('fileops.config')
local countdown = require('fileops.review.countdown')
local hunks = require('fileops.ui.hunks')
local sessions = require('fileops.sessions')
local winbar = require('fileops.ui.winbar')

local M = {}

local NO_CHANGE = 'the file changed, and the edit cannot be made any more: edit the text yourself, or reject'

---@param review fileops.Review
---@return fileops.wire.Stats
local function stats_of(review)
  return review.review_id and changes.stats(review.params) or hunks.stats(review.hunks)
end

---@param review fileops.Review
---@param count string such as " 1/2"
---@param is_stale boolean
---@return string[] winbar expressions, the longest first
local function titles(review, count, is_stale)
  local params = review.params
  local name = vim.fs.basename(params.file_path)
  if is_stale then
    local form = '%%#FileopsTitle# Review%s%%* %s %%#FileopsStale# changed: accepting will be refused %%*'
    return { form:format(count, winbar.escape(name)), form:format(count, '') }
  end
  local notes = {}
  if params.operation == 'create' then notes[1] = '· new file' end
  local operation = change_set.operation(params)
  if operation then notes[1] = '· ' .. winbar.escape(operation) end
  if review.set then
    local n_left = #review.set.params.files - vim.tbl_count(review.set.decided)
    notes[#notes + 1] = ('· %d of %d files to decide'):format(n_left, #review.set.params.files)
  end
  local proposer = ('%%#FileopsMuted#· %s%%*'):format(winbar.escape(sessions.proposer(params)))
  if require('fileops.review.queue').change_since(review) then
    notes[#notes + 1] = '%#FileopsStale#· changed since%*'
  end
  local function title(...)
    return ('%%#FileopsTitle# Review%s%%* %s'):format(count, table.concat({ ... }, ' '))
  end
  local left = countdown.words(review)
  if left then table.insert(notes, 1, ('%%#FileopsStale#· %s%%*'):format(left)) end
  local stats, rest = stats_of(review), table.concat(notes, ' ')
  return {
    title(winbar.subject(params.file_path, stats), proposer, rest),
    title(winbar.counted(name, stats), proposer, rest),
    title(winbar.counted(name, stats), rest),
    title(left and ('%%#FileopsStale#%s%%*'):format(left) or winbar.escape(name)),
    title(),
  }
end

---@param is_stale boolean
---@return fileops.Hint[]
local function hints(is_stale)
  local keys = config.get().keys
  if is_stale then
    return { { keys.accept, 'agent reads again' }, { keys.reject, 'reject' }, { keys.help, 'help' } }
  end
  return {
    { keys.help, 'help' },
    { keys.accept, 'accept' },
    { keys.reject, 'reject' },
    { keys.toggle_change, 'one' },
    { keys.edit, 'edit' },
    { keys.always, 'always' },
    { keys.layout, 'layout' },
  }
end

--- What is said where there is no change to show.
---@param review fileops.Review
---@return string
local function empty_words(review)
  local operation = change_set.operation(review.params)
  if operation then return ('%s; its text stays'):format(operation) end
  if review.set and review.params.operation == 'create' then return 'an empty file is created' end
  return #review.change_ids == 0 and review.review_id and NO_CHANGE or 'an empty file is created'
end

--- What a pane needs to show it, the layout left to the person.
---@param review fileops.Review
---@param count string such as " 1/2"
---@return table fields of a `fileops.PaneSpec`
function M.spec(review, count)
  local params = review.params
  local is_stale = require('fileops.review.queue').stale_reason(review) ~= nil
  local notes = { review.note }
  if params.rebased then notes[#notes + 1] = sessions.rebased(params.rebased) end
  return {
    name = ('review/%d/%s'):format(review.id, vim.fs.basename(params.file_path)),
    page = false,
    file_path = params.file_path,
    hunks = review.hunks,
    verdicts = {
      rejected = review.rejected,
      is_stale = is_stale,
      note = #notes > 0 and table.concat(notes, ' · ') or nil,
    },
    titles = titles(review, count, is_stale),
    hints = hints(is_stale),
    n_needed = is_stale and 2 or 3,
    empty = empty_words(review),
  }
end

---@param review fileops.Review
---@return string such as "+3 −1"
local function size(review) return hunks.summary(stats_of(review)) end

--- In one line, for messages.
---@param review fileops.Review
---@return string
function M.summary(review) return ('%s %s'):format(vim.fs.basename(review.params.file_path), size(review)) end

--- In one line, for a list to choose from.
---@param review fileops.Review
---@return string
function M.item(review) return ('%s  %s'):format(buffers.short(review.params.file_path), size(review)) end

M.help = {
  { 'accept', 'accept (the changes that are not rejected)' },
  { 'always', 'accept, and ask no more in this session' },
  { 'reject', 'reject the whole edit' },
  { 'reject_because', 'reject it, and say why' },
  { 'accept_all', 'accept all files of the change set', is_of_set = true },
  { 'reject_all', 'reject all files of the change set', is_of_set = true },
  { 'toggle_change', 'reject this change, or take that back' },
  { 'edit', 'edit the proposed text yourself' },
  { 'layout', 'inline or side by side' },
  { 'next_change', 'next change' },
  { 'previous_change', 'previous change' },
  { 'next_review', 'next waiting review' },
  { 'previous_review', 'previous waiting review' },
  { 'list', 'list the waiting reviews' },
  { 'close', 'close the pane; the review keeps waiting' },
}

return M
