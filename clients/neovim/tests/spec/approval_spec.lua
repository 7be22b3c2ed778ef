local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local fileops = require('fileops')
local review = require('fileops.review.queue')
local view = require('fileops.review.view')
local world = require('world')

local TEXT = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nten\neleven\nnine\nend\n'

---@param settings? table
local function asking(settings)
  review.reject_all()
  local options = vim.tbl_extend('force', { approval_mode = 'default' }, settings or {})
  return world.new(TEXT, { server = options })
end

--- An edit whose answer is still to come: { result?, err? }
---@param agent fileops.Session
---@param path string
---@param steps? fileops.wire.EditStep[]
---@return { result?: fileops.wire.ToolResult, err?: table }, fileops.Handle
local function propose(agent, path, steps)
  t.async(function() world.succeeded(agent:read({ file_path = path })) end)
  local n_waiting = #review.waiting()
  local answer = {}
  steps = steps
    or { { old_string = 'two', new_string = 'TWO' }, { old_string = 'nine', new_string = 'NINE' } }
  local handle = agent:multi_edit({ file_path = path, edits = steps }, function(err, result)
    answer.err, answer.result = err, result
  end)
  t.wait(function() return #review.waiting() > n_waiting end, 'the review')
  return answer, handle
end

---@param answer { result?: fileops.wire.ToolResult, err?: table }
local function settled(answer)
  t.wait(function() return answer.err or answer.result end, 'the answer')
  return answer.result
end

t.it('an edit is written once the user accepts it, and the buffer follows', function()
  local path, agent, buf = asking()
  local win = vim.api.nvim_get_current_win()
  local answer = propose(agent, path)
  t.eq({ t.contents(path), vim.api.nvim_get_current_win() }, { TEXT, win })
  t.eq(#review.waiting()[1].params.hunks, 2)
  view.accept()
  local result = settled(answer)
  t.eq({ result.status, result.details.modified_by_user }, { 'success', false })
  t.eq(t.contents(path), (TEXT:gsub('two', 'TWO'):gsub('nine', 'NINE')))
  t.eq(world.text_of(buf), t.contents(path))
end)

t.it('a rejected edit changes nothing and is reported to the model', function()
  local path, agent, buf = asking()
  local answer = propose(agent, path)
  view.reject()
  t.eq(settled(answer).error.code, 'rejected')
  t.eq({ t.contents(path), world.text_of(buf) }, { TEXT, TEXT })
end)

t.it('a hunk can be left out', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  view.enter()
  vim.api.nvim_feedkeys(vim.keycode(']c<Space>a'), 'xt', false)
  local result = settled(answer)
  t.eq({ result.status, result.details.modified_by_user }, { 'success', true })
  t.eq(t.contents(path), (TEXT:gsub('two', 'TWO')))
end)

t.it('the user can change the text, and the model gets what was written', function()
  local path, agent, buf = asking()
  local answer = propose(agent, path)
  view.edit()
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, true)
  lines[2] = 'mine'
  vim.api.nvim_buf_set_lines(0, 0, -1, true, lines)
  vim.cmd.write()
  local result = settled(answer)
  t.eq({ result.status, result.details.modified_by_user }, { 'success', true })
  t.eq(t.contents(path), (TEXT:gsub('two', 'mine'):gsub('nine', 'NINE')))
  t.eq(world.text_of(buf), t.contents(path))
  assert(result.output:find('User modified the proposed change', 1, true), result.output)
  t.eq(#vim.api.nvim_list_tabpages(), 1)
end)

t.it('CRLF and a missing final newline survive an edited proposal', function()
  local path, agent = asking()
  t.write(path, 'a\r\nb\r\nc')
  vim.cmd('edit!')
  local answer = propose(agent, path, { { old_string = 'b', new_string = 'B' } })
  view.edit()
  vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'mine' })
  vim.cmd.write()
  t.eq(settled(answer).status, 'success')
  t.eq(t.contents(path), 'mine\r\nB\r\nc')
end)

t.it('always ends the questions of its session, and not of the next one', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  local mode
  local off = fileops.on('mode', function(data) mode = data.mode end)
  view.always()
  t.eq(settled(answer).status, 'success')
  t.wait(function() return mode end, 'the mode to be told')
  off()
  t.eq(mode, 'auto_edit')
  t.async(
    function() world.succeeded(agent:edit({ file_path = path, old_string = 'five', new_string = 'FIVE' })) end
  )
  t.eq(#review.waiting(), 0)
  propose(fileops.session('another'), path, { { old_string = 'six', new_string = 'SIX' } })
  view.reject()
end)

t.it('two agents are asked one after the other', function()
  local path, agent = asking()
  local other_path = t.write(vim.fs.dirname(path) .. '/other.py', TEXT)
  local first = propose(agent, path)
  local second = propose(fileops.session('second'), other_path)
  t.eq(#review.waiting(), 2)
  t.eq(fileops.status(), 'fileops: 2 to review')
  view.accept()
  t.eq({ settled(first).status, second.result }, { 'success', nil })
  view.accept()
  t.eq(settled(second).status, 'success')
  t.eq(#world.own_windows() <= 1, true) -- the diff of the edit may be shown
end)

t.it('an agent that cancels withdraws its own review and not another one', function()
  local path, agent = asking()
  local other_path = t.write(vim.fs.dirname(path) .. '/other.py', TEXT)
  local first, handle = propose(agent, path)
  local second = propose(fileops.session('second'), other_path)
  t.said(function()
    handle.cancel()
    t.wait(function() return #review.waiting() == 1 end, 'the review to go')
  end)
  t.eq(review.waiting()[1].params.file_path, other_path)
  t.wait(function() return first.err end, 'the agent to hear of it')
  t.eq({ first.err.code, t.contents(path) }, { -32800, TEXT })
  view.accept()
  t.eq(settled(second).status, 'success')
end)

t.it('a review that times out is withdrawn, and nothing is written', function()
  local path, agent = asking({ approval_timeout_s = 0.3 })
  local answer = propose(agent, path)
  local said = t.said(function() t.eq(settled(answer).error.code, 'approval_timeout') end)
  t.wait(function() return #review.waiting() == 0 end, 'the review to go')
  t.eq(t.contents(path), TEXT)
  assert(#said <= 1)
end)

t.it(
  'the file moves while the person thinks: the agent must look again, the person is told and shown',
  function()
    local path, agent = asking()
    local conflict
    local off = fileops.on('conflict', function(data) conflict = data end)
    local answer = propose(agent, path)
    t.write(path, (TEXT:gsub('five', 'theirs')))
    local said = t.said(function(said)
      view.accept()
      t.eq(settled(answer).error.code, 'modified_externally')
      t.wait(function() return conflict and #said > 0 end, 'didConflict, and the notice')
    end)
    off()
    t.eq(said, { 'fileops: demo.py was not written: it has changed meanwhile' }) -- once, although told twice
    t.eq(t.contents(path), (TEXT:gsub('five', 'theirs')))
    local win = assert(world.own_windows()[1])
    assert(vim.wo[win].winbar:find('Changed since the agent read it', 1, true), vim.wo[win].winbar)
    local shown = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, true), '\n')
    assert(shown:find('-five\n+theirs', 1, true), shown)
  end
)

t.it('a review of a stale file is marked until the agent has read it again', function()
  local path, agent, buf = asking()
  local answer = propose(agent, path)
  local function bar() return vim.wo[world.own_windows()[1]].winbar end
  vim.api.nvim_buf_set_lines(buf, 4, 5, true, { 'typed' })
  t.wait(function() return bar():find('accepting will be refused', 1, true) end, 'the stale review')
  t.async(function() world.succeeded(agent:read({ file_path = path })) end)
  t.wait(function() return not bar():find('accepting will be refused', 1, true) end, 'the fresh review')
  view.accept()
  t.wait(function() return answer.result or #review.waiting() > 0 end, 'the answer, or the question again')
  if #review.waiting() > 0 then view.accept() end
  t.eq(settled(answer).status, 'success')
  t.eq(vim.api.nvim_buf_get_lines(buf, 1, 5, true), { 'TWO', 'three', 'four', 'typed' })
end)

t.it('an edit that cannot be written for another reason is reported too', function()
  local path, agent, buf = asking()
  vim.api.nvim_buf_set_lines(buf, 4, 5, true, { 'typed' })
  local answer = propose(agent, path)
  vim.bo[buf].modifiable = false
  local said = t.said(function(said)
    view.accept()
    t.eq(settled(answer).error.code, 'apply_refused')
    t.wait(function() return #said > 0 end, 'the notice')
  end)
  vim.bo[buf].modifiable = true
  t.eq(#said, 1)
  assert(vim.startswith(said[1], 'fileops: demo.py was not written: '), said[1])
end)

t.it('a rejected edit and an edit without approval are not reported', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  t.write(path, 'theirs\n')
  t.eq(
    t.said(function()
      view.reject()
      t.eq(settled(answer).error.code, 'rejected')
      t.async(function() agent:edit({ file_path = path, old_string = 'two', new_string = 'x' }) end)
    end),
    {}
  )
end)

t.it('the diff of an edit that was just reviewed is not shown once more', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  view.accept()
  t.eq(settled(answer).status, 'success')
  t.eq(world.own_windows(), {})
  vim.cmd('Fileops diff')
  t.eq(#world.own_windows(), 1)
  vim.cmd('Fileops close')
  local mode
  fileops.request(
    'fileops/setApprovalMode',
    { mode = 'yolo', session_id = agent.id },
    function() mode = true end
  )
  t.wait(function() return mode end)
  t.async(
    function() world.succeeded(agent:edit({ file_path = path, old_string = 'five', new_string = 'FIVE' })) end
  )
  t.eq(#world.own_windows(), 1)
end)

t.it("the user's own undo needs no approval, and the history names the user", function()
  local path, agent, buf = asking()
  local answer = propose(agent, path)
  view.accept()
  t.eq(settled(answer).status, 'success')
  local said = t.said(function(said)
    vim.cmd('Fileops undo')
    t.wait(function() return #said > 0 end, 'the undo')
  end)
  t.eq(said, { 'fileops: one edit was taken back' })
  t.eq({ #review.waiting(), t.contents(path), world.text_of(buf) }, { 0, TEXT, TEXT })
  t.eq(require('fileops.ui.marks').lines(buf), {})
  vim.cmd('Fileops history ' .. path)
  local function list()
    return vim.api.nvim_buf_get_lines(vim.fn.bufnr('fileops://history/edits'), 0, -1, true)
  end
  t.wait(function() return #list() == 2 end, 'the list')
  assert(vim.endswith(list()[1], '  you'), list()[1])
  assert(list()[2]:find(agent.id, 1, true), list()[2])
  t.said(function(said_by_u)
    vim.api.nvim_feedkeys('u', 'xt', false)
    t.wait(function() return #said_by_u > 0 and #list() == 3 end, 'the undo of the undo')
  end)
  t.eq({ #review.waiting(), t.contents(path) }, { 0, (TEXT:gsub('two', 'TWO'):gsub('nine', 'NINE')) })
  require('fileops.history').close()
end)

t.it('the code action undoes without a review', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  view.accept()
  t.eq(settled(answer).status, 'success')
  local client = assert(require('fileops.client.process').client())
  local at = { line = 1, character = 0 }
  local params = {
    textDocument = { uri = vim.uri_from_fname(path) },
    range = { start = at, ['end'] = at },
    context = { diagnostics = {} },
  }
  local actions
  require('fileops.client.process').call(
    client,
    'request',
    'textDocument/codeAction',
    params,
    function(_, result) actions = result end
  )
  t.wait(function() return actions end, 'the code actions')
  require('fileops.client.process').call(client, 'request', 'workspace/executeCommand', {
    command = actions[1].command.command,
    arguments = actions[1].command.arguments,
  }, function() end)
  t.wait(function() return t.contents(path) == TEXT end, 'the undo')
  t.eq(#review.waiting(), 0)
end)

t.it('text typed during a review is never lost', function()
  local path, agent, buf = asking()
  local answer = propose(agent, path)
  vim.api.nvim_buf_set_lines(buf, 0, 1, true, { 'typed' })
  view.accept()
  t.eq(settled(answer).status, 'error')
  t.eq(vim.api.nvim_buf_get_lines(buf, 0, 1, true), { 'typed' })
  t.eq(t.contents(path), TEXT)
end)

t.it('unsaved text is reviewed as it is, and edited in place', function()
  local path, agent, buf = asking()
  vim.api.nvim_buf_set_lines(buf, 0, 1, true, { 'typed' })
  local answer = propose(agent, path)
  assert(vim.startswith(review.waiting()[1].params.original_text, 'typed\n'))
  view.accept()
  t.eq(settled(answer).details.applied_to, 'buffer')
  t.eq(vim.api.nvim_buf_get_lines(buf, 0, 2, true), { 'typed', 'TWO' })
  t.eq({ vim.bo[buf].modified, t.contents(path) }, { true, TEXT })
end)

t.it('a new file is reviewed too', function()
  local path, agent = asking()
  local new = vim.fs.dirname(path) .. '/new.py'
  local answer = {}
  agent:edit(
    { file_path = new, old_string = '', new_string = 'x\n' },
    function(_, result) answer.result = result end
  )
  t.wait(function() return #review.waiting() == 1 end, 'the review')
  t.eq(review.waiting()[1].params.operation, 'create')
  t.eq((vim.uv.fs_stat(new)), nil)
  view.accept()
  t.eq(settled(answer).details.created, true)
  t.eq(t.contents(new), 'x\n')
end)

t.it('stopping the daemon ends pending reviews', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  t.said(function()
    world.stop()
    t.wait(function() return answer.err or answer.result end, 'the answer')
  end)
  t.eq({ #review.waiting(), #world.own_windows(), t.contents(path) }, { 0, 0, TEXT })
end)

t.it('a daemon that dies ends its reviews, and the waiting agent is answered', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  local daemon = require('fileops.client.process')
  t.said(function()
    vim.uv.kill(daemon.client().rpc.pid(), 'sigkill')
    t.wait(function() return #review.waiting() == 0 end, 'the review to go')
    t.wait(function() return daemon.state.status == 'running' end, 'the restart')
    t.wait(function() return answer.err end, 'the answer')
  end)
  t.eq(t.contents(path), TEXT)
end)

t.it('the mode that is shown and set by hand holds for all sessions', function()
  local path, agent = asking()
  local function said_to(command)
    return t.said(function(said)
      vim.cmd(command)
      t.wait(function() return #said == 1 end, command)
    end)[1]
  end
  t.eq(said_to('Fileops mode default'), 'fileops: approval mode: default')
  t.eq(said_to('Fileops mode yolo'), 'fileops: approval mode: yolo')
  t.async(function()
    world.succeeded(agent:read({ file_path = path }))
    world.succeeded(agent:edit({ file_path = path, old_string = 'two', new_string = 'TWO' }))
    fileops.request('fileops/setApprovalMode', { session_id = agent.id, mode = 'default' })
  end)
  local told = said_to('Fileops mode')
  assert(told:find('yolo (by-hand)', 1, true) and told:find(('default (%s)'):format(agent.id), 1, true), told)
  assert(said_to('Fileops mode maybe'):find('must be one of'))
end)
