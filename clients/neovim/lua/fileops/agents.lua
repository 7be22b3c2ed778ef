-- Agents of the project: a list to choose from, and what can be done about one of them.
local decision = require('fileops.unkept.decision')
local buffers = require('fileops.buffers')
local messages = require('fileops.ui.messages')
local protocol = require('fileops.client.protocol')
local sessions = require('fileops.sessions')

local M = {}

---@param session fileops.wire.Session
---@return string
local function line_of(session)
  return ('%s %s  %s, %s  %s'):format(
    session.connected and '●' or '○',
    sessions.label(session),
    decision.counted(session.n_edits, 'edit'),
    decision.counted(session.n_reads, 'read'),
    os.date('%H:%M', math.floor(session.last_seen))
  )
end

--- Files that an agent has read and that have changed since: its next edit of them is refused.
---@param session fileops.wire.Session
---@param act fun(paths: string[])
local function stale_files(session, act)
  if not session.connected then return act({}) end
  local params = { session_id = session.session_id }
  require('fileops').request(protocol.methods.tracked, params, function(err, result)
    if err then return messages.failure(err) end
    local stale = vim.tbl_filter(function(file) return file.state == 'stale' end, result.files)
    act(vim.tbl_map(function(file) return buffers.short(file.file_path) end, stale))
  end)
end

---@param session fileops.wire.Session
---@param stale string[]
local function choose_action(session, stale)
  local follow = require('fileops.follow')
  local actions = {
    { 'List its changes to keep or undo', function() require('fileops.list').open_agent(session) end },
    { 'Show its history', function() require('fileops.history').open('', session) end },
  }
  if session.connected then
    local is_followed = follow.id() == session.session_id
    table.insert(actions, 1, {
      is_followed and 'Stop following it' or 'Follow it',
      function() follow.toggle(is_followed and 'off' or session.session_id) end,
    })
  end
  local prompt = sessions.label(session)
  if #stale > 0 then prompt = ('%s (has to read again: %s)'):format(prompt, table.concat(stale, ', ')) end
  vim.ui.select(actions, {
    prompt = prompt,
    kind = 'fileops.agent',
    format_item = function(action) return action[1] end,
  }, function(action)
    if action then action[2]() end
  end)
end

--- Choose an agent, and then what to do about it.
function M.open()
  sessions.fetch(function(err)
    if err then return messages.failure(err) end
    local agents = sessions.agents()
    if #agents == 0 then return messages.info('no agent is attached') end
    vim.ui.select(
      agents,
      { prompt = 'Agents', kind = 'fileops.agents', format_item = line_of },
      function(session)
        if not session then return end
        stale_files(session, function(stale) choose_action(session, stale) end)
      end
    )
  end)
end

return M
