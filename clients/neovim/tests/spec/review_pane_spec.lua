local t = require('harness')
local asked = require('asked')
local hunks = require('fileops.ui.hunks')
local questions = require('fileops.review.asked')
local review = require('fileops.review.queue')
local view = require('fileops.review.view')

local ask, fresh, pane_windows, keys = asked.ask, asked.fresh, asked.pane_windows, asked.keys

t.it('an untouched review shows that nothing is decided', function()
  fresh()
  ask()
  view.enter()
  local function verdicts()
    local ns = vim.api.nvim_get_namespaces()['fileops.pane']
    local found = {}
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
      local text = mark[4].virt_text and mark[4].virt_text[1][1] or ''
      if vim.api.nvim_buf_get_lines(0, mark[2], mark[2] + 1, true)[1]:find('change %d/%d') and text ~= '' then
        found[#found + 1] = vim.trim(text)
      end
    end
    return found
  end
  t.eq(verdicts(), { 'undecided', 'undecided' })
  keys('<Space>')
  t.eq(verdicts(), { 'rejected', 'will be written' })
  keys('<Space>')
  t.eq(verdicts(), { 'undecided', 'undecided' })
  keys('r')
end)

t.it('a jump to a hunk shows the hunk, and a verdict on it moves nothing', function()
  fresh()
  vim.o.lines = 24
  local lines = {}
  for i = 1, 3 do
    lines[#lines + 1] = ('@@ -%d,5 +%d,5 @@'):format(i * 20, i * 20)
    vim.list_extend(lines, { ' a', ' b', '-c', '+C', ' d', ' e' })
  end
  local params = {
    title = 'Edit',
    description = '',
    file_path = '/w/long.py',
    session_id = 's1',
    operation = 'modify',
    diff = '',
    hunks = hunks.parse(table.concat(lines, '\n')),
  }
  for _, layout in ipairs({ 'inline', 'side_by_side' }) do
    questions.ask(params, { client_id = 1 }, function() end)
    view.enter()
    if layout == 'side_by_side' then keys('s') end
    for i = 1, 3 do
      if i > 1 then keys(']c') end
      assert(vim.api.nvim_get_current_line():find(('change %d/3'):format(i), 1, true))
      local first = vim.fn.line('.')
      local last = first + (layout == 'inline' and 6 or 5)
      t.eq({ vim.fn.line('w0') <= first, last <= vim.fn.line('w$') }, { true, true })
      local top = vim.fn.line('w0')
      keys('<Space>')
      t.eq({ vim.fn.line('.'), vim.fn.line('w0') }, { first, top })
      keys('<Space>')
    end
    if layout == 'side_by_side' then keys('s') end
    keys('r')
  end
end)

t.it('a key meant for a review that has just ended does nothing else', function()
  for _, key in ipairs({ 'a', 'A', 'r', 'e', 's', '<Space>', 'q' }) do
    fresh()
    vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'text of the person', 'two' })
    local before = vim.b.changedtick
    local file = vim.api.nvim_get_current_buf()
    ask('one.py', 'x')
    view.enter()
    t.said(function() questions.cancelled('x', 1) end)
    assert(vim.api.nvim_get_current_buf() ~= file, 'the cursor stays until the person moves it')
    keys(key)
    t.eq({ #pane_windows(), vim.api.nvim_get_current_buf(), vim.fn.mode() }, { 0, file, 'n' })
    t.eq({ vim.b.changedtick, #vim.api.nvim_list_tabpages() }, { before, 1 })
  end
end)

t.it('nor does it decide on the window that replaced the review', function()
  fresh()
  ask('one.py', 'x')
  ask('two.py', 'y')
  view.enter()
  t.said(function() questions.cancelled('x', 1) end)
  keys('a')
  t.eq({ asked.answers[2], view.current().params.file_path }, { {}, '/w/two.py' })
  t.said(function() questions.cancelled('y', 1) end)
  ask('three.py', 'z')
  view.accept() -- as by :Fileops accept
  t.eq({ asked.answers[3], view.current().params.file_path }, { {}, '/w/three.py' })
  keys('a')
  t.eq(asked.answers[3].value, { outcome = 'proceed_once' })
end)

t.it('a review of a changed file is marked until the agent has read it again', function()
  fresh()
  local stale = require('fileops.ui.stale')
  local event =
    { file_path = '/w/demo.py', session_id = 's1', reason = 'modified', source = 'buffer', timestamp = 0 }
  ask()
  local function bar() return vim.wo[pane_windows()[1]].winbar end
  t.eq(bar():find('refused', 1, true), nil)
  stale.became_stale(event)
  review.staleness_changed('/w/demo.py', 's1')
  assert(bar():find('accepting will be refused', 1, true), bar())
  assert(bar():find('agent reads again', 1, true), bar())
  view.enter()
  keys('e')
  vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'mine' })
  local said = t.said(function() vim.cmd.write() end)
  t.eq({ #said, vim.bo.modified, asked.answers[1] }, { 1, true, {} })
  vim.cmd('tabclose!')
  t.wait(function() return #vim.api.nvim_list_tabpages() == 1 end)
  ask('other.py')
  t.eq(require('fileops.review.queue').stale_reason(review.waiting()[2]), nil)
  stale.became_fresh('/w/demo.py', 's1')
  review.staleness_changed('/w/demo.py', 's1')
  t.eq(bar():find('refused', 1, true), nil)
  questions.reject_all()
end)

t.it('a review that is not on the screen is named when its file changes', function()
  fresh()
  local stale = require('fileops.ui.stale')
  ask('one.py')
  ask('demo.py')
  stale.became_stale({
    file_path = '/w/demo.py',
    session_id = 's1',
    reason = 'modified',
    source = 'external',
    timestamp = 0,
  })
  t.eq(
    t.said(function() review.staleness_changed('/w/demo.py', 's1') end),
    { 'fileops: demo.py changed: accepting its review will be refused' }
  )
  stale.forget()
  questions.reject_all()
end)

t.it('the list names pending reviews, and opens the chosen one', function()
  fresh()
  ask('one.py')
  ask('two.py')
  local offered = t.selecting(2, view.list)
  t.eq(offered, { '/w/one.py  +3 −2  s1', '/w/two.py  +3 −2  s1' })
  t.eq(view.current().params.file_path, '/w/two.py')
end)

t.it('listeners and autocmds are notified', function()
  fresh()
  local heard = {}
  local off = require('fileops').on(
    '*',
    function(data, name) table.insert(heard, name .. ' ' .. (data.outcome or '')) end
  )
  vim.api.nvim_create_autocmd('User', {
    pattern = 'FileopsReview',
    once = true,
    callback = function(event) table.insert(heard, 'autocmd ' .. event.data.file_path) end,
  })
  ask()
  t.eq(require('fileops').status(), 'fileops: 1 to review')
  view.reject()
  off()
  t.eq(heard, { 'review ', 'autocmd /w/demo.py', 'reviewed reject' })
  t.eq(require('fileops').status(), '')
end)

t.it('with no pending review, the commands report that', function()
  fresh()
  for _, name in ipairs({ 'review', 'reviews', 'accept', 'always', 'reject' }) do
    t.eq(t.said(function() vim.cmd('Fileops ' .. name) end), { 'fileops: no review is waiting' })
  end
end)
