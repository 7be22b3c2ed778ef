-- The public interface, for agents inside the editor and for a person's configuration. Everything here works without
-- `setup()`; the daemon is started when first used. `:help fileops-api`.
local M = {}

local NOT_AVAILABLE = -32001 -- no daemon; in JSON-RPC's range for implementations
local sessions = {} ---@type table<string, fileops.Session>

--- Call any method of the protocol. Inside a coroutine and without a callback, waits and returns `result, err`.
---@param method string
---@param params table
---@param callback? fileops.Callback
---@return any handle_or_result, fileops.RequestError? err
function M.request(method, params, callback)
  local co = coroutine.running()
  if not callback then
    if not co then error('fileops: outside a coroutine a callback is needed', 2) end
    local answered, yielded, err, result = false, false, nil, nil
    M.request(method, params, function(problem, value)
      answered, err, result = true, problem, value
      if yielded then coroutine.resume(co) end
    end)
    if not answered then
      yielded = true
      coroutine.yield()
    end
    return result, err
  end
  local daemon = require('fileops.client.process')
  local cancelled, request_id, client = false, nil, nil
  daemon.ready(function(problem, ready)
    if problem or cancelled or not ready then
      return callback({ code = NOT_AVAILABLE, message = problem or 'cancelled before the daemon ran' })
    end
    client = ready
    local sent, id = daemon.call(ready, 'request', method, params, function(err, result)
      if result then require('fileops.client.outcome').follow(method, params, result) end
      callback(err, result)
    end)
    request_id = id
    if not sent then callback({ code = NOT_AVAILABLE, message = 'the daemon is gone' }) end
  end)
  return {
    cancel = function()
      cancelled = true
      if client and request_id then daemon.call(client, 'cancel_request', request_id) end
    end,
  }
end

---@param name string key of `protocol.methods`
---@return string
local function method(name) return require('fileops.client.protocol').methods[name] end

---@param params fileops.wire.ReadParams
---@param callback? fun(err: fileops.RequestError?, result: fileops.wire.ToolResult)
function M.read(params, callback) return M.request(method('read'), params, callback) end

---@param params fileops.wire.EditParams
---@param callback? fun(err: fileops.RequestError?, result: fileops.wire.ToolResult)
function M.edit(params, callback) return M.request(method('edit'), params, callback) end

---@param params fileops.wire.MultiEditParams
---@param callback? fun(err: fileops.RequestError?, result: fileops.wire.ToolResult)
function M.multi_edit(params, callback) return M.request(method('multi_edit'), params, callback) end

--- Write the whole text of a file, for a client that has no edits. It is refused if others' changes would be lost.
---@param params fileops.wire.WriteParams
---@param callback? fun(err: fileops.RequestError?, result: fileops.wire.ToolResult)
function M.write(params, callback) return M.request(method('write'), params, callback) end

--- A shell command, with `server = { bash = true }`; the person is asked first.
---@param params fileops.wire.BashParams
---@param callback? fun(err: fileops.RequestError?, result: fileops.wire.ToolResult)
function M.bash(params, callback) return M.request(method('bash'), params, callback) end

--- The tools in the form in which a model is offered them.
---@param callback? fun(err: fileops.RequestError?, result: { tools: fileops.wire.ToolDefinition[] })
function M.tools(callback) return M.request(method('tools'), vim.empty_dict(), callback) end

---@param params? { session_id?: string }
---@param callback? fun(err: fileops.RequestError?, result: { files: fileops.wire.TrackedFile[] })
function M.tracked(params, callback)
  return M.request(method('tracked'), params and next(params) and params or vim.empty_dict(), callback)
end

---@param params? { file_path?: string, session_id?: string, limit?: integer }
---@param callback? fun(err: fileops.RequestError?, result: { edits: table[] })
function M.edits(params, callback)
  return M.request(method('history'), params and next(params) and params or vim.empty_dict(), callback)
end

--- With `approved = true` the person asked for it, and is not asked again. Otherwise it is reviewed like any edit.
---@param params { edit_id?: string, session_id?: string, file_path?: string, dry_run?: boolean, approved?: boolean }
---@param callback? fun(err: fileops.RequestError?, result: fileops.wire.ToolResult)
function M.undo(params, callback) return M.request(method('undo'), params, callback) end

---@class fileops.Session
local Session = {}
Session.__index = Session

---@param params table
---@return table
function Session:_own(params) return vim.tbl_extend('force', params, { session_id = self.id }) end

---@param params fileops.wire.ReadParams
---@param callback? fun(err: fileops.RequestError?, result: fileops.wire.ToolResult)
function Session:read(params, callback) return M.read(self:_own(params), callback) end

---@param params fileops.wire.EditParams
---@param callback? fun(err: fileops.RequestError?, result: fileops.wire.ToolResult)
function Session:edit(params, callback) return M.edit(self:_own(params), callback) end

---@param params fileops.wire.MultiEditParams
---@param callback? fun(err: fileops.RequestError?, result: fileops.wire.ToolResult)
function Session:multi_edit(params, callback) return M.multi_edit(self:_own(params), callback) end

---@param params fileops.wire.WriteParams
---@param callback? fun(err: fileops.RequestError?, result: fileops.wire.ToolResult)
function Session:write(params, callback) return M.write(self:_own(params), callback) end

---@param params fileops.wire.BashParams
---@param callback? fun(err: fileops.RequestError?, result: fileops.wire.ToolResult)
function Session:bash(params, callback) return M.bash(self:_own(params), callback) end

--- As `correct_with`, for the edits of this session.
---@param corrector fileops.Corrector
---@return fun() off
function Session:correct_with(corrector) return require('fileops.corrections').register(corrector, self.id) end

---@param callback? fun(err: fileops.RequestError?, result: { files: fileops.wire.TrackedFile[] })
function Session:tracked(callback) return M.tracked({ session_id = self.id }, callback) end

--- Undo all edits of this session.
---@param callback? fun(err: fileops.RequestError?, result: fileops.wire.ToolResult)
function Session:undo(callback) return M.undo({ session_id = self.id }, callback) end

--- The agent has finished: the daemon forgets what it has seen.
---@param callback? fun(err: fileops.RequestError?, result: nil)
function Session:close(callback)
  sessions[self.id] = nil
  require('fileops.corrections').close_session(self.id)
  return M.request(method('close_session'), { session_id = self.id }, callback or function() end)
end

---@param id string
---@return fileops.Session
function M.session(id)
  sessions[id] = sessions[id] or setmetatable({ id = id }, Session)
  require('fileops.sessions').remember_own(id)
  return sessions[id]
end

--- Ids of the sessions that are open here.
---@return string[]
function M.sessions()
  local ids = vim.tbl_keys(sessions)
  table.sort(ids)
  return ids
end

--- Listen to events: "edit", "read", "stale", "conflict", "health", "recover", "record", "mode", "ask", "sessions",
--- "review", "reviewed", "reviews", "unkept", "status", or "*".
---@param event string
---@param fn fun(data: table, event: string)
---@return fun() off
function M.on(event, fn) return require('fileops.client.events').on(event, fn) end

--- With `server = { correction = true }`: set the function that is asked for the words of an edit that are not in the
--- file. It calls `answer` once, now or later, with a proposal or nil. The function that it may return is called when
--- no caller waits for the answer any more.
---@param corrector fileops.Corrector
---@return fun() off
function M.correct_with(corrector) return require('fileops.corrections').register(corrector) end

--- The entry of `mcpServers` in ACP's `session/new`. It gives an agent that this Neovim starts the tools Read, Edit and
--- MultiEdit, which see unsaved buffers and are reviewed here. Nil if no `fileops-server` is found.
---@param arguments? string[] further ones of `fileops-server mcp`
---@return { name: string, command: string, args: string[], env: { name: string, value: string }[] }?
function M.mcp_server(arguments)
  local locate, process = require('fileops.client.locate'), require('fileops.client.process')
  local _, found = locate.find()
  if not found then return nil end
  local socket = vim.env.FILEOPS_SOCKET -- a host may not hand on its environment
  return {
    name = 'fileops',
    command = vim.fn.exepath(found.cmd[1]),
    args = vim.list_extend(
      locate.mcp(found.cmd, process.client() and process.state.root or process.root()),
      arguments or {}
    ),
    env = socket and { { name = 'FILEOPS_SOCKET', value = socket } } or {},
  }
end

--- For a status line: "" if there is nothing to say.
---@return string
function M.status()
  local parts = {}
  local n_reviews = #require('fileops.review.queue').waiting()
  if n_reviews > 0 then parts[#parts + 1] = ('%d to review'):format(n_reviews) end
  local to_decide = require('fileops.unkept.changes').summary()
  if to_decide ~= '' then parts[#parts + 1] = to_decide end
  local followed = require('fileops.follow').name()
  if followed then parts[#parts + 1] = 'following ' .. followed end
  if require('fileops.client.process').state.status == 'failed' then parts[#parts + 1] = 'no daemon' end
  return #parts > 0 and 'fileops: ' .. table.concat(parts, ', ') or ''
end

function M.start() require('fileops.client.process').start() end
---@param callback? fun()
function M.stop(callback) require('fileops.client.process').stop(callback) end
function M.restart() require('fileops.client.process').restart() end

--- Settings that replace or add to `vim.g.fileops`. Optional.
---@param settings? table
function M.setup(settings)
  local config = require('fileops.config')
  config.complain(config.set(settings or {}))
end

return M
