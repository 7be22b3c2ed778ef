local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local daemon = require('fileops.client.process')
local world = require('world')
local succeeded, text_of = world.succeeded, world.text_of

t.it('a read comes from the open document', function()
  local path, agent = world.new()
  t.async(function()
    local result = succeeded(agent:read({ file_path = path }))
    t.eq(result.details.source, 'buffer')
    assert(vim.startswith(result.output, '     1→def f():\n     2→    return 1\n'), result.output)
  end)
end)

t.it('unsaved text is read, and typing makes it stale', function()
  local path, agent, buf = world.new()
  vim.api.nvim_buf_set_lines(buf, 1, 2, true, { '    return 10' })
  t.async(function()
    local read = succeeded(agent:read({ file_path = path }))
    assert(read.output:find('return 10', 1, true), read.output)
  end)
  vim.api.nvim_buf_set_lines(buf, 0, 0, true, { '# typed' })
  t.async(function()
    local result = agent:edit({ file_path = path, old_string = '10', new_string = '11' })
    t.eq(result.error.code, 'modified_externally')
  end)
end)

t.it('an edit of unsaved text happens in the buffer, which stays unsaved', function()
  local path, agent, buf = world.new()
  vim.api.nvim_buf_set_lines(buf, 0, 0, true, { '# typed' })
  local said = t.said(function()
    t.async(function()
      succeeded(agent:read({ file_path = path }))
      local result = succeeded(agent:edit({ file_path = path, old_string = '1', new_string = '2' }))
      t.eq(result.details.applied_to, 'buffer')
    end)
  end)
  t.eq(said, {}) -- two lines of a message, and the editor waits for a key
  t.eq(text_of(buf), '# typed\ndef f():\n    return 2\n')
  t.eq({ vim.bo[buf].modified, t.contents(path) }, { true, 'def f():\n    return 1\n' })
  world.marked(buf, { 3 })
  vim.cmd('silent write')
  t.eq(t.contents(path), text_of(buf))
end)

local LINES = vim.iter(vim.fn.range(1, 30)):map(function(n) return 'line ' .. n end):totable()

for name, is_followed in pairs({ ['has followed'] = true, ['has not followed yet'] = false }) do
  t.it(('only the lines of the agent are marked when the buffer %s another program'):format(name), function()
    local text = table.concat(LINES, '\n') .. '\n'
    local path, agent, buf = world.new(text, { server = { freshness = 'relevant' } })
    local watch = require('fileops.watch')
    t.async(function() succeeded(agent:read({ file_path = path })) end)
    if not is_followed then watch.stop() end
    text = text:gsub('line 2\n', 'new\nLINE 2\n')
    t.write(path, text)
    if is_followed then t.wait(function() return text_of(buf) == text end, 'the buffer to follow') end
    t.async(function()
      local step = { file_path = path, old_string = 'line 25\n', new_string = 'one\ntwo\n' }
      succeeded(agent:edit(step))
    end)
    text = text:gsub('line 25\n', 'one\ntwo\n')
    t.wait(function() return text_of(buf) == text end, 'the edit')
    world.marked(buf, { 26 })
    watch.start()
  end)
end

t.it('a buffer whose file has changed before the daemon ran is brought to it, and counts as clean', function()
  world.stop()
  local path, agent, buf = nil, nil, nil
  local process, ready = daemon, daemon.ready
  process.ready = function(...) -- between the opening of the file and the daemon's start
    require('fileops.watch').stop()
    t.write(vim.api.nvim_buf_get_name(0), 'by another program\n')
    return ready(...)
  end
  local ok, problem = pcall(function()
    path, agent, buf = world.new('old\n')
  end)
  process.ready = ready
  if not ok then error(problem, 0) end
  t.eq({ text_of(buf), vim.bo[buf].modified }, { 'by another program\n', false })
  vim.api.nvim_buf_set_lines(buf, 0, 0, true, { 'typed' })
  t.async(function()
    local read = succeeded(agent:read({ file_path = path }))
    assert(
      read.output:find('typed', 1, true) and read.output:find('by another program', 1, true),
      read.output
    )
  end)
end)

--- The changes of documents that a daemon received, as `tee` has seen them.
---@param log string
---@return integer[] how many places each has
local function changes_in(log)
  local told = {}
  require('fileops.client.rpc').framing(function(body)
    local message = vim.json.decode(body)
    if message.method == 'textDocument/didChange' then told[#told + 1] = #message.params.contentChanges end
  end)(t.contents(log))
  return told
end

for _, case in ipairs({
  { 'a reload', '', 'disk' },
  { 'an edit in the buffer', '# typed', 'buffer' },
}) do
  t.it(('%s at two places is told in one change'):format(case[1]), function()
    local log = t.folder() .. '/heard'
    local heard = vim.list_extend({ 'sh', '-c', 'tee "$0" | "$@"', log }, assert(t.daemon()))
    local path, agent, buf = world.new('one\ntwo\nthree\n', { cmd = heard })
    if case[2] ~= '' then vim.api.nvim_buf_set_lines(buf, 1, 2, true, { case[2] }) end
    t.async(function()
      succeeded(agent:read({ file_path = path }))
      local steps = { { old_string = 'one', new_string = '1' }, { old_string = 'three', new_string = '3' } }
      local result = succeeded(agent:multi_edit({ file_path = path, edits = steps }))
      t.eq(result.details.applied_to, case[3])
      succeeded(agent:read({ file_path = path })) -- comes after the change, over the same pipe
    end)
    local middle = case[2] ~= '' and case[2] or 'two'
    t.eq(text_of(buf), ('1\n%s\n3\n'):format(middle))
    local told = case[2] ~= '' and { 1, 2 } or { 2 }
    t.wait( -- `tee` writes its file after the daemon has heard, and answered
      function() return vim.deep_equal(changes_in(log), told) end,
      function() return 'one change: ' .. vim.inspect(changes_in(log)) end
    )
    vim.bo[buf].modified = false
  end)
end

t.it('typing between the answer to an edit and its notice is no conflict', function()
  local path, agent, buf = world.new()
  t.async(function()
    succeeded(agent:read({ file_path = path }))
    succeeded(agent:edit({ file_path = path, old_string = '1', new_string = '2' }))
  end)
  vim.api.nvim_buf_set_lines(buf, 0, 0, true, { '# typed' })
  local notice =
    { file_path = path, session_id = agent.id, edit_id = '', content_length = 0, source = 'agent' }
  t.eq(t.said(function() require('fileops.client.handlers').all()['fileops/didEdit'](nil, notice) end), {})
  t.eq(text_of(buf), '# typed\ndef f():\n    return 2\n')
end)

t.it('a renamed buffer is another document', function()
  local path, agent, buf = world.new()
  local new = vim.fs.dirname(path) .. '/renamed.py'
  vim.cmd('silent saveas ' .. new)
  vim.api.nvim_buf_set_lines(buf, 0, 1, true, { 'typed' })
  t.async(function()
    t.eq(succeeded(agent:read({ file_path = path })).details.source, 'disk')
    local result = succeeded(agent:read({ file_path = new }))
    t.eq(result.details.source, 'buffer')
    assert(result.output:find('typed', 1, true))
  end)
end)

t.it('a buffer that is too large is not sent, and the user is notified once', function()
  world.stop()
  local text = ('x'):rep(99) .. '\n'
  local said = t.said(function(said)
    local path, agent = world.new(text:rep(20), { max_mb = 0.001 })
    t.wait(function() return #said > 0 end, 'the notice')
    t.eq(vim.lsp.buf_is_attached(0, daemon.client().id), false)
    vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'unsaved' })
    t.async(function() t.eq(succeeded(agent:read({ file_path = path })).details.source, 'disk') end)
    vim.cmd('silent write')
    vim.cmd.edit(t.write(vim.fs.dirname(path) .. '/small.py', text))
    t.eq(vim.lsp.buf_is_attached(0, daemon.client().id), true)
  end)
  t.eq(said, { 'fileops: demo.py is over 0.001 MB: agents see the file, not this buffer' })
end)

t.it('a daemon that refuses to start is reported in one line, and not restarted repeatedly', function()
  world.new()
  world.stop()
  local config = require('fileops.config')
  local settings = config.user()
  config.set(vim.tbl_deep_extend('force', settings, { server = { validators = { 'nonsense' } } }))
  vim.v.errmsg = ''
  local said = t.said(function()
    daemon.start()
    t.wait(function() return daemon.state.status == 'failed' end, 'the refusal')
    t.wait(function() return not daemon.client() end, 'the end of the process')
  end)
  t.eq({ #said, vim.v.errmsg }, { 1, '' })
  assert(vim.startswith(said[1], 'fileops: the daemon refused to start: '), said[1])
  t.eq(daemon.state.status, 'failed')
  config.set(settings)
  daemon.start()
  t.wait(function() return daemon.state.status == 'running' end, 'the start')
end)

t.it('a crashed daemon is restarted and gets the open files, and no caller hangs', function()
  local path, agent = world.new('one\n')
  vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'unsaved' })
  local pid = daemon.client().rpc.pid()
  local said = t.said(function()
    local err
    vim.uv.kill(pid, 'sigstop') -- it cannot answer before it dies
    agent:read({ file_path = path }, function(problem) err = problem end)
    vim.uv.kill(pid, 'sigkill')
    t.wait(function() return err end, 'the caller to hear of it')
    t.wait(
      function() return daemon.state.status == 'running' and daemon.client().rpc.pid() ~= pid end,
      'the restart'
    )
  end)
  t.eq(vim.tbl_contains(said, 'fileops: the daemon has ended and is being restarted'), true)
  t.async(function()
    local result = succeeded(agent:read({ file_path = path }))
    assert(result.output:find('unsaved', 1, true), result.output)
  end)
  t.eq(#daemon.state.restarts, 1)
end)
