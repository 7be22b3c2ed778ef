-- Follows an agent: shows the file that it changes, at the change, unless the person has just typed. The cursor stays
-- in its window; from a terminal or a prompt, the file is shown in a nearby window with files.
local buffers = require('fileops.buffers')
local events = require('fileops.client.events')
local messages = require('fileops.ui.messages')
local protocol = require('fileops.client.protocol')
local sessions = require('fileops.sessions')
local text_keys = require('fileops.ui.text_keys')

local M = {}

local PAUSE_AFTER_TYPING_MS = 3000
local FREE_MODES = { n = true, nt = true, t = true } -- of |mode()|: normal mode, and a terminal

local followed ---@type string? session id
local since_s = 0 -- seconds since the epoch: changes before that are known
local typed_ms ---@type integer? by `vim.uv.now()`

local keys = vim.api.nvim_create_namespace('fileops.follow')

---@return boolean
local function is_in_terminal() return vim.api.nvim_get_mode().mode:sub(1, 1) == 't' end

--- What is typed into a terminal goes to a program, such as the agent, not to a file.
---@param _ string
---@param typed string?
local function on_key(_, typed)
  if typed and typed ~= '' and not is_in_terminal() then typed_ms = vim.uv.now() end
end

---@param session_id string?
local function set(session_id)
  followed, typed_ms = session_id, nil
  local seconds, microseconds = vim.uv.gettimeofday()
  since_s = assert(seconds) + microseconds / 1e6
  vim.on_key(session_id and on_key or nil, keys)
  vim.cmd.redrawstatus({ bang = true })
end

---@return string? id of the agent that is followed
function M.id() return followed end

---@return string? name of the agent that is followed, for a status line
function M.name() return followed and sessions.name(followed) end

function M.stop()
  if not followed then return messages.info('no agent is followed') end
  local name = M.name()
  set(nil)
  messages.info(name .. ' is no longer followed')
end

---@param session fileops.wire.Session
local function start(session)
  set(session.session_id)
  messages.info(('following %s (:Fileops follow off)'):format(M.name()))
end

---@return fileops.wire.Session[]
local function connected()
  return vim.tbl_filter(function(session) return session.connected end, sessions.agents())
end

--- What `:Fileops follow` completes.
---@return string[]
function M.names()
  local names = vim.tbl_map(sessions.label, connected())
  names[#names + 1] = 'off'
  return names
end

--- The agents that a word means: by id or name, else by the beginning of the name.
---@param word string
---@return fileops.wire.Session[]
local function matching(word)
  local begin = {} ---@type fileops.wire.Session[]
  for _, session in ipairs(connected()) do
    local label = sessions.label(session):lower()
    if session.session_id == word or label == word:lower() then return { session } end
    if vim.startswith(label, word:lower()) then begin[#begin + 1] = session end
  end
  return begin
end

--- Follow an agent: without a word, the only one, or one that is then chosen. "off", or no word while one is followed,
--- ends following.
---@param word string
function M.toggle(word)
  if word == 'off' or (word == '' and followed) then return M.stop() end
  local changes = require('fileops.unkept.changes')
  if not changes.is_served() then
    return changes.fetch(function() end)
  end
  sessions.fetch(function(err)
    if err then return messages.failure(err) end
    local found = matching(word)
    if #found == 0 then
      return messages.info(word == '' and 'no agent is attached' or ('no agent %s is attached'):format(word))
    end
    if #found == 1 then return start(found[1]) end
    vim.ui.select(found, {
      prompt = 'Follow which agent',
      kind = 'fileops.follow',
      format_item = sessions.label,
    }, function(session)
      if session then start(session) end
    end)
  end)
end

---@param win integer
---@return boolean whether its buffer can be replaced without a loss, and without a surprise
local function is_free(win)
  local buf = vim.api.nvim_win_get_buf(win)
  if vim.bo[buf].buftype ~= '' or vim.wo[win].diff or vim.wo[win].previewwindow then return false end
  if vim.wo[win].winfixbuf or vim.api.nvim_win_get_config(win).relative ~= '' then return false end
  local hides = vim.bo[buf].bufhidden == 'hide' or (vim.bo[buf].bufhidden == '' and vim.o.hidden)
  return hides or not vim.bo[buf].modified or #vim.fn.win_findbuf(buf) > 1
end

--- The window to show a file in: one that shows it; else the one with the cursor; else the one used before, or any.
---@param buf integer?
---@return integer? window
local function window_for(buf)
  local order = { vim.api.nvim_get_current_win() }
  local previous = vim.fn.win_getid(vim.fn.winnr('#'))
  if previous ~= 0 then order[2] = previous end
  vim.list_extend(order, vim.api.nvim_tabpage_list_wins(0))
  local function shows_it(win)
    return vim.api.nvim_win_get_buf(win) == buf and vim.api.nvim_win_get_config(win).relative == ''
  end
  return vim.iter(order):find(shows_it) or vim.iter(order):find(is_free)
end

--- Open a file in this window. If another program is editing it, it is opened read-only, without a question.
---@param path string
---@return boolean
local function open(path)
  local swap = vim.api.nvim_create_autocmd('SwapExists', { callback = function() vim.v.swapchoice = 'o' end })
  local is_open = buffers.open(path)
  vim.api.nvim_del_autocmd(swap)
  return is_open
end

---@param path string
---@param line integer 1-based
local function show(path, line)
  local buf = buffers.buffer_of(path)
  local win = window_for(buf)
  if not win then return end
  if buf then require('fileops.watch').check(buf) end -- else its lines would move under the cursor later
  local function go()
    if buf == vim.api.nvim_get_current_buf() then
      vim.cmd("normal! m'")
    elseif not open(path) then -- a jump
      return
    end
    text_keys.put_cursor(line)
    vim.cmd('normal! zvzz')
  end
  if win == vim.api.nvim_get_current_win() then return go() end
  vim.api.nvim_win_call(win, go) -- which would put back the view of the current window
end

--- Whether a jump would disturb the person: they typed a moment ago, or are in the middle of something.
---@return boolean
local function is_busy()
  vim.uv.update_time()
  if typed_ms and vim.uv.now() - typed_ms < PAUSE_AFTER_TYPING_MS then return true end
  local state = vim.api.nvim_get_mode()
  return state.blocking or not FREE_MODES[state.mode] or vim.fn.getcmdwintype() ~= ''
end

---@param path string
local function look(path)
  require('fileops').request(protocol.methods.unkept, { file_path = path }, function(err, result)
    if err then return require('fileops.log').note('following: ' .. err.message) end
    if not followed then return end
    local newest ---@type fileops.wire.UnkeptChange?
    for _, change in ipairs((result.files[1] or {}).changes or {}) do
      local is_theirs = sessions.is_recorded_as(followed, change.session_id) and change.time > since_s
      if is_theirs and (not newest or change.time > newest.time) then newest = change end
    end
    if not newest or newest.kind == 'file' or is_busy() then return end
    since_s = newest.time
    show(path, math.max(newest.start_line, 1))
  end)
end

events.on('unkept', function(event)
  if followed and event.file_path then look(event.file_path) end
end)

events.on('sessions', function(event)
  if not followed then return end
  for _, session in ipairs(event.sessions) do
    if session.session_id == followed and session.connected then return end
  end
  M.stop()
end)

return M
