-- Finds the daemon's command, and says what to do if there is none.
local config = require('fileops.config')

local M = {}

local python_has_it ---@type boolean? nil while it has not been asked

--- The folders in which the person only works: no program and no module in them is ever run. The home folder and those
--- above it do not count, because the user's programs are there.
---@return string[]
local function worked_in()
  local folders = { assert(vim.uv.cwd()), require('fileops.client.process').root() }
  local home = vim.uv.os_homedir() .. '/'
  folders = vim.tbl_map(function(folder) return vim.uv.fs_realpath(folder) or folder end, folders)
  return vim.tbl_filter(
    function(folder) return folder ~= '/' and not vim.startswith(home, folder .. '/') end,
    folders
  )
end

--- The entries of a search path that are absolute, and outside the folders of work. A relative or empty entry means the
--- current folder.
---@param search_path string?
---@return string[]
local function entries_of(search_path)
  local folders = worked_in()
  return vim.tbl_filter(function(entry)
    local place = vim.startswith(entry, '/') and (vim.uv.fs_realpath(entry) or entry)
    return place
      and not vim.iter(folders):any(function(folder) return vim.startswith(place .. '/', folder .. '/') end)
  end, vim.split(search_path or '', ':', { plain = true }))
end

--- Find a program. A name is looked up on the PATH, outside the folders of work; a path is used as it is.
---@param name string
---@return string?
local function program(name)
  if name:find('/', 1, true) then return vim.fn.executable(name) == 1 and name or nil end
  for _, entry in ipairs(entries_of(vim.env.PATH)) do
    local candidate = vim.fs.joinpath(entry, name)
    local place = vim.uv.fs_realpath(candidate)
    if place and vim.fn.executable(candidate) == 1 and #entries_of(vim.fs.dirname(place)) == 1 then
      return candidate
    end
  end
end

--- The environment in which it runs: there, too, Python finds its modules in no other place.
---@return table<string, string>?
function M.environment()
  local given = vim.env.PYTHONPATH
  return given and { PYTHONPATH = table.concat(entries_of(given), ':') } or nil
end

--- A command with its program looked up, and with -P if it is a Python that runs a module; otherwise Python would look
--- for the module in the current folder first.
---@param cmd string[]
---@return string[]?
local function resolved(cmd)
  local found = program(cmd[1])
  if not found then return nil end
  local words = vim.list_extend({ found }, cmd, 2)
  local is_python = vim.fs.basename(found):find('^python') ~= nil
  if is_python and words[2] == '-m' then table.insert(words, 2, '-P') end
  return words
end

local PYTHON = { 'python3', '-P', '-m', 'fileops' }

--- Ask python3 whether it has the daemon. This may take seconds.
---@param done fun()
---@return vim.SystemObj? running nil where python3 cannot be started
local function ask_python(done)
  local cmd = resolved(PYTHON)
  if cmd then
    local options = { text = true, timeout = 5000, env = M.environment() }
    local ok, running = pcall(vim.system, vim.list_extend(cmd, { '--version' }), options, function(out)
      python_has_it = out.code == 0 and out.stdout:find('fileops', 1, true) ~= nil
      vim.schedule(done)
    end)
    if ok then
      return running --[[@as vim.SystemObj]]
    end
  end
  python_has_it = false
  vim.schedule(done)
end

--- Where pipx installs it. Not every Neovim has that on its PATH, such as one started from a desktop's menu.
---@return string
local function of_user() return vim.fn.expand('~/.local/bin/fileops-server') end

---@return boolean
local function python_serves()
  if python_has_it == nil then
    local running = ask_python(function() end)
    if running then running:wait() end
  end
  return python_has_it == true
end

--- Call back once `find` need not wait for python3.
---@param done fun()
function M.prepare(done)
  local needs_python = python_has_it == nil
    and not config.get().cmd
    and not program('fileops-server')
    and vim.fn.executable(of_user()) == 0
    and program('python3') ~= nil
  if needs_python then
    ask_python(done)
  else
    done()
  end
end

--- The places to search, in order; the first usable one ends the search. If `prepare` was not called, this may wait for
--- python3.
---@return fileops.Place[] places, fileops.Place? found
function M.find()
  local places = {} ---@type fileops.Place[]
  ---@param from string
  ---@param cmd string[]
  local function try(from, cmd)
    local found = resolved(cmd)
    local usable = found ~= nil and (from ~= 'python3' or python_serves())
    places[#places + 1] = { from = from, cmd = usable and found or cmd, usable = usable }
    return usable
  end
  local own = config.get().cmd
  -- An explicit setting is not silently replaced.
  local found = own and try('cmd', own)
    or not own
      and (try('PATH', { 'fileops-server' }) or try('pipx', { of_user() }) or try('python3', PYTHON))
  return places, found and places[#places] or nil
end

--- What to do about a missing daemon, and everything that was tried.
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

--- How to install the daemon: from the clone that contains this plugin, if there is one.
---@param flags? string
---@return string
function M.install_command(flags)
  local here = vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2))
  local clone = vim.fn.fnamemodify(here, ':p:h:h:h:h:h:h')
  if not vim.uv.fs_stat(clone .. '/server/fileops') then clone = '/path/to/fileops-server' end
  local sources = ("'%s[review]'"):format(clone)
  return ('pipx install %s%s'):format(flags or '', sources)
end

--- The command that attaches to the user's shared daemon and starts it if necessary.
---@param cmd string[]
---@return string[]
function M.shared(cmd)
  if vim.list_contains(cmd, '--shared') then return cmd end -- such as one over ssh
  return vim.list_extend(vim.deepcopy(cmd), { '--shared' })
end

--- The arguments that serve MCP, as `fileops-server mcp config` prints them.
---@param cmd string[]
---@param root string a workspace folder; the home folder and those above it are none, and `mcp` refuses them
---@return string[]
function M.mcp(cmd, root)
  local arguments = vim.tbl_filter(function(word) return word ~= '--shared' end, vim.list_slice(cmd, 2))
  vim.list_extend(arguments, { 'mcp', '--freshness', 'relevant', '--notices', 'on' })
  for _, home in ipairs({ vim.uv.os_homedir(), vim.uv.os_get_passwd().homedir }) do
    if vim.startswith(home .. '/', root == '/' and root or root .. '/') then return arguments end
  end
  return vim.list_extend(arguments, { '--root', root })
end

--- Why there is no shared daemon, for people.
---@param last_words string what the command said last
---@return string
function M.why_private(last_words)
  if last_words:find('unrecognized arguments: --shared', 1, true) then
    return 'the installed fileops-server is too old: ' .. M.install_command('--force ')
  end
  return (last_words:gsub('^fileops%-server: ', ''))
end

--- Let the next `find` check again whether Python has it.
function M.forget() python_has_it = nil end

return M
