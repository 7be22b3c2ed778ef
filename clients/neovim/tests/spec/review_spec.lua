local t = require('harness')
local hunks = require('fileops.ui.hunks')
local review = require('fileops.review.queue')
local view = require('fileops.review.view')

local DIFF = '@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -9 +9,2 @@\n-x\n+y\n+z\n'

local answers ---@type table[]

---@param name? string
---@param request_id? integer|string
local function ask(name, request_id)
  ---@type fileops.wire.ConfirmEditParams
  local params = {
    title = 'Edit',
    description = '',
    file_path = '/w/' .. (name or 'demo.py'),
    session_id = 's1',
    operation = 'modify',
    diff = DIFF,
    hunks = hunks.parse(DIFF),
    original_text = 'a\nb\nc\n',
    proposed_text = 'a\nB\nc\n',
    original_label = 'Current',
    proposed_label = 'Proposed',
  }
  local slot = #answers + 1
  answers[slot] = {}
  return review.ask(params, { client_id = 1, request_id = request_id }, function(value, problem)
    assert(next(answers[slot]) == nil, 'answered twice')
    answers[slot] = { value = value, problem = problem }
  end)
end

local function fresh()
  review.reject_all()
  t.clean()
  vim.o.lines, vim.o.columns = 40, 120
  answers = {}
  vim.cmd.enew()
end

local function pane_windows()
  return vim.tbl_filter(
    function(win) return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)):match('^fileops://') ~= nil end,
    vim.api.nvim_list_wins()
  )
end

local function keys(text) vim.api.nvim_feedkeys(vim.keycode(text), 'xt', false) end

t.it('a review is shown and the cursor stays where it was', function()
  fresh()
  local win = vim.api.nvim_get_current_win()
  ask()
  t.eq({ #pane_windows(), vim.api.nvim_get_current_win() }, { 1, win })
  review.reject_all()
  t.eq(pane_windows(), {})
end)

t.it('accept, always and reject answer once, and leave nothing behind', function()
  for key, outcome in pairs({ a = 'proceed_once', A = 'proceed_always', r = 'cancel' }) do
    fresh()
    local win, n_buffers = vim.api.nvim_get_current_win(), #vim.api.nvim_list_bufs()
    ask()
    view.enter()
    t.eq(vim.api.nvim_get_current_win() ~= win, true)
    keys(key)
    t.eq(answers[1].value, { outcome = outcome })
    t.eq(
      { vim.api.nvim_get_current_win(), #pane_windows(), #vim.api.nvim_list_bufs() },
      { win, 0, n_buffers }
    )
  end
end)

t.it('hunks are rejected one by one', function()
  fresh()
  ask()
  view.enter()
  keys(']c<Space>')
  t.eq(vim.api.nvim_get_current_line(), '✗ hunk 2/2 · lines 9–10')
  keys('a')
  t.eq(answers[1].value, { outcome = 'modify', hunk_ids = { '1' } })
end)

t.it('rejecting every hunk rejects the edit, and a rejection can be undone', function()
  fresh()
  local first = ask()
  view.enter()
  keys('<Space>]c<Space>')
  t.eq(review.outcome(first), { outcome = 'cancel' })
  keys('<Space>[c<Space>')
  t.eq(review.outcome(first), { outcome = 'proceed_once' })
  keys('r')
end)

t.it('nothing is accepted for always while a hunk is rejected', function()
  fresh()
  ask()
  view.enter()
  keys('<Space>')
  t.eq(#t.said(function() keys('A') end), 1)
  t.eq(#review.waiting(), 1)
  keys('r')
end)

t.it('reviews queue up; the next one replaces the decided one', function()
  fresh()
  local n_buffers = #vim.api.nvim_list_bufs()
  ask('one.py')
  ask('two.py')
  ask('three.py')
  view.enter()
  keys(']r')
  t.eq(view.current().params.file_path, '/w/two.py')
  keys('a')
  t.eq(answers[2].value, { outcome = 'proceed_once' })
  t.eq({ view.current().params.file_path, #pane_windows() }, { '/w/one.py', 1 })
  keys('ra')
  t.eq({ answers[1].value.outcome, answers[3].value.outcome }, { 'cancel', 'proceed_once' })
  t.eq({ #pane_windows(), #review.waiting(), #vim.api.nvim_list_bufs() }, { 0, 0, n_buffers })
end)

t.it('closing the pane keeps the review waiting', function()
  fresh()
  ask()
  view.enter()
  keys('q')
  t.eq({ #pane_windows(), #review.waiting(), answers[1] }, { 0, 1, {} })
  view.enter()
  t.eq(#pane_windows(), 1)
  vim.cmd.quit()
  t.wait(function() return #pane_windows() == 0 end)
  t.eq(#review.waiting(), 1)
  view.accept()
  t.eq(answers[1].value, { outcome = 'proceed_once' })
end)

t.it('side by side has two windows, and closes as a whole', function()
  fresh()
  ask()
  view.enter()
  keys('s')
  t.eq(#pane_windows(), 2)
  t.eq(vim.wo.scrollbind, true)
  vim.cmd.quit()
  t.wait(function() return #pane_windows() == 0 end)
  view.enter()
  keys('s')
  t.eq(#pane_windows(), 1)
  keys('r')
end)

t.it('the agent withdraws its edit: by id, or the only one if ids are unknown', function()
  fresh()
  ask('one.py', 'x')
  ask('two.py', 'y')
  t.said(function() review.cancelled('y', 1) end)
  t.eq({ answers[1], answers[2].problem.code, #pane_windows() }, { {}, -32800, 1 })
  t.said(function() review.cancelled('unknown', 1) end)
  t.eq(answers[1], {})
  t.said(function() review.cancelled('x', 1) end)
  t.eq({ answers[1].problem.code, #pane_windows() }, { -32800, 0 })
  ask('three.py')
  review.cancelled('z', 1)
  t.eq(answers[3].problem.code, -32800)
end)

t.it('with a shared daemon, a review that disappears may have been decided by another editor', function()
  fresh()
  ask('one.py', 'x')
  local state = require('fileops.client.process').state
  state.shared = { connection = 'neovim-1', role = 'editor', version = '1', socket = '/s' }
  local said = t.said(function() review.cancelled('x', 1) end)
  state.shared = nil
  t.eq(said, { 'fileops: decided elsewhere, or taken back: its edit of one.py' })
  t.eq(answers[1].problem.code, -32800)
end)

t.it('the proposal is edited in a tab page; writing it accepts the text', function()
  fresh()
  ask()
  view.enter()
  keys('e')
  t.eq({ #vim.api.nvim_list_tabpages(), vim.wo.diff, vim.bo.modified }, { 2, true, false })
  vim.api.nvim_buf_set_lines(0, 1, 2, true, { 'mine' })
  vim.cmd.write()
  t.wait(function() return answers[1].value end)
  t.eq(answers[1].value, { outcome = 'modify', text = 'a\nmine\nc\n' })
  t.eq({ #vim.api.nvim_list_tabpages(), #pane_windows() }, { 1, 0 })
end)

t.it('closing the tab page instead goes back to the review', function()
  fresh()
  ask()
  view.enter()
  keys('e')
  vim.cmd('tabclose!')
  t.wait(function() return #vim.api.nvim_list_tabpages() == 1 end)
  t.eq({ #review.waiting(), #pane_windows() }, { 1, 1 })
  view.enter()
  keys('e')
  vim.cmd('quit!') -- only the proposal: the original goes with it
  t.wait(function() return #vim.api.nvim_list_tabpages() == 1 end)
  t.eq(#review.waiting(), 1)
  vim.cmd('tabnew')
  view.edit()
  vim.cmd('tabprevious')
  t.said(function() review.withdraw_all('gone') end)
  t.eq({ #vim.api.nvim_list_tabpages(), #pane_windows() }, { 2, 0 })
end)

t.it(
  'a proposal that is typed into is not taken from under the hands when the agent takes it back',
  function()
    fresh()
    ask()
    view.enter()
    keys('e')
    t.said(function() review.withdraw_all('gone') end)
    t.eq(#vim.api.nvim_list_tabpages(), 2)
    assert(vim.wo.winbar:find('gone', 1, true), vim.wo.winbar)
    vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'typed' })
    t.eq(t.said(function() vim.cmd.write() end), { 'fileops: the review is gone; this text is not used' })
    t.eq({ vim.bo.modified, answers[1].value }, { true })
    vim.cmd('quit!')
    t.wait(function() return #vim.api.nvim_list_tabpages() == 1 end)
  end
)

t.it('an untouched review shows that nothing is decided', function()
  fresh()
  ask()
  view.enter()
  local function verdicts()
    local ns = vim.api.nvim_get_namespaces()['fileops.pane']
    local found = {}
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
      local text = mark[4].virt_text and mark[4].virt_text[1][1] or ''
      if vim.api.nvim_buf_get_lines(0, mark[2], mark[2] + 1, true)[1]:find('hunk %d/%d') and text ~= '' then
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
    review.ask(params, { client_id = 1 }, function() end)
    view.enter()
    if layout == 'side_by_side' then keys('s') end
    for i = 1, 3 do
      if i > 1 then keys(']c') end
      assert(vim.api.nvim_get_current_line():find(('hunk %d/3'):format(i), 1, true))
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
    t.said(function() review.cancelled('x', 1) end)
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
  t.said(function() review.cancelled('x', 1) end)
  keys('a')
  t.eq({ answers[2], view.current().params.file_path }, { {}, '/w/two.py' })
  t.said(function() review.cancelled('y', 1) end)
  ask('three.py', 'z')
  view.accept() -- as by :Fileops accept
  t.eq({ answers[3], view.current().params.file_path }, { {}, '/w/three.py' })
  keys('a')
  t.eq(answers[3].value, { outcome = 'proceed_once' })
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
  t.eq({ #said, vim.bo.modified, answers[1] }, { 1, true, {} })
  vim.cmd('tabclose!')
  t.wait(function() return #vim.api.nvim_list_tabpages() == 1 end)
  ask('other.py')
  t.eq(require('fileops.review.queue').stale_reason(review.waiting()[2]), nil)
  stale.became_fresh('/w/demo.py', 's1')
  review.staleness_changed('/w/demo.py', 's1')
  t.eq(bar():find('refused', 1, true), nil)
  review.reject_all()
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
  review.reject_all()
end)

t.it('the list names pending reviews, and opens the chosen one', function()
  fresh()
  ask('one.py')
  ask('two.py')
  local select, offered = vim.ui.select, nil
  vim.ui.select = function(items, options, choose) -- luacheck: ignore 122
    offered = vim.tbl_map(options.format_item, items)
    choose(items[2])
  end
  view.list()
  vim.ui.select = select -- luacheck: ignore 122
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
  t.eq(heard, { 'review ', 'autocmd /w/demo.py', 'reviewed cancel' })
  t.eq(require('fileops').status(), '')
end)

t.it('with no pending review, the commands report that', function()
  fresh()
  for _, name in ipairs({ 'review', 'reviews', 'accept', 'always', 'reject' }) do
    t.eq(t.said(function() vim.cmd('Fileops ' .. name) end), { 'fileops: no review is waiting' })
  end
end)
