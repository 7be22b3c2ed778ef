-- Sessions of all agents that the daemon serves, in this editor and outside: what is known of each, and its name for
-- the person.
local protocol = require('fileops.client.protocol')

local M = {}

local known = {} ---@type table<string, fileops.wire.Session> by session id
local own = {} ---@type table<string, boolean> ids of agents inside this Neovim, also of those that are done

---@param sessions fileops.wire.Session[]
function M.replace(sessions)
  known = {}
  for _, session in ipairs(sessions) do
    known[session.session_id] = session
  end
end

--- The name that an agent inside this Neovim gives itself.
---@param session_id string
function M.remember_own(session_id) own[session_id] = true end

--- The daemon has ended, and its sessions with it.
function M.forget() known = {} end

--- Ask the daemon for its sessions.
---@param callback fun(err: fileops.RequestError?, sessions: fileops.wire.Session[]?)
function M.fetch(callback)
  require('fileops').request(protocol.methods.sessions, vim.empty_dict(), function(err, result)
    if err then return callback(err) end
    M.replace(result.sessions)
    callback(nil, result.sessions)
  end)
end

local DEFAULT_SESSION = 'default' -- the daemon's name for requests that name none

--- Whether a session is the person's, not an agent's.
---@param session_id string
---@return boolean
function M.is_person(session_id) return session_id == '' or session_id == DEFAULT_SESSION end

--- Whether a session belongs to an agent inside this Neovim, or to the person.
---@param session_id string
---@return boolean
function M.is_own(session_id) return M.is_person(session_id) or own[session_id] == true end

--- Agents of this project: attached ones first, then by id, so that rows do not move while the person looks at them.
--- Editors are not listed.
---@return fileops.wire.Session[]
function M.agents()
  local agents = vim.tbl_filter(
    function(session) return not M.is_person(session.session_id) and session.in_folders ~= false end,
    vim.tbl_values(known)
  )
  table.sort(agents, function(a, b)
    if a.connected ~= b.connected then return a.connected end
    return a.session_id < b.session_id
  end)
  return agents
end

--- Whether the daemon's record means this session. The record puts the name of the connection before the id of an agent
--- inside this Neovim, and that of another Neovim before the id of one listed there.
---@param session_id string
---@param recorded string?
---@return boolean
function M.is_recorded_as(session_id, recorded)
  if not recorded or recorded == session_id then return recorded ~= nil end
  return M.is_own(session_id) and not known[recorded] and vim.endswith(recorded, '/' .. session_id)
end

--- The name of a session for the person. An agent inside this Neovim has named itself; the daemon labels one outside.
---@param session { session_id: string, label: string }
---@return string
function M.label(session) return M.is_own(session.session_id) and M.name(session.session_id) or session.label end

--- The program that a session's id begins with, for a session that a shared daemon does not list (yet). In a daemon of
--- this Neovim alone, an id is what the agent calls itself.
---@param session_id string
---@return string
local function program(session_id)
  if not require('fileops.client.process').state.shared then return session_id end
  local host = session_id:match('^(.-)[:/]') or session_id
  return (host:gsub('%-%d+$', ''))
end

--- The name of the session that made an edit; the daemon names none if the person made it.
---@param session_id string
---@return string
function M.name(session_id)
  if session_id == '' then return 'you' end
  if M.is_own(session_id) then return session_id end
  local session = known[session_id]
  return session and session.label or program(session_id)
end

--- The name of the agent that proposes an edit or a command.
---@param params fileops.wire.Review|fileops.wire.ConfirmEditParams|fileops.wire.ConfirmCommandParams
---@return string
function M.proposer(params)
  return params.session and M.label(params.session) or params.session_id -- of this Neovim, which named it
end

local sources = { external = 'another program', buffer = 'typing' }

--- What an edit was applied over although its session had not seen it.
---@param rebased fileops.wire.RebasedDetails
---@return string such as "rebased over 2 changes by another program"
function M.rebased(rebased)
  local n = rebased.n_foreign_hunks
  local by = sources[rebased.changed_by] or M.name(rebased.changed_by)
  return ('rebased over %d %s by %s'):format(n, n == 1 and 'change' or 'changes', by)
end

return M
