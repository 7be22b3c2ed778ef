local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local daemon = require('fileops.client.process')
local fileops = require('fileops')
local world = require('world')
local succeeded, text_of = world.succeeded, world.text_of

t.it('an edit is written, the buffer follows at once, its lines are marked', function()
  local path, agent, buf = world.new()
  local win = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_cursor(0, { 2, 4 })
  t.async(function()
    succeeded(agent:read({ file_path = path }))
    succeeded(
      agent:edit({ file_path = path, old_string = 'def f():', new_string = '# one\n# two\ndef f(x):' })
    )
  end)
  t.eq(t.contents(path), '# one\n# two\ndef f(x):\n    return 1\n')
  t.eq(text_of(buf), t.contents(path))
  t.eq({ vim.bo[buf].modified, vim.api.nvim_win_get_cursor(win) }, { false, { 4, 4 } })
  world.marked(buf, { 1 })
  t.eq({ #world.own_windows(), vim.api.nvim_get_current_win() }, { 0, win })
end)

t.it('two edits at once are both in file and buffer', function()
  local path, agent, buf = world.new('a\nb\nc\nd\ne\nf\n')
  t.async(function() succeeded(agent:read({ file_path = path })) end)
  local n_done = 0
  for _, letter in ipairs({ 'a', 'f' }) do
    agent:edit({ file_path = path, old_string = letter, new_string = letter:upper() }, function(err, result)
      succeeded(result, err)
      n_done = n_done + 1
    end)
  end
  t.wait(function() return n_done == 2 end)
  t.eq(t.contents(path), 'A\nb\nc\nd\ne\nF\n')
  t.wait(function() return text_of(buf) == t.contents(path) end)
  t.eq(vim.bo[buf].modified, false)
end)

t.it('multi_edit applies all steps or none', function()
  local path, agent, buf = world.new()
  t.async(function()
    succeeded(agent:read({ file_path = path }))
    local steps = { { old_string = 'f()', new_string = 'g()' }, { old_string = 'nowhere', new_string = '' } }
    local result = agent:multi_edit({ file_path = path, edits = steps })
    t.eq({ result.error.code, result.details.edit_index }, { 'no_match', 1 })
    steps[2].old_string = '1'
    steps[2].new_string = '2'
    succeeded(agent:multi_edit({ file_path = path, edits = steps }))
  end)
  t.eq(text_of(buf), 'def g():\n    return 2\n')
end)

t.it("a whole text is written as its changes, and refused if it would lose others'", function()
  local path, agent, buf = world.new('a\nb\nc\n')
  t.async(function()
    t.eq(succeeded(agent:read({ file_path = path, raw = true })).details.text, 'a\nb\nc\n')
    succeeded(agent:write({ file_path = path, content = 'a\nB\nc\n' }))
    t.eq(text_of(buf), 'a\nB\nc\n')
    world.marked(buf, { 2 })
    vim.api.nvim_buf_set_lines(buf, 0, 1, true, { 'typed' })
    local result = agent:write({ file_path = path, content = 'a\nb\nc\n' })
    t.eq(result.error.code, 'modified_externally')
  end)
  t.eq(text_of(buf), 'typed\nB\nc\n')
end)

t.it('a dry run shows and writes nothing', function()
  local path, agent = world.new()
  t.async(function()
    succeeded(agent:read({ file_path = path }))
    local params = { file_path = path, old_string = '1', new_string = '2', dry_run = true }
    t.eq(succeeded(agent:edit(params)).ui_extra.stats, { added = 1, removed = 1 })
  end)
  t.eq(t.contents(path), 'def f():\n    return 1\n')
end)

t.it('failures of a tool are results, bad requests are errors', function()
  local path, agent = world.new()
  t.async(function()
    local result = agent:edit({ file_path = path, old_string = '1', new_string = '2' })
    t.eq({ result.status, result.error.code }, { 'error', 'not_read' })
    local nothing, err = agent:read({ file_path = 3 })
    t.eq({ nothing, err.code }, { nil, -32602 })
    local tools = fileops.tools()
    t.eq(vim.tbl_map(function(tool) return tool.method end, tools.tools), {
      'fileops/read',
      'fileops/edit',
      'fileops/multiEdit',
    })
  end)
end)

t.it('another program makes a file stale, and the autocmd runs', function()
  local path, agent = world.new()
  local heard
  vim.api.nvim_create_autocmd('User', {
    pattern = 'FileopsStale',
    once = true,
    callback = function(event) heard = event.data end,
  })
  t.async(function() succeeded(agent:read({ file_path = path })) end)
  vim.o.autoread = false
  t.write(path, 'another\n')
  t.wait(function() return heard end, 'FileopsStale')
  vim.o.autoread = true
  t.eq({ heard.session_id, heard.source, heard.reason ~= nil }, { agent.id, 'external', true })
end)

t.it('a file that is not open gets its marks when it is opened', function()
  local path, agent = world.new()
  local other = t.write(vim.fs.dirname(path) .. '/other.py', 'a\nb\nc\n')
  t.async(function()
    succeeded(agent:read({ file_path = other }))
    succeeded(agent:edit({ file_path = other, old_string = 'b', new_string = 'B' }))
  end)
  vim.cmd.edit(other)
  world.marked(vim.api.nvim_get_current_buf(), { 2 })
end)

t.it('a file is created, also one whose buffer is open and untouched', function()
  local path, agent = world.new()
  local new = vim.fs.dirname(path) .. '/new.py'
  t.async(function()
    succeeded(agent:edit({ file_path = new, old_string = '', new_string = 'x\n' }))
    t.eq(t.contents(new), 'x\n')
  end)
end)

t.it('sessions are isolated, and forgotten when closed', function()
  local path, agent = world.new()
  local other = fileops.session('other')
  t.eq(vim.tbl_contains(fileops.sessions(), 'other'), true)
  t.async(function()
    succeeded(agent:read({ file_path = path }))
    t.eq(other:edit({ file_path = path, old_string = '1', new_string = '2' }).error.code, 'not_read')
    t.eq(#agent:tracked().files, 1)
    agent:close()
  end)
  t.eq(vim.tbl_contains(fileops.sessions(), agent.id), false)
end)

t.it('a daemon that keeps crashing stays down, and is reported', function()
  world.new()
  local said = t.said(function()
    for _ = 1, daemon.restarts.max + 2 do
      local client = daemon.client()
      if not client then break end
      local pid = client.rpc.pid()
      vim.uv.kill(pid, 'sigkill')
      t.wait(function()
        local now = daemon.client()
        local new = now and now.rpc.pid() ~= pid and daemon.state.status == 'running'
        return new or daemon.state.status == 'failed'
      end, 'restart or failure')
    end
  end)
  t.eq(daemon.state.status, 'failed')
  local down = vim.iter(said):any(function(text) return text:find('stays down', 1, true) ~= nil end)
  assert(down, vim.inspect(said))
  local err
  fileops.tools(function(problem) err = problem end)
  assert(err.message:find(':Fileops restart', 1, true), err.message)
  t.eq(fileops.status(), 'fileops: no daemon')
  vim.cmd('Fileops restart')
  t.wait(function() return daemon.state.status == 'running' end, 'the restart by hand')
end)

t.it('health reports no problem', function()
  world.new()
  vim.cmd('Fileops info')
  local report = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\n')
  assert(report:find('answers, with 3 tools', 1, true), report)
  assert(report:find('reviews that wait: 0', 1, true), report)
  t.eq(report:find('ERROR', 1, true), nil)
  vim.cmd('bwipeout!')
end)

t.it('stopping leaves no process, and starting again works', function()
  world.new()
  local pid = daemon.client().rpc.pid()
  local gone = false
  fileops.stop(function() gone = true end)
  t.wait(function() return gone end)
  t.eq(daemon.state.status, 'stopped')
  t.eq(vim.uv.kill(pid, 0), nil)
  world.new()
end)

t.it('vim.lsp.enable starts the same daemon for a file', function()
  if vim.fn.has('nvim-0.11') == 0 then return end
  world.new()
  local gone = false
  fileops.stop(function() gone = true end)
  t.wait(function() return gone end)
  vim.lsp.enable('fileops')
  vim.cmd('edit!')
  vim.bo.filetype = 'python'
  t.wait(function() return daemon.state.status == 'running' end, 'vim.lsp.enable')
  t.wait(function() return vim.lsp.buf_is_attached(0, daemon.client().id) end, 'the buffer')
  t.eq(#vim.lsp.get_clients({ name = 'fileops' }), 1)
  local said = t.said(function()
    vim.lsp.enable('fileops', false)
    t.wait(function() return daemon.state.status == 'stopped' end, 'the daemon to stop')
  end)
  t.eq(said, {})
  t.wait(function() return #vim.lsp.get_clients({ name = 'fileops' }) == 0 end, 'its end')
end)
