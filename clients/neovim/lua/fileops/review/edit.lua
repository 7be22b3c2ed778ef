-- A proposed edit that waits for a person, as a pane shows it: its hunks with the verdicts on them. Plain functions;
-- the queue is `queue`'s business and the pane `view`'s.
local buffers = require('fileops.buffers')
local config = require('fileops.config')
local hunks = require('fileops.ui.hunks')
local sessions = require('fileops.sessions')
local winbar = require('fileops.ui.winbar')

local M = {}

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
  local proposer = ('%%#FileopsMuted#· %s%%*'):format(winbar.escape(sessions.proposer(params)))
  if require('fileops.review.queue').change_since(review) then
    notes[#notes + 1] = '%#FileopsStale#· changed since%*'
  end
  local function title(...)
    return ('%%#FileopsTitle# Review%s%%* %s'):format(count, table.concat({ ... }, ' '))
  end
  local stats, rest = hunks.stats(params.hunks), table.concat(notes, ' ')
  return {
    title(winbar.subject(params.file_path, stats), proposer, rest),
    title(winbar.counted(name, stats), proposer, rest),
    title(winbar.counted(name, stats), rest),
    title(winbar.escape(name)),
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
    { keys.toggle_hunk, 'hunk' },
    { keys.edit, 'edit' },
    { keys.always, 'always' },
    { keys.layout, 'layout' },
  }
end

--- What a pane needs to show it, the layout left to the person.
---@param review fileops.Review
---@param count string such as " 1/2"
---@return table fields of a `fileops.PaneSpec`
function M.spec(review, count)
  local params = review.params
  local is_stale = require('fileops.review.queue').stale_reason(review) ~= nil
  return {
    name = ('review/%d/%s'):format(review.id, vim.fs.basename(params.file_path)),
    page = false,
    file_path = params.file_path,
    hunks = params.hunks,
    verdicts = {
      rejected = review.rejected,
      is_stale = is_stale,
      note = params.rebased and sessions.rebased(params.rebased),
    },
    titles = titles(review, count, is_stale),
    hints = hints(is_stale),
    n_needed = is_stale and 2 or 3,
    empty = 'an empty file is created',
  }
end

---@param params fileops.wire.ConfirmEditParams
---@return string such as "+3 −1"
local function size(params) return hunks.summary(hunks.stats(params.hunks)) end

--- In one line, for messages.
---@param params fileops.wire.ConfirmEditParams
---@return string
function M.summary(params) return ('%s %s'):format(vim.fs.basename(params.file_path), size(params)) end

--- In one line, for a list to choose from.
---@param params fileops.wire.ConfirmEditParams
---@return string
function M.item(params) return ('%s  %s'):format(buffers.short(params.file_path), size(params)) end

M.help = {
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

return M
