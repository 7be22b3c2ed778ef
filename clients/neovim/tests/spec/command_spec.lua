-- Shell commands that wait for a person: the pane, the keys, the queue with the edits, and the real daemon's bash.
local t = require('harness')
local fileops = require('fileops')
local asked = require('fileops.review.asked')
local review = require('fileops.review.queue')
local view = require('fileops.review.view')
local world = require('world')

local answers ---@type table[]

---@param command string
---@param given? { description?: string, session_id?: string, cwd?: string, request_id?: integer|string }
local function ask(command, given)
  given = given or {}
  local slot = #answers + 1
  answers[slot] = {}
  ---@type fileops.wire.ConfirmCommandParams
  local params = {
    command = command,
    cwd = given.cwd or '/w',
    session_id = given.session_id or 's1',
    description = given.description,
  }
  return asked.ask_command(params, { client_id = 1, request_id = given.request_id }, function(value, problem)
    assert(next(answers[slot]) == nil, 'answered twice')
    answers[slot] = { value = value, problem = problem }
  end)
end

local function fresh()
  asked.reject_all()
  t.clean()
  vim.o.lines, vim.o.columns = 40, 80
  answers = {}
  vim.cmd.enew()
end

local function keys(text) vim.api.nvim_feedkeys(vim.keycode(text), 'xt', false) end

---@return string[]
local function shown()
  local win = assert(world.own_windows()[1])
  return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, true)
end

t.it('a command is shown whole, with where and why, and the cursor stays', function()
  fresh()
  local win = vim.api.nvim_get_current_win()
  ask('make all &&\nmake test', { description = 'Build it\nand try it', cwd = '/w/shop' })
  t.eq(shown(), { '/w/shop', 'Build it', 'and try it', 'make all &&', 'make test' })
  t.eq(vim.api.nvim_get_current_win(), win)
  asked.reject_all()
  t.eq(world.own_windows(), {})
end)

t.it('run once, always and reject answer once, and leave nothing behind', function()
  for key, outcome in pairs({ a = 'proceed_once', A = 'proceed_always', r = 'cancel' }) do
    fresh()
    local win, n_buffers = vim.api.nvim_get_current_win(), #vim.api.nvim_list_bufs()
    ask('make')
    view.enter()
    keys(key)
    t.eq(answers[1].value, { outcome = outcome })
    t.eq(
      { vim.api.nvim_get_current_win(), #world.own_windows(), #vim.api.nvim_list_bufs() },
      { win, 0, n_buffers }
    )
  end
end)

t.it('keys of edits do nothing to a command', function()
  fresh()
  ask('make')
  view.enter()
  keys('<Space>es]c[c')
  t.eq(
    { #review.waiting(), answers[1], #vim.api.nvim_list_tabpages(), #world.own_windows() },
    { 1, {}, 1, 1 }
  )
  keys('r')
end)

t.it('a long line is wrapped and the pane is as high as it needs', function()
  fresh()
  ask(('x'):rep(300))
  local win = world.own_windows()[1]
  t.eq(vim.wo[win].wrap, true)
  t.eq(vim.api.nvim_win_text_height(win, {}).all, vim.api.nvim_win_get_height(win) - 1) -- the bar
  asked.reject_all()
end)

t.it('nothing in a command breaks the pane, and nothing hides in it', function()
  fresh()
  ask('echo \0 \27[2J\r\226\128\174 x', { description = '\0', cwd = '/w\nx' })
  t.eq(shown(), { '/w?x', '?', 'echo ? \27[2J\r\226\128\174 x' })
  asked.reject_all()
end)

t.it('commands and edits wait in one queue, and are listed together', function()
  fresh()
  local hunks = require('fileops.ui.hunks').parse('@@ -1 +1 @@\n-a\n+b\n')
  local edit = {
    title = 'Edit',
    description = '',
    file_path = '/w/one.py',
    session_id = 's2',
    operation = 'modify',
    diff = '',
    hunks = hunks,
    original_text = 'a\n',
    proposed_text = 'b\n',
    original_label = 'Current',
    proposed_label = 'Proposed',
  }
  local edit_answer
  asked.ask(edit, { client_id = 1 }, function(value) edit_answer = value end)
  ask('make all\nmake test', { cwd = '/w/shop' })
  t.eq(fileops.status(), 'fileops: 2 to review')
  local offered = t.selecting(2, view.list)
  t.eq(offered, { '/w/one.py  +1 −1  s2', '$ make all …  /w/shop  s1' })
  t.eq({ view.current().kind, shown()[1], vim.wo.wrap }, { 'command', '/w/shop', true })
  keys('a')
  t.eq(
    { answers[1].value, view.current().kind, #world.own_windows() },
    { { outcome = 'proceed_once' }, 'edit', 1 }
  )
  t.eq(vim.wo[world.own_windows()[1]].wrap, false)
  keys('s')
  t.eq(#world.own_windows(), 2)
  keys('sr')
  t.eq({ edit_answer, #world.own_windows() }, { { outcome = 'cancel' }, 0 })
end)

t.it('a command that was not shown yet is shown instead of run', function()
  fresh()
  local config = require('fileops.config')
  local before = config.user()
  config.set({ review = { open = 'never' } })
  local said = t.said(function()
    ask('make')
    vim.cmd('Fileops accept')
  end)
  config.set(before)
  t.eq(
    said,
    { 'fileops: a review waits: $ make  /w  (:Fileops review)', 'fileops: look at the command first' }
  )
  t.eq({ answers[1], #world.own_windows() }, { {}, 1 })
  vim.cmd('Fileops accept')
  t.eq(answers[1].value, { outcome = 'proceed_once' })
end)

t.it('the agent withdraws its command', function()
  fresh()
  ask('one', { request_id = 'x' })
  ask('two', { request_id = 'y' })
  local said = t.said(function() asked.cancelled('x', 1) end)
  t.eq(said, { 'fileops: the agent withdrew its command' })
  t.eq({ answers[1].problem.code, answers[2], shown()[3] }, { -32800, {}, 'two' })
  t.said(function() asked.withdraw_all('gone') end)
  t.eq({ answers[2].problem.code, world.own_windows() }, { -32800, {} })
end)

t.it('listeners are notified', function()
  fresh()
  local heard = {}
  local off = fileops.on(
    '*',
    function(data, name) table.insert(heard, { name, data.kind, data.command, data.session_id, data.outcome }) end
  )
  ask('make')
  view.reject()
  off()
  t.eq(heard, { { 'review', 'command', 'make', 's1' }, { 'reviewed', 'command', 'make', 's1', 'reject' } })
end)

if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

---@param mode? string
local function shell(mode)
  asked.reject_all()
  return world.new('one\n', { server = { bash = true, approval_mode = mode or 'default' } })
end

--- A command whose answer is still to come.
---@param agent fileops.Session
---@param params fileops.wire.BashParams
---@return { result?: fileops.wire.ToolResult, err?: table }, fileops.Handle
local function run(agent, params)
  local answer = {}
  local handle = agent:bash(params, function(err, result)
    answer.err, answer.result = err, result
  end)
  return answer, handle
end

---@param answer { result?: fileops.wire.ToolResult, err?: table }
---@return fileops.wire.ToolResult
local function settled(answer)
  t.wait(function() return answer.err or answer.result end, 'the answer')
  t.eq(answer.err, nil)
  return answer.result
end

local function one_waits()
  t.wait(function() return #review.waiting() == 1 end, 'the question')
  return review.waiting()[1]
end

t.it('a command runs once the user accepts it, and buffers follow the disk', function()
  local path, agent, buf = shell()
  local answer =
    run(agent, { command = 'echo two >> demo.py; pwd', cwd = vim.fs.dirname(path), description = 'Add' })
  local params = one_waits().params
  t.eq({ params.cwd, params.description, params.session_id }, { vim.fs.dirname(path), 'Add', agent.id })
  t.eq(t.contents(path), 'one\n')
  view.accept()
  t.eq(settled(answer).output, vim.fs.dirname(path) .. '\n')
  t.eq({ t.contents(path), world.text_of(buf), vim.bo[buf].modified }, { 'one\ntwo\n', 'one\ntwo\n', false })
end)

t.it('unsaved changes stay when a command writes their file', function()
  local path, agent, buf = shell('yolo')
  vim.api.nvim_buf_set_lines(buf, 0, 1, true, { 'mine' })
  t.eq(settled(run(agent, { command = 'echo two > ' .. path })).status, 'success')
  t.eq({ t.contents(path), world.text_of(buf), vim.bo[buf].modified }, { 'two\n', 'mine\n', true })
end)

t.it('a rejected command does not run, and the model is notified', function()
  local path, agent = shell()
  local answer = run(agent, { command = 'rm ' .. path })
  one_waits()
  view.reject()
  t.eq(settled(answer).error.code, 'rejected')
  t.eq(t.contents(path), 'one\n')
end)

t.it('always holds for the same command in the same session', function()
  local _, agent = shell()
  local answer = run(agent, { command = 'true' })
  one_waits()
  view.always()
  t.eq(settled(answer).status, 'success')
  t.eq(settled(run(agent, { command = 'true' })).status, 'success')
  for _, other in ipairs({ { agent, 'true ' }, { fileops.session('other'), 'true' } }) do
    answer = run(other[1], { command = other[2] })
    one_waits()
    view.reject()
    t.eq(settled(answer).error.code, 'rejected')
  end
end)

t.it('the question is withdrawn when the agent cancels its command', function()
  local path, agent = shell()
  local answer, handle = run(agent, { command = 'rm ' .. path })
  one_waits()
  t.said(function()
    handle.cancel()
    t.wait(function() return answer.err end, 'the answer')
    t.wait(function() return #review.waiting() == 0 end, 'the question to go')
  end)
  t.eq({ answer.err.code, #world.own_windows(), t.contents(path) }, { -32800, 0, 'one\n' })
end)

t.it('a daemon that dies ends its question', function()
  local path, agent = shell()
  run(agent, { command = 'rm ' .. path })
  one_waits()
  local daemon = require('fileops.client.process')
  t.said(function()
    vim.uv.kill(daemon.client().rpc.pid(), 'sigkill')
    t.wait(function() return #review.waiting() == 0 end, 'the question to go')
    t.wait(function() return daemon.state.status == 'running' end, 'the restart')
  end)
  t.eq({ t.contents(path), #world.own_windows() }, { 'one\n', 0 })
end)
