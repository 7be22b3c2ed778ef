-- What language servers of this Neovim find, in the answers to an agent's edits, through the real daemon.
local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local world = require('world')

local PROGRAM = vim.fn.getcwd() .. '/tests/support/scripted_language_server.py'

---@param text string
---@param behaviour? table
---@return string path, fileops.Session agent, integer buf
local function checked(text, behaviour)
  local path, agent, buf = world.new(text, {
    server = { approval_mode = 'yolo', diagnostics = 'details', diagnostics_wait_s = 30 },
  })
  if behaviour then
    vim.lsp.start({
      name = 'scripted',
      cmd = { 'python3', '-I', '-S', PROGRAM, vim.json.encode(behaviour) },
      root_dir = vim.fs.dirname(path),
    }, { bufnr = buf, reuse_client = function() return false end })
    t.wait(function() return #vim.diagnostic.get(buf) > 0 end, 'the problems of the text')
  end
  return path, agent, buf
end

local function stop_servers()
  for _, client in ipairs(vim.lsp.get_clients({ name = 'scripted' })) do
    if vim.fn.has('nvim-0.11') == 1 then
      client:stop(true)
    else
      client.stop(true)
    end
    t.wait(function() return vim.lsp.get_client_by_id(client.id) == nil end, 'its end')
  end
end

---@param path string
---@param sha256 any
---@param wait_s number
---@return fileops.wire.DiagnosticsAnswer
local function ask(path, sha256, wait_s)
  local answer
  local params = { file_path = path, uri = vim.uri_from_fname(path), sha256 = sha256, wait_s = wait_s }
  local from = { client_id = vim.lsp.get_clients({ name = 'fileops' })[1].id, request_id = 1 }
  require('fileops.diagnostics').ask(params, from, function(value) answer = value end)
  t.wait(function() return answer end, 'the answer')
  return answer
end

--- An agent reads, and edits once the servers have said what they find in what it read, as they have by the time that
--- a model has answered.
---@param agent fileops.Session
---@param path string
---@param old string
---@param new string
---@return fileops.wire.DiagnosticsReport?
local function edited(agent, path, old, new)
  t.async(function() world.succeeded(agent:read({ file_path = path })) end)
  ask(path, vim.NIL, 30)
  local result
  t.async(
    function() result = world.succeeded(agent:edit({ file_path = path, old_string = old, new_string = new })) end
  )
  return result.details.diagnostics
end

for _, kind in ipairs({ 'publishes', 'is asked' }) do
  t.it('an edit reports what it introduced and resolved, where the server ' .. kind, function()
    local path, agent = checked('é = BAD\none\n', { pull = kind == 'is asked' })
    local report = edited(agent, path, 'one', 'é BAD two')
    t.eq({ report.state, report.n_introduced, report.n_resolved }, { 'settled', 1, 0 })
    t.eq({ #report.sources, report.introduced[1].code }, { 1, 'B1' })
    t.eq({ report.introduced[1].start_line, report.introduced[1].start_column }, { 2, 3 })
    report = edited(agent, path, 'é = BAD\n', '')
    t.eq({ report.state, report.n_introduced, report.n_resolved }, { 'settled', 0, 1 })
    stop_servers()
  end)
end

t.it('unsaved text is the text that is compared', function()
  local path, agent, buf = checked('BAD\none\ntwo\n', {})
  vim.api.nvim_buf_set_lines(buf, 1, 2, true, { 'typed BAD' })
  local report = edited(agent, path, 'two', 'BAD')
  t.eq({ report.state, report.n_introduced, report.n_resolved }, { 'settled', 1, 0 })
  stop_servers()
end)

t.it('what a server publishes for an older text, or not at all, is no answer', function()
  local path, _, buf = checked('BAD\none\n', { silent = true })
  local server = vim.lsp.get_clients({ name = 'scripted' })[1]
  local function publish(version)
    local method = 'textDocument/publishDiagnostics'
    local params = { uri = vim.uri_from_bufnr(buf), version = version, diagnostics = {} }
    server.handlers[method](nil, params, { client_id = server.id, method = method })
  end
  local before = vim.lsp.util.buf_versions[buf]
  vim.api.nvim_buf_set_lines(buf, 1, 2, true, { 'two' })
  t.eq(ask(path, vim.NIL, 1).state, 'pending')
  publish(before)
  t.eq(ask(path, vim.NIL, 1).state, 'pending')
  publish(vim.lsp.util.buf_versions[buf])
  t.eq(ask(path, vim.fn.sha256('BAD\ntwo\n'), 30).state, 'settled')
  stop_servers()
end)

t.it('all that ask about a text are answered at once', function()
  local path, _, buf = checked('BAD\none\n', {})
  local params = { file_path = path, uri = vim.uri_from_fname(path), sha256 = vim.NIL, wait_s = 30 }
  local from = { client_id = vim.lsp.get_clients({ name = 'fileops' })[1].id, request_id = 1 }
  local states = {}
  vim.api.nvim_buf_set_lines(buf, 1, 2, true, { 'BAD' })
  for n = 1, 3 do
    require('fileops.diagnostics').ask(params, from, function(value) states[n] = value.state end)
    vim.wait(20, function() return #states > 0 end) -- they are not asked at the same moment
  end
  t.wait(function() return next(states) end, 'the first answer')
  t.eq(states, { 'settled', 'settled', 'settled' })
  stop_servers()
end)

t.it('without a language server this editor is no source', function()
  local path, agent = checked('BAD\none\n')
  t.eq(edited(agent, path, 'one', 'BAD'), nil)
end)

t.it('a text that it does not have is not answered', function()
  local path = checked('BAD\none\n', {})
  local present = ask(path, vim.NIL, 30)
  t.eq({ present.state, #present.diagnostics }, { 'settled', 1 })
  t.eq(present.sha256, vim.fn.sha256('BAD\none\n'))
  t.eq(ask(path, ('0'):rep(64), 1), { state = 'pending' })
  stop_servers()
end)
