local t = require('harness')
local config = require('fileops.config')
local daemon = require('fileops.client.process')
local handshake = require('fileops.client.handshake')
local locate = require('fileops.client.locate')

local function initialized(experimental, version)
  return {
    serverInfo = { name = 'fileops-server', version = version or '9.9.9' },
    capabilities = { experimental = experimental },
  }
end

t.it('a command that was set is the only place', function()
  config.set({ cmd = { '/nowhere/fileops-server' } })
  local places, found = locate.find()
  t.eq({ #places, found }, { 1, nil })
  local problem, details = locate.missing(places)
  assert(problem:find('correct `cmd`', 1, true), problem)
  assert(details:find('/nowhere/fileops-server (cmd)', 1, true), details)
  config.set({})
end)

---@param folder string
local function put_program(folder)
  vim.fn.mkdir(folder, 'p')
  t.write(folder .. '/fileops-server', '#!/bin/sh\n')
  vim.uv.fs_chmod(folder .. '/fileops-server', 493)
end

t.it('then PATH, the folder of pipx, python3; a missing program is named with how to get it', function()
  local path, home = vim.env.PATH, vim.env.HOME
  local folder = t.folder()
  vim.env.PATH, vim.env.HOME = folder, folder
  local places, found = locate.find()
  t.eq(vim.tbl_map(function(place) return place.from end, places), { 'PATH', 'pipx', 'python3' })
  t.eq(found, nil)
  local problem, details = locate.missing(places)
  local clone = vim.fs.dirname(vim.fs.dirname(t.plugin))
  t.eq(problem, ("no daemon found: pipx install '%s[review]'"):format(clone))
  assert(details:find('fileops-server (PATH), then ', 1, true), details)
  put_program(folder .. '/.local/bin')
  places, found = locate.find()
  t.eq({ #places, found.from, found.cmd }, { 2, 'pipx', { folder .. '/.local/bin/fileops-server' } })
  put_program(folder)
  places, found = locate.find()
  t.eq({ #places, found.from }, { 1, 'PATH' })
  vim.env.PATH, vim.env.HOME = path, home
end)

t.it('no program and no module of the folder is run to find the daemon, or as the daemon', function()
  local path, home, pythonpath, cwd = vim.env.PATH, vim.env.HOME, vim.env.PYTHONPATH, assert(vim.uv.cwd())
  local folder = t.folder()
  local mark, work = folder .. '/it-ran', folder .. '/work'
  for _, name in ipairs({ 'python3', 'fileops-server', 'bin/python3', 'bin/fileops-server' }) do
    local program = work .. '/' .. name
    vim.fn.mkdir(vim.fs.dirname(program), 'p')
    t.write(program, ("#!/bin/sh\ntouch '%s'\n"):format(mark))
    vim.uv.fs_chmod(program, 493)
  end
  vim.fn.mkdir(work .. '/.git')
  for _, module in ipairs({ 'fileops/__main__.py', 'fileops/__init__.py', 'sitecustomize.py' }) do
    vim.fn.mkdir(vim.fs.dirname(work .. '/' .. module), 'p')
    t.write(work .. '/' .. module, ("open(%q, 'w')\n"):format(mark))
  end
  vim.uv.fs_symlink(work .. '/bin', folder .. '/linked')
  vim.env.PATH =
    table.concat({ '', '.', 'bin', work .. '/bin', folder .. '/linked', '/usr/bin', '/bin' }, ':')
  vim.env.HOME, vim.env.PYTHONPATH = folder, ':.:' .. work
  vim.cmd.cd(vim.fn.fnameescape(work))
  for _, own in ipairs({ false, { 'python3', '-m', 'fileops' }, { 'fileops-server' } }) do
    config.set({ cmd = own or nil })
    locate.forget()
    local is_ready = false
    locate.prepare(function() is_ready = true end)
    t.wait(function() return is_ready end)
    local _, found = locate.find()
    if found then vim.system(found.cmd, { cwd = work, env = locate.environment() }):wait() end
  end
  t.eq(vim.uv.fs_stat(mark), nil)
  vim.cmd.cd(vim.fn.fnameescape(cwd))
  vim.env.PATH, vim.env.HOME, vim.env.PYTHONPATH = path, home, pythonpath
  config.set({})
  locate.forget()
end)

t.it('no advice names a package of the index', function()
  local advice =
    { locate.install_command(), (locate.missing({ { from = 'PATH', cmd = { 'x' }, usable = false } })) }
  advice[#advice + 1] = handshake.unfit(initialized({ fileops = { protocol_version = 0 } }))
  advice[#advice + 1] = handshake.unfit(initialized({ fileops = { protocol_version = 1 } }, '0.9.9'))
  vim.list_extend(
    advice,
    { t.contents(t.plugin .. '/doc/fileops.txt'), t.contents(t.plugin .. '/README.md') }
  )
  for _, text in ipairs(advice) do
    t.eq(text:match('pipx? install %-*%a* ?fileops%-server'), nil)
  end
end)

t.it('a caller is notified that there is no daemon', function()
  require('world').stop()
  config.set({ cmd = { '/nowhere/fileops-server' } })
  local err
  local said = t.said(function()
    require('fileops').tools(function(problem) err = problem end)
  end)
  assert(err.message:find('/nowhere/fileops-server', 1, true), err.message)
  t.eq(said, { 'fileops: ' .. err.message })
  t.eq(daemon.state.status, 'failed')
  daemon.state.status, daemon.state.problem = 'stopped', nil
  config.set({})
end)

t.it('a user who runs a command is notified once', function()
  require('world').stop()
  config.set({ cmd = { '/nowhere/fileops-server' } })
  for _ = 1, 2 do
    local said = t.said(function() vim.cmd('Fileops agents') end)
    t.eq(said, { 'fileops: no daemon: correct `cmd`, which is /nowhere/fileops-server' })
    vim.wait(0) -- the main loop continues
  end
  daemon.state.status, daemon.state.problem = 'stopped', nil
  config.set({})
end)

t.it('an empty object is sent as an object', function()
  local given =
    { limits = {}, roots = {}, filesystems = { { prefix = '/x', url = 'memory://', options = {} } } }
  local text = vim.json.encode(handshake.as_json(given))
  assert(text:find('"limits":{}', 1, true) and text:find('"options":{}', 1, true), text)
  assert(text:find('"roots":[]', 1, true), text)
  t.eq(vim.json.encode(handshake.as_json({})), '{}')
end)

t.it('a daemon that is too old, too new or something else is recognized', function()
  t.eq(handshake.unfit(initialized({ fileops = { protocol_version = 1 } })), nil)
  t.eq(handshake.unfit(initialized({ fileops = { protocol_version = 1 } }, '1.0.0')), nil)
  assert(
    handshake
      .unfit(initialized({ fileops = { protocol_version = 1 } }, '0.9.9'))
      :find('needs 1.0.0 or newer', 1, true)
  )
  assert(
    handshake.unfit(initialized({ fileops = { protocol_version = 2 } })):find('update this plugin', 1, true)
  )
  assert(
    handshake.unfit(initialized({ fileops = { protocol_version = 0 } })):find('pipx install --force', 1, true)
  )
  assert(handshake.unfit(initialized(nil)):find('is not a fileops daemon', 1, true))
end)

t.it('restarts are bounded within their window, and wait longer each time', function()
  daemon.restarts = { max = 3, within_s = 60, delay_s = 0.5 }
  t.eq({ daemon.may_restart({}, 100) }, { true, 0.5 })
  t.eq({ daemon.may_restart({ 90, 95 }, 100) }, { true, 2 })
  t.eq((daemon.may_restart({ 90, 95, 99 }, 100)), false)
  t.eq({ daemon.may_restart({ 10, 20, 99 }, 100) }, { true, 1 })
end)
