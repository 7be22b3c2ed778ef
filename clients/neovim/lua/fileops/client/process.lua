-- Finds, starts and supervises the daemon: one for the whole editor. After a crash it is restarted a limited number of
-- times. If it is missing or too old, a message says so, and what to do.
local config = require('fileops.config')
local events = require('fileops.client.events')
local handshake = require('fileops.client.handshake')
local locate = require('fileops.client.locate')
local log = require('fileops.log')
local messages = require('fileops.ui.messages')
local next_daemon = require('fileops.client.next')

local M = {}

---@type fileops.State
M.state = { status = 'stopped', restarts = {}, stopping = false }

-- After a crash: how many restarts within this time, and the delay before the first, which doubles each time.
M.restarts = { max = 3, within_s = 60, delay_s = 0.5 }

local is_0_11 = vim.fn.has('nvim-0.11') == 1

local waiting = {} ---@type fun(problem: string?, client: vim.lsp.Client?)[]

---@param status 'stopped'|'starting'|'running'|'failed'
---@param problem? string
local function enter(status, problem)
  M.state.status, M.state.problem = status, problem
  if status == 'stopped' or status == 'failed' then require('fileops.watch').stop() end
  events.emit('status', { status = status, problem = problem }, 'FileopsStatus')
end

---@param problem string?
---@param client vim.lsp.Client?
local function release(problem, client)
  local callbacks = waiting
  waiting = {}
  for _, callback in ipairs(callbacks) do
    callback(problem, client)
  end
end

local connection ---@type fileops.rpc.Connection?

--- The project of a path: the nearest folder above it that has a `.git`.
---@param path string of a file or a folder; "" is in none
---@return string?
function M.project_of(path)
  if path == '' then return nil end
  return vim.fs.root(path, { '.git' })
end

--- The workspace folder: the one that was set; else the project of the working directory; else that of the current
--- file; else the working directory.
---@return string
function M.root()
  local set = config.get().root
  if set then return vim.fs.normalize(set) end
  local cwd = assert(vim.uv.cwd())
  local of_file = require('fileops.buffers').is_file(0) and vim.api.nvim_buf_get_name(0) or ''
  return M.project_of(cwd) or M.project_of(of_file) or cwd
end

---@return vim.lsp.Client?
function M.client()
  local id = M.state.client_id
  return id and vim.lsp.get_client_by_id(id) or nil
end

---@param client vim.lsp.Client
---@param name 'request'|'notify'|'stop'|'cancel_request'
local function call(client, name, ...)
  if is_0_11 then return client[name](client, ...) end
  return client[name](...)
end
M.call = call

local attaching ---@type string[]? the last line of its stderr, while `--shared` has not answered yet

---@param chunk string
local function on_stderr(chunk)
  local last = chunk:match('([^\n]+)\n*$')
  if attaching and last then attaching[1] = last end
  vim.schedule(function() log.write(chunk) end)
end

---@param dispatchers vim.lsp.rpc.Dispatchers
---@return vim.lsp.rpc.PublicClient
local function connect(dispatchers)
  local places, found = locate.find()
  if not found then error('fileops: ' .. locate.missing(places), 0) end
  local is_shared = config.get().shared and not M.state.private_reason
  local cmd = is_shared and locate.shared(found.cmd) or found.cmd
  attaching = is_shared and {} or nil
  M.state.cmd, M.state.from, M.state.root = cmd, found.from, M.root()
  log.note('start: ' .. table.concat(cmd, ' '))
  connection = require('fileops.client.rpc').start(cmd, dispatchers, {
    cwd = M.state.root,
    env = locate.environment(),
    on_stderr = on_stderr,
    on_refused = M.refused,
    on_send = require('fileops.client.exact_text').note,
  })
  return connection
end

local last_socket ---@type string? of the shared daemon, as `next_daemon` knows it

local told_private ---@type string? the reason that was shown last

--- The daemon serves this editor alone, although a shared one was wanted: tell the user, once for each reason.
local function tell_private()
  local reason = M.state.private_reason
  if not reason or reason == told_private then return end
  told_private = reason
  local what = 'agents outside do not see this editor'
  messages.warn(('%s: %s'):format(what, reason), what .. ' (:Fileops info)')
end

---@param client vim.lsp.Client
---@param result table
local function on_init(client, result)
  local problem = handshake.unfit(result)
  M.state.client_id = client.id
  M.state.server = result.serverInfo
  M.state.capabilities = vim.tbl_get(result, 'capabilities', 'experimental', 'fileops')
  M.state.shared = (M.state.capabilities or {}).shared
  last_socket = M.state.shared and next_daemon.socket_named(M.state.shared.socket)
  if attaching and not M.state.shared then
    M.state.private_reason = locate.why_private(attaching[1] or ':Fileops log says why')
    told_private = M.state.private_reason -- the command fell back by itself, and reports that by `window/showMessage`
  end
  attaching = nil
  if problem then
    enter('failed', problem)
    messages.complain(problem)
    M.state.stopping = true
    call(client, 'stop')
    return release(problem)
  end
  enter('running')
  tell_private()
  require('fileops.client.exact_text').take_over(client)
  require('fileops.client.sync').attach_all(client.id)
  require('fileops.diagnostics').start()
  local served = M.state.capabilities or {}
  require('fileops.ui.notice') -- from now on it tracks where the person looks
  require('fileops.review.listed').attached(client, served.requests or {})
  require('fileops.unkept.changes').attached(served.notifications or {})
  release(nil, client)
end

--- The daemon started, but refused to serve: most likely because of a setting. Neovim's own answer to that is a
--- traceback of many lines.
---@param refusal string
function M.refused(refusal)
  if M.state.stopping then return end
  if attaching then
    attaching[1] = refusal
    return -- its end follows, and then the start of a private daemon
  end
  local problem = 'the daemon refused to start: ' .. refusal
  M.state.stopping = true
  enter('failed', problem)
  messages.complain(problem)
  release(problem)
end

--- Whether it may be started once more. Crashes before the time window do not count.
---@param restarts number[] seconds
---@param now number
---@return boolean allowed, number delay_s
function M.may_restart(restarts, now)
  local recent = vim.tbl_filter(function(time) return now - time < M.restarts.within_s end, restarts)
  return #recent < M.restarts.max, M.restarts.delay_s * 2 ^ #recent
end

---@param why string
local function lose_reviews(why)
  require('fileops.review.questions').withdraw_all(why)
  require('fileops.review.listed').lost(why)
  require('fileops.unkept.changes').lost()
end

---@param how string
local function crashed(how)
  lose_reviews('the daemon ended')
  require('fileops.corrections').forget()
  local now = vim.uv.hrtime() / 1e9
  local allowed, delay_s = M.may_restart(M.state.restarts, now)
  if not allowed then
    local problem = 'the daemon keeps ending and stays down: :Fileops restart'
    enter('failed', problem)
    messages.complain(
      problem,
      ('%s (%s, time %d in %d s)'):format(problem, how, M.restarts.max + 1, M.restarts.within_s)
    )
    return release(problem)
  end
  table.insert(M.state.restarts, now)
  enter('starting')
  log.note(('the daemon ended %s; restart in %.1f s'):format(how, delay_s))
  messages.warn('the daemon has ended and is being restarted')
  vim.defer_fn(function()
    if M.state.status == 'starting' and not M.client() then M.launch() end
  end, delay_s * 1000)
end

--- The person has stopped the shared daemon: it stays stopped until they or an agent need one.
---@param socket string
local function await_next(socket)
  lose_reviews('the daemon was stopped')
  require('fileops.corrections').forget()
  enter('stopped')
  release('the daemon was stopped')
  if next_daemon.watch(socket, last_socket, M.start) then
    messages.info('the daemon was stopped; Neovim attaches to the next one')
  else
    messages.warn('the daemon was stopped; :Fileops restart starts it')
  end
end

---@param code integer
---@param signal integer
---@param client_id integer
local function on_exit(code, signal, client_id)
  vim.schedule(function()
    if M.state.client_id and M.state.client_id ~= client_id then return end
    M.state.client_id = nil
    local ended = connection and connection.ended()
    if ended then
      code, signal = ended.code, ended.signal
    end
    local how = signal ~= 0 and ('by signal %d'):format(signal) or ('with code %d'):format(code)
    log.note('end ' .. how)
    local shared = M.state.shared
    M.state.shared = nil
    require('fileops.sessions').forget()
    local words = attaching
    attaching = nil
    if words and not M.state.stopping then
      M.state.private_reason = locate.why_private(words[1] or ('it ended ' .. how))
      log.note('no shared daemon: ' .. M.state.private_reason)
      return M.launch()
    end
    if M.state.stopping or (connection and connection.stopped_by_us()) then
      M.state.stopping = false
      lose_reviews('the daemon was stopped')
      require('fileops.corrections').forget()
      if M.state.status ~= 'failed' then enter('stopped') end
      return release('the daemon was stopped')
    end
    if shared and code == 0 and signal == 0 then return await_next(shared.socket) end
    crashed(how)
  end)
end

--- The configuration for Neovim's LSP client; `vim.lsp.config('fileops', {…})` may change it.
---@return vim.lsp.Config
function M.lsp_config()
  return handshake.lsp_config({ cmd = connect, on_init = on_init, on_exit = on_exit, root = M.root })
end

--- Start the process without further checks.
function M.launch()
  local settings = M.lsp_config()
  if is_0_11 then settings = vim.tbl_extend('force', {}, vim.lsp.config.fileops or settings) end
  settings.root_dir = M.root()
  settings.workspace_folders = { { name = settings.root_dir, uri = vim.uri_from_fname(settings.root_dir) } }
  M.state.stopping = false
  next_daemon.leave()
  enter('starting')
  require('fileops.watch').start() -- now: what is typed before the daemon answers is already in the present text
  local id
  if is_0_11 then
    id = vim.lsp.start(settings, { attach = false })
  else
    settings.reuse_client = nil
    id = vim.lsp.start_client(settings) -- luacheck: ignore 143
  end
  if id then
    M.state.client_id = M.state.client_id or id
  else
    enter('failed', 'the daemon could not be started; see :Fileops log')
    release(M.state.problem)
  end
end

--- Call back with the running client, which is started if necessary, or with what prevents that.
---@param callback fun(problem: string?, client: vim.lsp.Client?)
function M.ready(callback)
  local client = M.client()
  if M.state.status == 'running' and client then return callback(nil, client) end
  if M.state.status == 'failed' then return callback(M.state.problem) end
  waiting[#waiting + 1] = callback
  if M.state.status == 'starting' then return end
  enter('starting')
  locate.prepare(function()
    if M.state.status ~= 'starting' then return release('the daemon was stopped') end
    local places, found = locate.find()
    if not found then
      local problem, details = locate.missing(places)
      enter('failed', problem)
      messages.complain(problem, ('%s; %s'):format(problem, details))
      return release(problem)
    end
    M.state.private_reason = nil
    M.launch()
  end)
end

--- Start it if it does not run; after a failure, try once more.
function M.start()
  if M.state.status == 'failed' then
    locate.forget()
    M.state.restarts = {}
    enter('stopped')
  end
  M.ready(function() end)
end

---@param callback? fun() when it is gone
function M.stop(callback)
  next_daemon.leave()
  local client = M.client()
  callback = callback or function() end
  if not client then
    if M.state.status ~= 'failed' then enter('stopped') end
    return callback()
  end
  require('fileops.review.questions').reject_all()
  M.state.stopping = true
  local off
  off = events.on('status', function(data)
    if data.status ~= 'stopped' and data.status ~= 'failed' then return end
    off()
    callback()
  end)
  call(client, 'stop')
  vim.defer_fn(function() -- one that does not answer `shutdown` is killed
    if not client.rpc.is_closing() then call(client, 'stop', true) end
  end, 3000)
end

function M.restart()
  config.forget()
  M.stop(function()
    M.state.restarts = {}
    if M.state.status == 'failed' then enter('stopped') end
    M.start()
  end)
end

return M
