-- A shell command that waits for a person, in a buffer: all of it, where it would run, and the purpose that the agent
-- states.
local config = require('fileops.config')
local queue = require('fileops.review.queue')
local sessions = require('fileops.sessions')

local M = {}

local buffers = {} ---@type table<integer, integer> by review id

---@param text string
---@return string[] lines that a buffer can hold
local function lines_of(text) return vim.split((text:gsub('%z', '?')), '\n', { plain = true }) end

---@param text string
---@return string[] lines of a comment
local function comment(text)
  return vim.tbl_map(function(line) return '# ' .. line end, lines_of(text))
end

---@param params fileops.wire.ConfirmCommandParams
---@return string[]
function M.lines(params)
  local keys = config.get().keys
  local why = vim.trim(params.description or '')
  local folder = vim.fn.fnamemodify(params.cwd, ':~')
  local lines = comment(('%s wants to run this in %s'):format(sessions.proposer(params), folder))
  vim.list_extend(lines, comment(why ~= '' and why or 'The agent does not say why.'))
  vim.list_extend(lines, lines_of(params.command))
  local how = ('%s runs it once, %s rejects it; :Fileops accept always asks no more for this very command'):format(
    keys.accept or ':Fileops accept',
    keys.reject or ':Fileops reject'
  )
  return vim.list_extend(lines, comment(how))
end

---@param buf integer
---@param lines string[]
local function put(buf, lines)
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
end

--- The command that a buffer shows.
---@param buf integer
---@return fileops.Review?
function M.in_buffer(buf)
  return vim.iter(queue.waiting()):find(function(review) return buffers[review.id] == buf end)
end

---@param buf integer
local function map(buf)
  local keys = config.get().keys
  local function on(key, act)
    if not key then return end
    vim.keymap.set('n', key, function()
      local review = M.in_buffer(buf)
      if review then return act(review) end
      require('fileops.ui.messages').info('this command is not asked about any more')
    end, { buffer = buf, nowait = true, desc = 'fileops' })
  end
  on(keys.accept, queue.accept)
  on(keys.reject, queue.reject)
end

---@param review fileops.Review
---@return string
function M.name(review) return ('fileops://review/%d/command'):format(review.id) end

--- Fill a buffer of that name with the command.
---@param review fileops.Review
---@param buf integer
function M.fill(review, buf)
  buffers[review.id] = buf
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'wipe', false
  put(buf, M.lines(review.params))
  vim.bo[buf].syntax = 'sh'
  map(buf)
end

--- Go to it.
---@param review fileops.Review
function M.open(review)
  local win = buffers[review.id] and vim.fn.win_findbuf(buffers[review.id])[1]
  if win then return vim.api.nvim_set_current_win(win) end
  vim.cmd('botright new')
  local buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_name(buf, M.name(review))
  M.fill(review, buf)
  vim.api.nvim_win_set_height(0, math.min(vim.api.nvim_buf_line_count(buf) + 1, math.floor(vim.o.lines / 2)))
end

--- It is decided or withdrawn. A window with the cursor in it says so, because the person may be about to press a key.
---@param review fileops.Review
---@param why? string if the person did not decide
function M.close(review, why)
  local buf = buffers[review.id]
  buffers[review.id] = nil
  if not buf or not vim.api.nvim_buf_is_valid(buf) then return end
  if why and vim.api.nvim_get_current_buf() == buf then
    return put(buf, { ('# %s: nothing of it was run from here'):format(why) })
  end
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    pcall(vim.api.nvim_win_close, win, true)
  end
  if vim.api.nvim_buf_is_valid(buf) then vim.api.nvim_buf_delete(buf, { force = true }) end
end

--- In one line.
---@param review fileops.Review
---@return string such as "Codex wants to run $ make test"
function M.summary(review)
  local params = review.params
  local first, rest = params.command:gsub('%z', '?'):match('^%s*([^\n]*)(.*)')
  if vim.fn.strchars(first) > 60 then
    first, rest = vim.fn.strcharpart(first, 0, 60), '…'
  end
  return ('%s wants to run $ %s%s'):format(sessions.proposer(params), first, rest ~= '' and ' …' or '')
end

return M
