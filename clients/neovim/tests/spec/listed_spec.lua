local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local approval = require('approval')
local fileops = require('fileops')
local review = require('fileops.review.queue')
local world = require('world')

local TEXT, asking, propose, settled = approval.TEXT, approval.asking, approval.propose, approval.settled

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

--- Open the proposal of the review that waits longest.
local function open()
  vim.cmd('Fileops review')
  t.wait(function() return vim.wo.diff and #world.own_windows() == 2 end, 'both texts')
end

---@param index integer of a change of it
local function drop(index)
  local waiting = review.waiting()[1]
  review.judge(waiting, waiting.change_ids[index], false)
end

t.it('changes of neighbouring lines are decided one by one', function()
  local path, answer, text = long({ 68, 72, 74 })
  t.eq(
    vim.tbl_map(function(change) return change.old_start end, review.waiting()[1].params.changes),
    { 68, 72, 74 }
  )
  drop(2)
  approval.accept()
  t.eq(settled(answer).details.modified_by_user, true)
  t.eq(t.contents(path), text({ [68] = 'LINE 68', [74] = 'LINE 74' }))
end)

t.it('a daemon that does not answer a decision is named, and decides once it does', function()
  local path, answer, text = long({ 68 })
  local pid = require('fileops.client.process').client().rpc.pid()
  vim.uv.kill(pid, 'sigstop')
  local words = t.said(function(said)
    approval.accept()
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

t.it('a dropped change stays dropped and typed text is written if the file changes meanwhile', function()
  local path, answer, text = long({ 10, 20, 30, 40 })
  drop(2)
  open()
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
  drop(2)
  t.write(path, text({ [31] = 'theirs' }))
  approval.asked_again(approval.accept)
  t.eq(
    vim.tbl_map(function(change) return change.old_start end, review.waiting()[1].params.changes),
    { 10, 30, 40 }
  )
  approval.accept()
  t.eq(settled(answer).status, 'success')
  t.eq(t.contents(path), text({ [10] = 'LINE 10', [30] = 'LINE 30', [31] = 'theirs', [40] = 'LINE 40' }))
end)

t.it(
  'typed text that does not fit the file any more stays in its tab page, beside the present file',
  function()
    local path, answer, text = long({ 10, 40 })
    open()
    local proposal, tab = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_tabpage()
    vim.api.nvim_buf_set_lines(proposal, 39, 40, true, { 'mine' })
    t.write(path, text({ [41] = 'theirs' }))
    approval.asked_again(vim.cmd.write)
    t.eq({ vim.api.nvim_get_current_tabpage(), vim.bo[proposal].modified, answer.result }, { tab, true })
    t.eq(vim.api.nvim_buf_get_lines(proposal, 39, 41, true), { 'mine', 'line 41' })
    assert(review.waiting()[1].note:find('line 41 changed too', 1, true), review.waiting()[1].note)
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
  open()
  vim.api.nvim_buf_set_lines(0, 39, 40, true, { 'mine' })
  t.write(path, text({ [40] = 'theirs' }))
  approval.asked_again(function() vim.cmd('wq') end)
  t.wait(function() return #vim.api.nvim_list_tabpages() == 1 end, 'the tab page to close')
  local said = t.said(approval.accept)
  t.eq({ #said, answer.result, #vim.api.nvim_list_tabpages() }, { 1, nil, 2 })
  t.eq(vim.api.nvim_buf_get_lines(0, 39, 40, true), { 'mine' })
  vim.cmd('tabclose!')
  t.wait(function() return #vim.api.nvim_list_tabpages() == 1 end, 'the tab page to close')
  approval.accept() -- the person has seen it, and takes the proposal
  t.eq(settled(answer).status, 'success')
  t.eq(t.contents(path), text({ [10] = 'LINE 10', [40] = 'theirs' }))
end)

t.it('the proposal is not accepted while the person has text of their own for it', function()
  local path, answer, text = long({ 10, 40 })
  open()
  vim.api.nvim_buf_set_lines(0, 39, 40, true, { 'mine' })
  vim.cmd('tabprevious')
  t.eq(#t.said(approval.accept), 1)
  t.eq({ answer.result, #vim.api.nvim_list_tabpages() }, { nil, 2 })
  t.eq(vim.api.nvim_buf_get_lines(0, 39, 40, true), { 'mine' })
  vim.cmd.write()
  settled(answer)
  t.eq(t.contents(path), text({ [10] = 'LINE 10', [40] = 'mine' }))
end)

t.it('an edit that cannot be made any more is not accepted, and its text can be written', function()
  local path, answer = long({ 10 })
  vim.uv.fs_unlink(path)
  approval.asked_again(approval.accept)
  t.eq(review.waiting()[1].change_ids, {})
  t.eq(#t.said(approval.accept), 1)
  t.eq({ answer.result, (vim.uv.fs_stat(path)) }, {})
  vim.cmd('tabclose!')
  t.wait(function() return #vim.api.nvim_list_tabpages() == 1 end, 'the tab page to close')
  approval.reject()
  t.eq(settled(answer).error.code, 'rejected')
end)

t.it('the reason of a rejection reaches the agent', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  vim.cmd('Fileops reject file use the helper in util.py')
  local output = settled(answer).output
  assert(output:find('The proposed edit was rejected: use the helper in util.py', 1, true), output)
end)

t.it('the last minute is counted down', function()
  local path, agent, buf = asking({ approval_timeout_s = 50 })
  local answer = propose(agent, path)
  local function left()
    local ns = vim.api.nvim_get_namespaces()['fileops.review.text']
    local words = vim.inspect(vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true }))
    return tonumber(words:match('(%d+) s left'))
  end
  local first = assert(left())
  t.wait(function() return left() and left() < first end, 'the next second')
  approval.reject()
  settled(answer)
  path, agent, buf = asking({ approval_timeout_s = 500 })
  propose(agent, path)
  t.eq(left(), nil)
  approval.reject()
end)

t.it('closing the texts, their window or their tab page decides nothing', function()
  local path, answer = long({ 10 })
  for _, close in ipairs({ 'quit', 'close!', 'tabclose' }) do
    open()
    vim.cmd(close)
    t.wait(function() return #world.own_windows() == 0 end, 'both texts to close')
    t.eq({ #review.waiting(), answer.result, answer.err }, { 1 })
  end
  approval.accept()
  t.eq(settled(answer).status, 'success')
  t.eq(t.contents(path):find('LINE 10', 1, true) ~= nil, true)
end)

t.it(
  'a review that goes while the person looks at it leaves the text, which decides nothing any more',
  function()
    local path, agent = asking()
    local answer, handle = propose(agent, path)
    vim.cmd('Fileops review')
    t.wait(function() return vim.wo.diff and #world.own_windows() == 2 end, 'both texts')
    local said = t.said(function()
      handle.cancel()
      t.wait(function() return #review.waiting() == 0 and answer.err end, 'the review to go')
      vim.cmd.write()
    end)
    t.eq(said[#said], 'fileops: the review has ended; this text is not used')
    t.eq(t.contents(path), TEXT)
    vim.cmd('tabclose!')
  end
)

t.it('a decision about what the review was before is none', function()
  local path, answer, text = long({ 10, 40 })
  local waiting = review.waiting()[1]
  t.write(path, text({ [41] = 'theirs' }))
  approval.asked_again(approval.accept)
  local said = t.said(function(said)
    review.modify(waiting, text({ [40] = 'made of the old text' }), waiting.params.revision - 1)
    t.wait(function() return #said > 0 end, 'the answer')
  end)
  assert(said[1]:find('check it again', 1, true), said[1])
  t.eq({ #review.waiting(), answer.result, t.contents(path) }, { 1, nil, text({ [41] = 'theirs' }) })
  approval.reject()
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
  approval.accept()
  settled(answer)
  t.wait(function() return #heard > 0 end, 'the event')
  off()
  t.eq(heard, { 'accept' })
end)
