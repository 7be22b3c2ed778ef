-- JSON-RPC with the daemon over its stdin and stdout, in the form of `vim.lsp.Client` (`vim.lsp.rpc.PublicClient`).
-- Neovim's own transport hides the id of a request from the server, so a `$/cancelRequest` could not be matched with
-- the review that it withdraws. Here a handler gets the id from `serving_id()`. The daemon's stderr goes to our own
-- log. Knows nothing of fileops.
local utf8 = require('fileops.client.utf8')

local M = {}

local REQUEST_FAILED, INTERNAL_ERROR = -32803, -32603 -- LSP 3.17, ErrorCodes
local problems = vim.lsp.rpc.client_errors

local serving ---@type integer|string|nil

--- Inside a handler of a server's request, before it first yields: that request's id. Nil with another transport.
---@return integer|string|nil
function M.serving_id() return serving end

--- Return a function that takes chunks and calls `on_body` with each complete message body.
---@param on_body fun(body: string)
---@return fun(chunk: string)
function M.framing(on_body)
  local pending = ''
  local chunks, size, wanted = {}, 0, 0 -- a long body is collected without copying it for every chunk
  return function(chunk)
    chunks[#chunks + 1], size = chunk, size + #chunk
    if size < wanted then return end
    pending = table.concat(chunks)
    local from = 1
    wanted = 0
    while true do
      local header_end = pending:find('\r\n\r\n', from, true)
      if not header_end then break end
      local length = tonumber(pending:sub(from, header_end + 1):lower():match('content%-length:%s*(%d+)'))
      if not length then error('fileops: a message without Content-Length') end
      local first = header_end + 4
      if #pending < first + length - 1 then
        wanted = first + length - from
        break
      end
      from = first + length
      on_body(pending:sub(first, first + length - 1))
    end
    pending = pending:sub(from)
    chunks, size = { pending }, #pending
  end
end

---@param body string
---@return table? message, string? problem
function M.decode(body)
  local options = { luanil = { object = true } }
  local ok, message = pcall(vim.json.decode, body, options)
  if not ok then
    ok, message = pcall(vim.json.decode, utf8.without_lone_surrogates(body), options)
  end
  if not ok or type(message) ~= 'table' then return nil, tostring(message) end
  return message
end

---@param message table
---@return string frame
function M.encode(message)
  local body = utf8.scrub(vim.json.encode(message))
  return ('Content-Length: %d\r\n\r\n%s'):format(#body, body)
end

--- Combine consecutive changes of one document into one notification.
---@param messages table[]
---@return table[]
function M.merged(messages)
  local kept = {} ---@type table[]
  for _, message in ipairs(messages) do
    local before = kept[#kept]
    local continues = message.method == 'textDocument/didChange'
      and before ~= nil
      and before.method == message.method
      and before.params.textDocument.uri == message.params.textDocument.uri
    if continues then
      before.params = {
        textDocument = message.params.textDocument,
        contentChanges = vim.list_extend(
          vim.list_slice(before.params.contentChanges),
          message.params.contentChanges
        ),
      }
    else
      kept[#kept + 1] = message
    end
  end
  return kept
end

---@param cmd string[]
---@param dispatchers vim.lsp.rpc.Dispatchers
---@param options? fileops.rpc.Options
---@return fileops.rpc.Connection
function M.start(cmd, dispatchers, options)
  options = options or {}
  local process ---@type vim.SystemObj?
  local closing, asked_to_end = false, false
  local next_id = 0
  local waiting = {} ---@type table<integer|string, { method: string, callback: function, on_reply: function? }>
  local ended ---@type { code: integer, signal: integer }?

  local held ---@type table[]? what waits for the end of `together`

  local function send(message)
    if options.on_send then options.on_send(message) end
    if held then
      held[#held + 1] = message
      return true
    end
    if closing or not process then return false end
    message.jsonrpc = '2.0'
    local ok = pcall(process.write, process, M.encode(message))
    return ok
  end

  local function serve(message)
    local co = coroutine.create(function()
      local ok, result, err = pcall(dispatchers.server_request, message.method, message.params)
      if not ok then
        result, err = nil, { code = INTERNAL_ERROR, message = tostring(result) }
      end
      if result == nil and err == nil then result = vim.NIL end
      send({ id = message.id, result = result, error = err })
    end)
    serving = message.id
    local ok, problem = coroutine.resume(co)
    serving = nil
    if not ok then dispatchers.on_error(problems.SERVER_REQUEST_HANDLER_ERROR, problem) end
  end

  local function settle(message)
    local request = waiting[message.id]
    if not request then return end
    waiting[message.id] = nil
    if request.method == 'initialize' and message.error and options.on_refused then
      process:kill('sigterm') -- Neovim would add its own error of many lines
      return options.on_refused(message.error.message)
    end
    if request.on_reply then request.on_reply(message.id) end
    local result = message.result
    if result == vim.NIL then result = nil end
    request.callback(message.error, result, message.id)
  end

  local function receive(body)
    local message, problem = M.decode(body)
    if not message then
      dispatchers.on_error(problems.INVALID_SERVER_JSON, problem)
    elseif message.method and message.id ~= nil then
      serve(message)
    elseif message.method then
      dispatchers.notification(message.method, message.params)
    elseif message.id ~= nil and message.id ~= vim.NIL then
      settle(message)
    else
      dispatchers.on_error(problems.INVALID_SERVER_MESSAGE, message.error)
    end
  end

  local feed = M.framing(vim.schedule_wrap(receive))
  process = vim.system(cmd, {
    cwd = options.cwd,
    env = options.env,
    stdin = true,
    stdout = function(_, chunk)
      if not chunk then return end
      local ok, problem = pcall(feed, chunk)
      if ok then return end
      closing = true
      process:kill('sigterm')
      vim.schedule(function() dispatchers.on_error(problems.INVALID_SERVER_JSON, problem) end)
    end,
    stderr = function(_, chunk)
      if chunk and options.on_stderr then options.on_stderr(chunk) end
    end,
  }, function(out)
    closing = true
    vim.schedule(function()
      local gone = { code = REQUEST_FAILED, message = 'the fileops daemon ended before it answered' }
      local unanswered = waiting
      waiting = {}
      for id, request in pairs(unanswered) do
        if request.on_reply then request.on_reply(id) end
        if request.method ~= 'initialize' or not options.on_refused then request.callback(gone, nil, id) end
      end
      -- As if it had ended by itself: for anything else, Neovim shows a notice that waits for a key, and until then
      -- nothing else happens. `ended` tells the difference.
      ended = { code = out.code, signal = out.signal }
      dispatchers.on_exit(0, 0)
    end)
  end)

  return {
    request = function(method, params, callback, on_reply)
      next_id = next_id + 1
      local id = next_id
      if method == 'shutdown' then asked_to_end = true end
      waiting[id] = { method = method, callback = callback, on_reply = on_reply }
      if send({ id = id, method = method, params = params }) then return true, id end
      waiting[id] = nil
      return false
    end,
    notify = function(method, params) return send({ method = method, params = params }) end,
    --- What `act` sends is sent once it has returned; its changes of a document become one notification.
    ---@param act fun()
    together = function(act)
      if held then return act() end
      held = {}
      local ok, problem = pcall(act)
      local messages = held
      held = nil
      for _, message in ipairs(M.merged(messages)) do
        send(message)
      end
      if not ok then error(problem, 0) end
    end,
    stopped_by_us = function() return asked_to_end end,
    ended = function() return ended end,
    pid = function() return process.pid end,
    is_closing = function() return closing end,
    terminate = function()
      if closing then return end
      closing, asked_to_end = true, true
      process:kill('sigterm')
    end,
  }
end

return M
