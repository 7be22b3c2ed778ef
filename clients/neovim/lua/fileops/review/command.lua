-- A shell command that waits for a person, as a pane shows it: all of it, where it would run, and what the agent says
-- that it is for. Plain functions; the queue is `queue`'s business and the pane `view`'s.
local buffers = require('fileops.buffers')
local config = require('fileops.config')
local sessions = require('fileops.sessions')
local winbar = require('fileops.ui.winbar')

local M = {}

---@param text string
---@return string[] lines that a buffer can hold
local function lines_of(text) return vim.split((text:gsub('%z', '?')), '\n', { plain = true }) end

--- Labels are virtual, so that what is yanked is the command.
---@param params fileops.wire.ConfirmCommandParams
---@return fileops.Page
function M.page(params)
  local page = { lines = {}, decorations = {}, hunk_at = {}, hunk_lines = {} } ---@type fileops.Page
  local function put(label, group, text, text_group)
    page.lines[#page.lines + 1] = text
    local row = #page.lines - 1
    table.insert(
      page.decorations,
      { row = row, opts = { virt_text = { { label, group } }, virt_text_pos = 'inline' } }
    )
    if text_group then
      table.insert(page.decorations, { row = row, opts = { end_col = #text, hl_group = text_group } })
    end
  end
  put(' in   ', 'FileopsMuted', vim.fn.fnamemodify(params.cwd, ':~'):gsub('\n', '?'), 'Directory')
  local why = params.description and vim.trim(params.description) or ''
  if why == '' then
    put(' why  ', 'FileopsMuted', 'the agent does not say', 'FileopsMuted')
  else
    for i, line in ipairs(lines_of(why)) do
      put(i == 1 and ' why  ' or '      ', 'FileopsMuted', line)
    end
  end
  for i, line in ipairs(lines_of(params.command)) do
    put(i == 1 and ' $    ' or '      ', 'FileopsKey', line, 'FileopsCommand')
  end
  return page
end

---@param keys table<string, string|false>
---@return fileops.Hint[]
local function hints(keys)
  return {
    { keys.help, 'help' },
    { keys.accept, 'run once' },
    { keys.reject, 'reject' },
    { keys.always, 'always' },
  }
end

---@param params fileops.wire.ConfirmCommandParams
---@param count string such as " 1/2"
---@return string[] winbar expressions, the longest first
local function titles(params, count)
  local n_lines = #lines_of(params.command)
  local size = n_lines > 1 and (' · %d lines'):format(n_lines) or ''
  local session = winbar.escape(sessions.proposer(params))
  local head = ('%%#FileopsTitle# Command%s%%*'):format(count)
  return { ('%s %s wants to run this%s'):format(head, session, size), ('%s %s'):format(head, session), head }
end

--- What a pane needs to show it.
---@param review fileops.Review
---@param count string such as " 1/2"
---@return table fields of a `fileops.PaneSpec`
function M.spec(review, count)
  return {
    name = ('review/%d/command'):format(review.id),
    file_path = '',
    layout = 'inline',
    hunks = {},
    page = M.page(review.params),
    titles = titles(review.params, count),
    hints = hints(config.get().keys),
    n_needed = 3,
  }
end

--- In one line, for messages.
---@param review fileops.Review
---@return string
function M.summary(review)
  local params = review.params
  local first, rest = params.command:match('^%s*([^\n]*)(.*)')
  if vim.fn.strchars(first) > 60 then
    first, rest = vim.fn.strcharpart(first, 0, 60), '…'
  end
  return ('$ %s%s  %s'):format(first, rest ~= '' and ' …' or '', buffers.short(params.cwd))
end

--- In one line, for a list to choose from.
M.item = M.summary

M.help = {
  { 'accept', 'run it this once' },
  { 'always', 'run it, and ask no more for this very command in this folder and session' },
  { 'reject', 'do not run it' },
  { 'next_review', 'next waiting review' },
  { 'previous_review', 'previous waiting review' },
  { 'list', 'list the waiting reviews' },
  { 'close', 'close the pane; the command keeps waiting' },
}

return M
