-- Sessions of all agents that the daemon serves, in this editor and outside of it: what is known of each, and by which
-- name the person sees it. The panel that lists them is `ui/agents`.
local protocol = require('fileops.client.protocol')

local M = {}

local known = {} ---@type table<string, fileops.wire.Session> by session id

---@param sessions fileops.wire.Session[]
function M.replace(sessions)
  known = {}
  for _, session in ipairs(sessions) do
    known[session.session_id] = session
  end
end

--- The daemon is gone, and its sessions with it.
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

--- Those that are attached first; otherwise by id, so that a row does not move while the person looks at it.
---@return fileops.wire.Session[]
function M.list()
  local sessions = vim.tbl_values(known)
  table.sort(sessions, function(a, b)
    if a.connected ~= b.connected then return a.connected end
    return a.session_id < b.session_id
  end)
  return sessions
end

local DEFAULT_SESSION = 'default' -- the daemon's, of a request that names none

--- Whether a session belongs to an agent inside this Neovim, or to the person.
---@param session_id string
---@return boolean
function M.is_own(session_id)
  local own = { '', DEFAULT_SESSION, require('fileops.manual').SESSION }
  return vim.list_contains(own, session_id) or vim.list_contains(require('fileops').sessions(), session_id)
end

--- What a session is called beside its host. One from outside has the label of its connection, which may have several
--- sessions; an own one is called as it calls itself.
---@param session { session_id: string, label: string }
---@return string
function M.label(session)
  if M.is_own(session.session_id) then return session.session_id end
  local name = session.session_id:match('/(.+)$')
  return name and ('%s, %s'):format(session.label, name) or session.label
end

--- The name of a session for the person: its label, with its host where the label does not say it.
---@param session { session_id: string, label: string, host: string }
---@return string
local function named(session)
  local label = M.label(session)
  if M.is_own(session.session_id) or label:lower():find(session.host:lower(), 1, true) then return label end
  return ('%s (%s)'):format(label, session.host)
end

--- The name of whoever made an edit; the daemon names no session where the person did.
---@param session_id string
---@return string
function M.name(session_id)
  if session_id == '' then return 'you' end
  local session = known[session_id]
  return session and named(session) or session_id
end

--- The name of the agent that proposes an edit or a command.
---@param params fileops.wire.ConfirmEditParams|fileops.wire.ConfirmCommandParams
---@return string
function M.proposer(params) return params.session and named(params.session) or M.name(params.session_id) end

local sources = { external = 'another program', buffer = 'typing here' }

--- Who changed a file.
---@param source string "external", "buffer" or "session:ID"
---@return string
function M.source(source)
  local session_id = source:match('^session:(.*)$')
  if session_id then return 'session ' .. M.name(session_id) end
  return sources[source] or source
end

--- What an edit was applied over although its session had not seen it.
---@param rebased fileops.wire.RebasedDetails
---@return string such as "rebased over 2 changes by another program"
function M.rebased(rebased)
  local n = rebased.n_foreign_hunks
  local by = sources[rebased.changed_by] or M.name(rebased.changed_by)
  return ('rebased over %d %s by %s'):format(n, n == 1 and 'change' or 'changes', by)
end

return M
