-- Finds, starts and supervises the daemon: one for the whole editor. Crashes are met with a bounded number of
-- restarts; one that is missing or too old is named, with what to do about it.
local config = require('fileops.config')
local events = require('fileops.events')
local log = require('fileops.log')
local protocol = require('fileops.protocol')
local say = require('fileops.say')

local M = {}

---@class (exact) fileops.State
---@field status 'stopped'|'starting'|'running'|'failed'
---@field problem? string why it failed
---@field client_id? integer
---@field cmd? string[]
---@field from? string where the command was found
---@field root? string the folder that it was started for
---@field server? { name: string, version: string }
---@field capabilities? table experimental.fileops of the daemon
---@field health? fileops.WatcherHealth
---@field restarts number[] when it was restarted, seconds
---@field stopping boolean

---@type fileops.State
M.state = { status = 'stopped', restarts = {}, stopping = false }

local is_0_11 = vim.fn.has('nvim-0.11') == 1

local waiting = {} ---@type fun(problem: string?, client: vim.lsp.Client?)[]

local told ---@type string? the last complaint, until the main loop goes on

---@param problem string
---@param details? string more of it, for the log
local function complain(problem, details)
  log.note(details or problem)
  say.error(problem)
  told = problem
  vim.schedule(function() told = nil end)
end

--- Whether the person was told this in the same moment; a caller that fails for it need not repeat it.
---@param problem string
---@return boolean
function M.has_told(problem) return told == problem end

--- How the daemon is installed: from the clone that this plugin is part of, where it is.
---@param flags? string
---@return string
function M.install_command(flags)
  local here = vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2))
  local clone = vim.fn.fnamemodify(here, ':p:h:h:h:h:h')
  if not vim.uv.fs_stat(clone .. '/server/fileops') then clone = '/path/to/fileops-server' end
  return ('pipx install %s%s'):format(flags or '', vim.fn.fnamemodify(clone, ':~'))
end

---@param status 'stopped'|'starting'|'running'|'failed'
---@param problem? string
local function enter(status, problem)
  M.state.status, M.state.problem = status, problem
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
local python_has_it ---@type boolean?

---@return boolean
local function python_serves()
  if python_has_it == nil then
    local ok, out = pcall(
      function()
        return vim.system({ 'python3', '-m', 'fileops', '--version' }, { text = true, timeout = 5000 }):wait()
      end
    )
    python_has_it = ok and out.code == 0 and out.stdout:find('fileops', 1, true) ~= nil
  end
  return python_has_it --[[@as boolean]]
end

---@class (exact) fileops.Place
---@field from string
---@field cmd string[]
---@field usable boolean

--- The places that are looked at, in their order; the search ends with the first usable one.
---@return fileops.Place[] places, fileops.Place? found
function M.find()
  local places = {} ---@type fileops.Place[]
  local own = config.get().cmd
  if own then
    places[1] = { from = 'cmd', cmd = own, usable = vim.fn.executable(own[1]) == 1 }
    return places, places[1].usable and places[1] or nil -- a wish is not silently replaced by something else
  end
  places[1] = { from = 'PATH', cmd = { 'fileops-server' }, usable = vim.fn.executable('fileops-server') == 1 }
  if places[1].usable then return places, places[1] end
  -- where pipx puts it, which is not on the PATH of every Neovim (one started from a desktop's menu, say)
  local of_user = vim.fn.expand('~/.local/bin/fileops-server')
  places[2] = { from = 'pipx', cmd = { of_user }, usable = vim.fn.executable(of_user) == 1 }
  if places[2].usable then return places, places[2] end
  places[3] = {
    from = 'python3',
    cmd = { 'python3', '-m', 'fileops' },
    usable = vim.fn.executable('python3') == 1 and python_serves(),
  }
  return places, places[3].usable and places[3] or nil
end

--- What to do about a daemon that is not there, and all that was tried.
---@param places fileops.Place[]
---@return string problem, string details
function M.missing(places)
  local tried = vim.tbl_map(
    function(place) return ('%s (%s)'):format(table.concat(place.cmd, ' '), place.from) end,
    places
  )
  local details = 'no daemon found; tried ' .. table.concat(tried, ', then ')
  if places[1].from == 'cmd' then
    return ('no daemon: correct `cmd`, which is %s'):format(places[1].cmd[1]), details
  end
  return 'no daemon found: ' .. M.install_command(), details
end

--- What is wrong with the daemon that answered, if anything.
---@param result table of `initialize`
---@return string?
function M.unfit(result)
  local server = result.serverInfo or {}
  local ours = vim.tbl_get(result, 'capabilities', 'experimental', 'fileops')
  if not ours then return ('%s is not a fileops daemon'):format(server.name or 'the program') end
  if ours.protocol_version ~= protocol.PROTOCOL_VERSION then
    local newer = (tonumber(ours.protocol_version) or 0) > protocol.PROTOCOL_VERSION
    local advice = newer and 'update this plugin' or M.install_command('--force ')
    return ('the daemon speaks protocol %s, this plugin %d; %s'):format(
      tostring(ours.protocol_version),
      protocol.PROTOCOL_VERSION,
      advice
    )
  end
  local version = vim.version.parse(server.version or '', { strict = false })
  if version and vim.version.lt(version, protocol.OLDEST_DAEMON) then
    return ('the daemon is %s, this plugin needs %s or newer: %s'):format(
      server.version,
      protocol.OLDEST_DAEMON,
      M.install_command('--force ')
    )
  end
  return nil
end

---@return string
function M.root()
  local set = config.get().root
  if set then return vim.fs.normalize(set) end
  local cwd = assert(vim.uv.cwd())
  return vim.fs.root(cwd, { '.git' }) or cwd
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

---@param dispatchers vim.lsp.rpc.Dispatchers
---@return vim.lsp.rpc.PublicClient
local function connect(dispatchers)
  local places, found = M.find()
  if not found then error('fileops: ' .. M.missing(places), 0) end
  M.state.cmd, M.state.from, M.state.root = found.cmd, found.from, M.root()
  log.note('start: ' .. table.concat(found.cmd, ' '))
  connection = require('fileops.rpc').start(found.cmd, dispatchers, {
    cwd = M.state.root,
    on_stderr = vim.schedule_wrap(log.write),
    on_refused = M.refused,
  })
  return connection
end

---@param client vim.lsp.Client
---@param result table
local function on_init(client, result)
  local problem = M.unfit(result)
  M.state.client_id = client.id
  M.state.server = result.serverInfo
  M.state.capabilities = vim.tbl_get(result, 'capabilities', 'experimental', 'fileops')
  if problem then
    enter('failed', problem)
    complain(problem)
    M.state.stopping = true
    call(client, 'stop')
    return release(problem)
  end
  enter('running')
  require('fileops.sync').attach_all(client.id)
  release(nil, client)
end

--- It ran, but would not serve: a setting that it does not take, most likely. Neovim's own answer to that is a
--- traceback of many lines.
---@param refusal string
function M.refused(refusal)
  if M.state.stopping then return end
  local problem = 'the daemon refused to start: ' .. refusal
  M.state.stopping = true
  enter('failed', problem)
  complain(problem)
  release(problem)
end

--- May it be started once more? Crashes that lie further back than the window do not count.
---@param restarts number[] seconds
---@param now number
---@param options fileops.RestartOptions
---@return boolean allowed, number delay_s
function M.may_restart(restarts, now, options)
  local recent = vim.tbl_filter(function(time) return now - time < options.within_s end, restarts)
  return #recent < options.max, options.delay_s * 2 ^ #recent
end

---@param how string
local function crashed(how)
  require('fileops.review').withdraw_all('the daemon ended')
  require('fileops.correction').forget()
  require('fileops.stale').forget()
  local options = config.get().restart
  local now = vim.uv.hrtime() / 1e9
  local allowed, delay_s = M.may_restart(M.state.restarts, now, options)
  if not allowed then
    local problem = 'the daemon keeps ending and stays down: :Fileops restart'
    enter('failed', problem)
    complain(problem, ('%s (%s, time %d in %d s)'):format(problem, how, options.max + 1, options.within_s))
    return release(problem)
  end
  table.insert(M.state.restarts, now)
  enter('starting')
  log.note(('the daemon ended %s; restart in %.1f s'):format(how, delay_s))
  say.warn('the daemon ended unexpectedly and is started again')
  vim.defer_fn(function()
    if M.state.status == 'starting' and not M.client() then M.launch() end
  end, delay_s * 1000)
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
    if M.state.stopping or (connection and connection.stopped_by_us()) then
      M.state.stopping = false
      require('fileops.review').withdraw_all('the daemon was stopped')
      require('fileops.correction').forget()
      require('fileops.stale').forget()
      if M.state.status ~= 'failed' then enter('stopped') end
      return release('the daemon was stopped')
    end
    crashed(how)
  end)
end

--- Of an empty table nobody can tell whether it is a list; what the daemon wants as an object is made one.
---@param options table initializationOptions
---@return table
function M.as_json(options)
  options = vim.deepcopy(options)
  local function object(value) return type(value) == 'table' and not next(value) and vim.empty_dict() or value end
  options.limits = object(options.limits)
  for _, filesystem in ipairs(options.filesystems or {}) do
    filesystem.options = object(filesystem.options)
  end
  return object(options)
end

--- The configuration for Neovim's LSP client; `vim.lsp.config('fileops', {…})` may change it.
---@return vim.lsp.Config
function M.lsp_config()
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.experimental =
    { fileops = { confirm_edit = true, confirm_command = true, correct_edit = true } }
  -- Neovim takes versioned edits without saying so; ours refuses them where the version moved
  capabilities.workspace.workspaceEdit.documentChanges = true
  capabilities.workspace.codeLens = { refreshSupport = true } -- before 0.12 by `lenses`
  return {
    name = 'fileops',
    cmd = connect,
    capabilities = capabilities,
    handlers = require('fileops.handlers').all(),
    -- every keystroke is told at once: the daemon decides by it what may be written to disk
    flags = { debounce_text_changes = 0, allow_incremental_sync = true },
    before_init = function(params)
      local options = vim.tbl_extend('force', params.initializationOptions or {}, config.get().server)
      params.initializationOptions = M.as_json(options)
    end,
    on_init = on_init,
    on_exit = on_exit,
    root_dir = function(buf, on_dir)
      local _, found = M.find()
      if found and require('fileops.sync').is_told(buf) then on_dir(M.root()) end
    end,
    reuse_client = function(client) return client.name == 'fileops' end,
  }
end

--- Start the process, without further questions.
function M.launch()
  local settings = M.lsp_config()
  if is_0_11 then settings = vim.tbl_extend('force', {}, vim.lsp.config.fileops or settings) end
  settings.root_dir = M.root()
  settings.workspace_folders = { { name = settings.root_dir, uri = vim.uri_from_fname(settings.root_dir) } }
  M.state.stopping = false
  enter('starting')
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

--- Call back with the running client, starting it where needed, or with what prevents it.
---@param callback fun(problem: string?, client: vim.lsp.Client?)
function M.ready(callback)
  local client = M.client()
  if M.state.status == 'running' and client then return callback(nil, client) end
  if M.state.status == 'failed' then return callback(M.state.problem) end
  waiting[#waiting + 1] = callback
  if M.state.status == 'starting' then return end
  local places, found = M.find()
  if not found then
    local problem, details = M.missing(places)
    enter('failed', problem)
    complain(problem, ('%s; %s'):format(problem, details))
    return release(problem)
  end
  M.launch()
end

--- Start it if it does not run; after a failure, try once more.
function M.start()
  if M.state.status == 'failed' then
    python_has_it = nil
    M.state.restarts = {}
    enter('stopped')
  end
  M.ready(function() end)
end

---@param callback? fun() when it is gone
function M.stop(callback)
  local client = M.client()
  callback = callback or function() end
  if not client then
    if M.state.status ~= 'failed' then enter('stopped') end
    return callback()
  end
  require('fileops.review').reject_all()
  M.state.stopping = true
  local off
  off = events.on('status', function(data)
    if data.status ~= 'stopped' and data.status ~= 'failed' then return end
    off()
    callback()
  end)
  call(client, 'stop')
  vim.defer_fn(function() -- one that does not answer to `shutdown` is ended
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
