local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local config = require('fileops.config')
local daemon = require('fileops.client.process')
local fileops = require('fileops')
local world = require('world')

--- A command that answers to `--shared` with a sentence and status 1, and is the real daemon otherwise.
---@param sentence string
---@return string[] cmd
local function refusing(sentence)
  local words = vim.iter(t.daemon()):map(vim.fn.shellescape):join(' ')
  local script = table.concat({
    '#!/bin/sh',
    'case " $* " in *" --shared "*)',
    ('  echo %s >&2; exit 1;;'):format(vim.fn.shellescape(sentence)),
    'esac',
    ('exec %s "$@"'):format(words),
    '',
  }, '\n')
  local path = t.write(t.folder() .. '/fileops-server', script)
  assert(vim.uv.fs_chmod(path, 448)) -- 0700
  return { path }
end

t.it('without a shared daemon this editor has its own, and the user is notified once', function()
  local said = t.said(function()
    local path, agent =
      world.new('a\n', { cmd = refusing('fileops-server: The folder /x is open.'), shared = true })
    t.async(function() world.succeeded(agent:read({ file_path = path })) end)
    local pid = daemon.client().rpc.pid()
    vim.uv.kill(pid, 'sigkill')
    t.wait(function()
      local client = daemon.client()
      return client and client.rpc.pid() ~= pid and daemon.state.status == 'running'
    end, 'the daemon to run again')
  end)
  t.eq(said, {
    'fileops: agents outside do not see this editor: The folder /x is open.',
    'fileops: the daemon has ended and is being restarted',
  })
  t.eq({ daemon.state.shared, daemon.state.private_reason }, { nil, 'The folder /x is open.' })
  world.stop()
end)

t.it('a daemon that is too old is named, with what to do', function()
  local said = t.said(function()
    local usage = 'fileops-server: error: unrecognized arguments: --shared'
    world.new('a\n', { cmd = refusing(usage), shared = true })
  end)
  t.eq(#said, 1)
  assert(said[1]:find('is too old: pipx install --force ', 1, true), said[1])
  world.stop()
end)

t.it('a private daemon by choice is not reported', function()
  local said = t.said(function() world.new('a\n', { shared = false }) end)
  t.eq({ said, daemon.state.shared, daemon.state.private_reason }, { {} })
  t.eq(vim.list_contains(daemon.state.cmd, '--shared'), false)
  world.stop()
end)

t.it('the entry of session/new starts the MCP server of the same installation', function()
  config.set({ cmd = t.daemon(), root = t.folder() })
  local server = assert(fileops.mcp_server({ '--approve', 'ask' }))
  t.eq({ server.name, vim.fn.executable(server.command) }, { 'fileops', 1 })
  local messages = vim.json.encode({
    jsonrpc = '2.0',
    id = 1,
    method = 'initialize',
    params = {
      protocolVersion = '2025-06-18',
      capabilities = vim.empty_dict(),
      clientInfo = { name = 't', version = '1' },
    },
  }) .. '\n'
  local done =
    vim.system(vim.list_extend({ server.command }, server.args), { stdin = messages, text = true }):wait()
  t.eq({ done.code, vim.json.decode(done.stdout).result.serverInfo.name }, { 0, 'fileops-server' })
  t.eq(vim.list_slice(server.args, #server.args - 1), { '--approve', 'ask' })
end)

t.it('an entry of session/new names no folder that the server refuses, and hands on the socket', function()
  local home, socket = vim.env.HOME, vim.env.FILEOPS_SOCKET
  vim.env.HOME, vim.env.FILEOPS_SOCKET = t.folder(), '/run/x.sock'
  config.set({ cmd = { 'sh', '--shared' }, root = vim.env.HOME })
  local server = assert(fileops.mcp_server())
  vim.env.HOME, vim.env.FILEOPS_SOCKET = home, socket
  t.eq(server.args, { 'mcp', '--freshness', 'relevant', '--notices', 'on' })
  t.eq(server.env, { { name = 'FILEOPS_SOCKET', value = '/run/x.sock' } })
  config.set({})
end)
