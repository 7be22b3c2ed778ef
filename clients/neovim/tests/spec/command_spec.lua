-- Shell commands that wait for a person: their buffer, the keys, the queue with the edits, and the real daemon's bash.
local t = require('harness')
local fileops = require('fileops')
local asked = require('fileops.review.questions')
local review = require('fileops.review.queue')
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
  answers = {}
  vim.cmd.enew()
end

local function keys(text) vim.api.nvim_feedkeys(vim.keycode(text), 'xt', false) end

---@return string[]
local function shown()
  local win = assert(world.own_windows()[1])
  return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, true)
end

t.it('a command is shown whole on demand, with where and why; until then the cursor stays', function()
  fresh()
  local win = vim.api.nvim_get_current_win()
  local said = t.said(
    function() ask('make all &&\nmake test', { description = 'Build it\nand try it', cwd = '/w/shop' }) end
  )
  t.eq(said, { 'fileops: s1 wants to run $ make all && …  (:Fileops review)' })
  t.eq({ vim.api.nvim_get_current_win(), #world.own_windows() }, { win, 0 })
  vim.cmd('Fileops review')
  t.eq(shown(), {
    '# s1 wants to run this in /w/shop',
    '# Build it',
    '# and try it',
    'make all &&',
    'make test',
    '# do runs it once, dr rejects it; :Fileops accept always asks no more for this very command',
  })
  asked.reject_all()
  t.eq(world.own_windows(), {})
end)

t.it('run once, always and reject answer once, and leave nothing behind', function()
  for command, outcome in pairs({
    ['normal do'] = 'proceed_once',
    ['Fileops accept'] = 'proceed_once',
    ['Fileops accept always'] = 'proceed_always',
    ['normal dr'] = 'cancel',
    ['Fileops reject change no need'] = 'cancel',
  }) do
    fresh()
    local win, n_buffers = vim.api.nvim_get_current_win(), #vim.api.nvim_list_bufs()
    ask('make')
    vim.cmd('Fileops review')
    vim.cmd(command)
    t.eq(answers[1].value, { outcome = outcome })
    t.eq(
      { vim.api.nvim_get_current_win(), #world.own_windows(), #vim.api.nvim_list_bufs() },
      { win, 0, n_buffers }
    )
  end
end)

t.it('nothing in a command breaks its buffer, and nothing hides in it', function()
  fresh()
  ask('echo \0 \27[2J\r\226\128\174 x', { description = '\0', cwd = '/w\nx' })
  vim.cmd('Fileops review')
  t.eq(vim.list_slice(shown(), 1, 4), {
    '# s1 wants to run this in /w',
    '# x',
    '# ?',
    'echo ? \27[2J\r\226\128\174 x',
  })
  asked.reject_all()
end)

t.it('a command that was not looked at is shown instead of run', function()
  fresh()
  ask('make')
  local said = t.said(function() vim.cmd('Fileops accept') end)
  t.eq(said, { 'fileops: look at it first, then decide' })
  t.eq({ answers[1], #world.own_windows() }, { {}, 1 })
  vim.cmd('Fileops accept')
  t.eq(answers[1].value, { outcome = 'proceed_once' })
  ask('make')
  t.eq(t.said(function() vim.cmd('Fileops accept all') end), { 'fileops: no edit is waiting' })
  t.eq(answers[2], {})
end)

t.it('commands are listed with the edits that wait, and looked at from there', function()
  fresh()
  ask('make all\nmake test', { cwd = '/w/shop' })
  t.eq(fileops.status():match('%d to review'), '1 to review')
  vim.cmd('Fileops changes')
  local items = vim.fn.getqflist()
  t.eq({ #items, items[1].text }, { 1, 'waits: s1 wants to run $ make all …' })
  vim.cmd('cclose | cc 1')
  t.eq(vim.api.nvim_buf_get_lines(0, 0, 1, true), { '# s1 wants to run this in /w/shop' })
  keys('do')
  t.eq(answers[1].value, { outcome = 'proceed_once' })
end)

t.it('the agent withdraws its command, and a key that was meant for it decides nothing else', function()
  fresh()
  ask('one', { request_id = 'x' })
  ask('two', { request_id = 'y' })
  vim.cmd('Fileops review')
  local said = t.said(function() asked.cancelled('x', 1) end)
  t.eq(said, { 'fileops: command: the agent took it back; nothing was run here' })
  t.eq({ answers[1].problem.code, answers[2] }, { -32800, {} })
  t.eq(shown(), { '# the agent took it back: nothing of it was run from here' })
  keys('do')
  t.eq({ answers[2], #review.waiting() }, { {}, 1 })
  vim.cmd.close()
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
  asked.reject_all()
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
  review.accept(review.waiting()[1])
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
  review.reject(review.waiting()[1])
  t.eq(settled(answer).error.code, 'rejected')
  t.eq(t.contents(path), 'one\n')
end)

t.it('always holds for the same command in the same session', function()
  local _, agent = shell()
  local answer = run(agent, { command = 'true' })
  one_waits()
  review.always(review.waiting()[1])
  t.eq(settled(answer).status, 'success')
  t.eq(settled(run(agent, { command = 'true' })).status, 'success')
  for _, other in ipairs({ { agent, 'true ' }, { fileops.session('other'), 'true' } }) do
    answer = run(other[1], { command = other[2] })
    one_waits()
    review.reject(review.waiting()[1])
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
