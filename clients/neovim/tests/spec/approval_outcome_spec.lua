local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local approval = require('approval')
local config = require('fileops.config')
local fileops = require('fileops')
local review = require('fileops.review.queue')
local view = require('fileops.review.view')
local world = require('world')

local TEXT, asking, propose, settled = approval.TEXT, approval.asking, approval.propose, approval.settled
local accepted = approval.accepted

t.it('a review that times out is withdrawn, and nothing is written', function()
  local path, agent = asking({ approval_timeout_s = 0.3 })
  local answer = propose(agent, path)
  local said = t.said(function() t.eq(settled(answer).error.code, 'approval_timeout') end)
  t.wait(function() return #review.waiting() == 0 end, 'the review to go')
  t.eq(t.contents(path), TEXT)
  assert(#said <= 1)
end)

t.it('a file changes near the edit during its review: the user decides once more, and is told why', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  t.write(path, (TEXT:gsub('five', 'theirs')))
  local said = approval.asked_again(view.accept)
  t.eq(said, { 'fileops: demo.py is not decided: line 5 changed too; check it again' })
  t.eq({ answer.result, t.contents(path) }, { nil, (TEXT:gsub('five', 'theirs')) })
  local shown = vim.api.nvim_win_get_buf(assert(world.own_windows()[1]))
  assert(table.concat(vim.api.nvim_buf_get_lines(shown, 0, -1, true), '\n'):find(' theirs', 1, true))
  view.accept()
  t.eq(settled(answer).status, 'success')
  t.eq(t.contents(path), (TEXT:gsub('five', 'theirs'):gsub('two', 'TWO'):gsub('nine', 'NINE')))
end)

t.it('a review whose file has changed says so, and what was typed stays', function()
  local path, agent, buf = asking()
  local answer = propose(agent, path)
  local function bar() return vim.wo[world.own_windows()[1]].winbar end
  vim.api.nvim_buf_set_lines(buf, 4, 5, true, { 'typed' })
  t.wait(function() return bar():find('changed since', 1, true) end, 'the stale review')
  approval.asked_again(view.accept)
  view.accept()
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

t.it('the diff of an edit is shown after it if that is set, and not of one that was just reviewed', function()
  local path, agent = accepted()
  t.eq(world.own_windows(), {})
  vim.cmd('Fileops last-edit')
  t.eq(#world.own_windows(), 1)
  vim.cmd('Fileops close')
  local mode
  fileops.request(
    'fileops/setApprovalMode',
    { mode = 'yolo', session_id = agent.id },
    function() mode = true end
  )
  t.wait(function() return mode end)
  local function edit(old, new)
    t.async(
      function() world.succeeded(agent:edit({ file_path = path, old_string = old, new_string = new })) end
    )
  end
  edit('five', 'FIVE')
  t.eq(world.own_windows(), {}) -- its marks are in the text
  config.set(vim.tbl_deep_extend('force', config.user(), { pane = { diff_after_edit = true } }))
  edit('six', 'SIX')
  t.eq(#world.own_windows(), 1)
end)

t.it("the user's own undo needs no approval, and the history names the user", function()
  local path, agent, buf = accepted()
  local said = t.said(function(said)
    vim.cmd('Fileops undo')
    t.wait(function() return #said > 0 end, 'the undo')
  end)
  t.eq(said, { 'fileops: one edit was undone' })
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
  local path = accepted()
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
