local t = require('harness')
local config = require('fileops.config')
local daemon = require('fileops.daemon')

local function initialized(experimental, version)
  return {
    serverInfo = { name = 'fileops-server', version = version or '9.9.9' },
    capabilities = { experimental = experimental },
  }
end

t.it('a command that was set is the only place', function()
  config.set({ cmd = { '/nowhere/fileops-server' } })
  local places, found = daemon.find()
  t.eq({ #places, found }, { 1, nil })
  assert(daemon.missing(places):find('correct `cmd`', 1, true))
  config.set({})
end)

t.it('else PATH, then python3; and what is missing is named with how to get it', function()
  local path = vim.env.PATH
  local folder = t.folder()
  vim.env.PATH = folder
  local places, found = daemon.find()
  t.eq(vim.tbl_map(function(place) return place.from end, places), { 'PATH', 'python3' })
  t.eq(found, nil)
  assert(daemon.missing(places):find('pip install fileops-server', 1, true))
  t.write(folder .. '/fileops-server', '#!/bin/sh\n')
  vim.uv.fs_chmod(folder .. '/fileops-server', 493)
  places, found = daemon.find()
  t.eq({ #places, found.from }, { 1, 'PATH' })
  vim.env.PATH = path
end)

t.it('a caller hears that there is no daemon', function()
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

t.it('a daemon that is too old, too new or something else is told apart', function()
  t.eq(daemon.unfit(initialized({ fileops = { protocol_version = 1 } })), nil)
  t.eq(daemon.unfit(initialized({ fileops = { protocol_version = 1 } }, '0.1.0')), nil)
  assert(
    daemon
      .unfit(initialized({ fileops = { protocol_version = 1 } }, '0.0.9'))
      :find('needs 0.1.0 or newer', 1, true)
  )
  assert(
    daemon.unfit(initialized({ fileops = { protocol_version = 2 } })):find('update this plugin', 1, true)
  )
  assert(daemon.unfit(initialized({ fileops = { protocol_version = 0 } })):find('update the daemon', 1, true))
  assert(daemon.unfit(initialized(nil)):find('is not a fileops daemon', 1, true))
end)

t.it('restarts are bounded within their window, and wait longer each time', function()
  local options = { max = 3, within_s = 60, delay_s = 0.5 }
  t.eq({ daemon.may_restart({}, 100, options) }, { true, 0.5 })
  t.eq({ daemon.may_restart({ 90, 95 }, 100, options) }, { true, 2 })
  t.eq((daemon.may_restart({ 90, 95, 99 }, 100, options)), false)
  t.eq({ daemon.may_restart({ 10, 20, 99 }, 100, options) }, { true, 1 })
end)
