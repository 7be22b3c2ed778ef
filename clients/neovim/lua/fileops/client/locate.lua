-- Where the daemon's command is, and what to do where it is nowhere.
local config = require('fileops.config')

local M = {}

local python_has_it ---@type boolean? nil while it has not been asked

--- Ask python3 whether it has the daemon. It may take seconds to say so.
---@param done fun()
---@return vim.SystemObj? running nil where python3 cannot be started
local function ask_python(done)
  local options = { text = true, timeout = 5000 }
  local ok, running = pcall(vim.system, { 'python3', '-m', 'fileops', '--version' }, options, function(out)
    python_has_it = out.code == 0 and out.stdout:find('fileops', 1, true) ~= nil
    vim.schedule(done)
  end)
  if ok then
    return running --[[@as vim.SystemObj]]
  end
  python_has_it = false
  vim.schedule(done)
end

--- Where pipx puts it, which is not on the PATH of every Neovim (one started from a desktop's menu, say).
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

--- Call back once `find` does not have to wait for python3.
---@param done fun()
function M.prepare(done)
  local needs_python = python_has_it == nil
    and not config.get().cmd
    and vim.fn.executable('fileops-server') == 0
    and vim.fn.executable(of_user()) == 0
    and vim.fn.executable('python3') == 1
  if needs_python then
    ask_python(done)
  else
    done()
  end
end

--- The places that are looked at, in their order; the search ends with the first usable one. Where `prepare` has not
--- been called, this may wait for python3.
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
  places[2] = { from = 'pipx', cmd = { of_user() }, usable = vim.fn.executable(of_user()) == 1 }
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

--- How the daemon is installed: from the clone that this plugin is part of, where it is.
---@param flags? string
---@return string
function M.install_command(flags)
  local here = vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2))
  local clone = vim.fn.fnamemodify(here, ':p:h:h:h:h:h:h')
  if not vim.uv.fs_stat(clone .. '/server/fileops') then clone = '/path/to/fileops-server' end
  return ('pipx install %s%s'):format(flags or '', vim.fn.fnamemodify(clone, ':~'))
end

--- The command that attaches to the user's shared daemon, starting it where needed.
---@param cmd string[]
---@return string[]
function M.shared(cmd)
  if vim.list_contains(cmd, '--shared') then return cmd end -- one over ssh, say
  return vim.list_extend(vim.deepcopy(cmd), { '--shared' })
end

--- The arguments after the program's name that serve MCP, as `fileops-server mcp config` prints them.
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

--- Why there is no shared daemon, for the person.
---@param last_words string what the command said last
---@return string
function M.why_private(last_words)
  if last_words:find('unrecognized arguments: --shared', 1, true) then
    return 'the installed fileops-server is too old: ' .. M.install_command('--force ')
  end
  return (last_words:gsub('^fileops%-server: ', ''))
end

--- Check again at the next `find` whether Python has it.
function M.forget() python_has_it = nil end

return M
