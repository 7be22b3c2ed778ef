local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local approval = require('approval')
local fileops = require('fileops')
local review = require('fileops.review.queue')
local view = require('fileops.review.view')
local world = require('world')

local TEXT, asking, propose, settled = approval.TEXT, approval.asking, approval.propose, approval.settled

local function keys(text) vim.api.nvim_feedkeys(vim.keycode(text), 'xt', false) end

--- A file of 80 numbered lines, an edit of some of them that waits, and the answer to come.
---@param numbers integer[] lines that the edit changes
---@return string path, { result?: fileops.wire.ToolResult }, fun(changed: table<integer, string>): string text
local function long(numbers)
  local path, agent = asking()
  local function text(changed)
    local lines = {}
    for i = 1, 80 do
      lines[i] = (changed[i] or ('line %d'):format(i)) .. '\n'
    end
    return table.concat(lines)
  end
  local file = t.write(vim.fs.dirname(path) .. '/long.txt', text({}))
  local steps = vim.tbl_map(
    function(i) return { old_string = ('line %d\n'):format(i), new_string = ('LINE %d\n'):format(i) } end,
    numbers
  )
  return file, (propose(agent, file, steps)), text
end

---@return string[] headings in the pane
local function headings()
  local buf = vim.api.nvim_win_get_buf(assert(world.own_windows()[1]))
  return vim.tbl_filter(
    function(line) return line:find('change %d/%d') ~= nil end,
    vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  )
end

t.it('changes of neighbouring lines are decided one by one', function()
  local path, answer, text = long({ 68, 72, 74 })
  t.eq(headings(), { '◦ change 1/3 · line 68', '◦ change 2/3 · line 72', '◦ change 3/3 · line 74' })
  view.enter()
  keys(']c<Space>a')
  t.eq(settled(answer).details.modified_by_user, true)
  t.eq(t.contents(path), text({ [68] = 'LINE 68', [74] = 'LINE 74' }))
end)

t.it('a daemon that does not answer a decision is named, and decides once it does', function()
  local path, answer, text = long({ 68 })
  local pid = require('fileops.client.process').client().rpc.pid()
  vim.uv.kill(pid, 'sigstop')
  local words = t.said(function(said)
    view.enter()
    keys('a')
    t.wait(function() return #said > 0 end, 'a word')
  end)
  t.eq(words, {
    'fileops: the daemon has not answered about your decision yet. Nothing is lost: what is not done is listed '
      .. 'again when it answers, or when another one runs (:Fileops restart).',
  })
  t.eq(t.contents(path), text({}))
  vim.uv.kill(pid, 'sigcont')
  t.eq(settled(answer).status, 'success')
  t.eq(t.contents(path), text({ [68] = 'LINE 68' }))
end)

t.it('each line between two changes is shown once', function()
  long({ 3, 5, 9 })
  local buf = vim.api.nvim_win_get_buf(assert(world.own_windows()[1]))
  local shown = vim.tbl_filter(
    function(line) return not line:find('change %d/%d') end,
    vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  )
  local expected = {}
  for i = 1, 12 do
    local is_changed = i == 3 or i == 5 or i == 9
    expected[#expected + 1] = (is_changed and '-' or ' ') .. 'line ' .. i
    if is_changed then expected[#expected + 1] = '+LINE ' .. i end
  end
  t.eq(shown, expected)
  view.reject()
end)

t.it('a dropped change stays dropped and typed text is written if the file changes meanwhile', function()
  local path, answer, text = long({ 10, 20, 30, 40 })
  view.enter()
  keys(']c<Space>e')
  t.eq(vim.api.nvim_buf_get_lines(0, 19, 20, true), { 'line 20' })
  vim.api.nvim_buf_set_lines(0, 39, 40, true, { 'mine' })
  t.write(path, text({ 'theirs' }))
  vim.cmd.write()
  t.eq(settled(answer).status, 'success')
  t.eq(t.contents(path), text({ 'theirs', [10] = 'LINE 10', [30] = 'LINE 30', [40] = 'mine' }))
  t.wait(function() return #vim.api.nvim_list_tabpages() == 1 end, 'the tab page to close')
  t.eq(#review.waiting(), 0)
end)

t.it('a dropped change does not come back in a review that has to be decided again', function()
  local path, answer, text = long({ 10, 20, 30, 40 })
  view.enter()
  keys(']c<Space>')
  t.write(path, text({ [31] = 'theirs' }))
  approval.asked_again(function() keys('a') end)
  t.eq(headings(), { '◦ change 1/3 · line 10', '◦ change 2/3 · line 30', '◦ change 3/3 · line 40' })
  view.enter()
  keys('a')
  t.eq(settled(answer).status, 'success')
  t.eq(t.contents(path), text({ [10] = 'LINE 10', [30] = 'LINE 30', [31] = 'theirs', [40] = 'LINE 40' }))
end)

t.it(
  'typed text that does not fit the file any more stays in its tab page, beside the present file',
  function()
    local path, answer, text = long({ 10, 40 })
    view.enter()
    keys('e')
    local proposal, tab = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_tabpage()
    vim.api.nvim_buf_set_lines(proposal, 39, 40, true, { 'mine' })
    t.write(path, text({ [41] = 'theirs' }))
    approval.asked_again(vim.cmd.write)
    t.eq({ vim.api.nvim_get_current_tabpage(), vim.bo[proposal].modified, answer.result }, { tab, true })
    t.eq(vim.api.nvim_buf_get_lines(proposal, 39, 41, true), { 'mine', 'line 41' })
    assert(vim.wo.winbar:find('line 41 changed too', 1, true), vim.wo.winbar)
    local original = vim.api.nvim_win_get_buf(vim.api.nvim_tabpage_list_wins(tab)[1])
    t.eq(vim.api.nvim_buf_get_lines(original, 40, 41, true), { 'theirs' })
    vim.api.nvim_buf_set_lines(proposal, 40, 41, true, { 'theirs' })
    vim.cmd.write()
    t.eq(settled(answer).status, 'success')
    t.eq(t.contents(path), text({ [10] = 'LINE 10', [40] = 'mine', [41] = 'theirs' }))
  end
)

t.it('typed text whose tab page is gone is offered again before the edit is accepted without it', function()
  local path, answer, text = long({ 10, 40 })
  view.enter()
  keys('e')
  vim.api.nvim_buf_set_lines(0, 39, 40, true, { 'mine' })
  t.write(path, text({ [40] = 'theirs' }))
  approval.asked_again(function() vim.cmd('wq') end)
  t.wait(function() return #vim.api.nvim_list_tabpages() == 1 end, 'the tab page to close')
  local said = t.said(view.accept)
  t.eq({ #said, answer.result, #vim.api.nvim_list_tabpages() }, { 1, nil, 2 })
  t.eq(vim.api.nvim_buf_get_lines(0, 39, 40, true), { 'mine' })
  vim.cmd('tabclose!')
  t.wait(function() return #vim.api.nvim_list_tabpages() == 1 end, 'the tab page to close')
  view.accept() -- the person has seen it, and takes the proposal
  t.eq(settled(answer).status, 'success')
  t.eq(t.contents(path), text({ [10] = 'LINE 10', [40] = 'theirs' }))
end)

t.it('the proposal is not accepted while the person has text of their own for it', function()
  local path, answer, text = long({ 10, 40 })
  view.enter()
  keys('e')
  vim.api.nvim_buf_set_lines(0, 39, 40, true, { 'mine' })
  vim.cmd('tabprevious')
  t.eq(#t.said(view.accept), 1)
  t.eq({ answer.result, #vim.api.nvim_list_tabpages() }, { nil, 2 })
  t.eq(vim.api.nvim_buf_get_lines(0, 39, 40, true), { 'mine' })
  vim.cmd.write()
  settled(answer)
  t.eq(t.contents(path), text({ [10] = 'LINE 10', [40] = 'mine' }))
end)

t.it('an edit that cannot be made any more is not accepted, and its text can be written', function()
  local path, answer = long({ 10 })
  vim.uv.fs_unlink(path)
  approval.asked_again(view.accept)
  t.eq(review.waiting()[1].change_ids, {})
  t.eq(#t.said(view.accept), 1)
  t.eq({ answer.result, (vim.uv.fs_stat(path)) }, {})
  vim.cmd('tabclose!')
  t.wait(function() return #vim.api.nvim_list_tabpages() == 1 end, 'the tab page to close')
  view.reject()
  t.eq(settled(answer).error.code, 'rejected')
end)

t.it('the reason of a rejection reaches the agent', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  vim.cmd('Fileops reject use the helper in util.py')
  local output = settled(answer).output
  assert(output:find('The proposed edit was rejected: use the helper in util.py', 1, true), output)

  answer = propose(agent, path)
  view.enter()
  local input = vim.ui.input
  vim.ui.input = function(_, on_confirm) on_confirm(nil) end -- luacheck: ignore 122
  keys('R')
  t.eq({ #review.waiting(), answer.result }, { 1, nil })
  vim.ui.input = function(_, on_confirm) on_confirm('not here') end -- luacheck: ignore 122
  keys('R')
  vim.ui.input = input -- luacheck: ignore 122
  assert(settled(answer).output:find('rejected: not here', 1, true), answer.result.output)
end)

t.it('the last minute is counted down', function()
  local path, agent = asking({ approval_timeout_s = 50 })
  local answer = propose(agent, path)
  local function left()
    local win = world.own_windows()[1]
    return win and tonumber(vim.wo[win].winbar:match('(%d+) s left'))
  end
  local first = assert(left())
  t.wait(function() return left() and left() < first end, 'the next second')
  view.reject()
  settled(answer)
  path, agent = asking({ approval_timeout_s = 500 })
  propose(agent, path)
  t.eq(left(), nil)
  view.reject()
end)

t.it('closing the pane, its window or its tab page decides nothing', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  for _, close in ipairs({ 'quit', 'close!', 'tabclose' }) do
    if close == 'tabclose' then vim.cmd('tab split') end
    view.enter()
    vim.cmd(close)
    t.wait(function() return #world.own_windows() == 0 end, 'the pane to close')
    t.eq({ #review.waiting(), answer.result, answer.err }, { 1 })
  end
  t.eq(t.contents(path), TEXT)
  view.accept()
  t.eq(settled(answer).status, 'success')
end)

t.it('a decision about what the review was before is none', function()
  local path, answer, text = long({ 10, 40 })
  local waiting = review.waiting()[1]
  t.write(path, text({ [41] = 'theirs' }))
  approval.asked_again(view.accept)
  local said = t.said(function(said)
    review.modify(waiting, text({ [40] = 'made of the old text' }), waiting.params.revision - 1)
    t.wait(function() return #said > 0 end, 'the answer')
  end)
  assert(said[1]:find('check it again', 1, true), said[1])
  t.eq({ #review.waiting(), answer.result, t.contents(path) }, { 1, nil, text({ [41] = 'theirs' }) })
  view.reject()
  settled(answer)
end)

t.it('a review is told to listeners when it comes and when it is decided', function()
  local path, agent = asking()
  local heard = {}
  local answer = propose(agent, path)
  local id = review.waiting()[1].id
  local off = fileops.on('reviewed', function(data)
    if data.id == id then heard[#heard + 1] = data.outcome end
  end)
  view.accept()
  settled(answer)
  t.wait(function() return #heard > 0 end, 'the event')
  off()
  t.eq(heard, { 'accept' })
end)
