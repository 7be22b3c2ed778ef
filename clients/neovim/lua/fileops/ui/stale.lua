-- What agents have read and no longer know: a marker at the top of the buffer, `b:fileops_stale` for status lines.
local config = require('fileops.config')
local buffers = require('fileops.buffers')
local events = require('fileops.client.events')
local sessions = require('fileops.sessions')
require('fileops.ui.highlights')

local M = {}

local ns = vim.api.nvim_create_namespace('fileops.stale')
-- Real path → session → what happened.
local stale = {} ---@type table<string, table<string, fileops.wire.DidBecomeStaleParams>>

---@param by_session table<string, fileops.wire.DidBecomeStaleParams>
---@return string
function M.sentence(by_session)
  local ids = vim.tbl_keys(by_session)
  table.sort(ids)
  local first = by_session[ids[1]]
  local others = #ids > 1 and (' and %d more'):format(#ids - 1) or ''
  return ('stale for %s%s: %s %s'):format(
    sessions.name(ids[1]),
    others,
    first.reason,
    sessions.source(first.source)
  )
end

---@param path string
local function render(path)
  local buf = buffers.buffer_of(path)
  if not buf then return end
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  local by_session = stale[buffers.real(path)]
  vim.b[buf].fileops_stale = by_session and M.sentence(by_session) or nil
  if not by_session then return end
  local settings = config.get().stale
  vim.api.nvim_buf_set_extmark(buf, ns, 0, 0, {
    sign_text = settings.sign ~= '' and settings.sign or nil,
    sign_hl_group = 'FileopsStale',
    virt_text = settings.virtual_text and { { ' ' .. M.sentence(by_session) .. ' ', 'FileopsStale' } } or nil,
    virt_text_pos = 'right_align',
    priority = 200,
  })
end

--- How a session's knowledge of a file went stale; nil where it has not.
---@param path string
---@param session_id string
---@return string? such as "modified by typing"
function M.reason(path, session_id)
  local event = (stale[buffers.real(path)] or {})[session_id]
  return event and ('%s %s'):format(event.reason, sessions.source(event.source)) or nil
end

---@param event fileops.wire.DidBecomeStaleParams
function M.became_stale(event)
  local key = buffers.real(event.file_path)
  stale[key] = stale[key] or {}
  stale[key][event.session_id] = event
  render(event.file_path)
end

--- The session knows the file again (it read or wrote it), or is gone.
---@param path string
---@param session_id string
function M.became_fresh(path, session_id)
  local key = buffers.real(path)
  if not stale[key] then return end
  stale[key][session_id] = nil
  if next(stale[key]) == nil then stale[key] = nil end
  render(path)
end

---@param session_id? string all sessions without it
function M.forget(session_id)
  for path, by_session in pairs(vim.deepcopy(stale)) do
    for id in pairs(by_session) do
      if not session_id or id == session_id then M.became_fresh(path, id) end
    end
  end
end

--- Real path → sentence.
---@return table<string, string>
function M.all() return vim.tbl_map(M.sentence, stale) end

events.on('sessions', function() -- a session may have got its name only now
  for path in pairs(stale) do
    render(path)
  end
end)

vim.api.nvim_create_autocmd('BufReadPost', {
  group = vim.api.nvim_create_augroup('fileops.stale', {}),
  callback = function(event)
    local name = vim.api.nvim_buf_get_name(event.buf)
    if next(stale) and buffers.is_file(event.buf) and stale[buffers.real(name)] then render(name) end
  end,
})

return M
