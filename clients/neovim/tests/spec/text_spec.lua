local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local approval = require('approval')
local review = require('fileops.review.queue')
local text = require('fileops.review.text')
local world = require('world')

local TEXT, propose, settled = approval.TEXT, approval.propose, approval.settled
local NOT_READ_MS = 300

local function keys(typed) vim.api.nvim_feedkeys(vim.keycode(typed), 'xt', false) end

--- An agent and an open file whose reviews are shown in the text.
local function asking()
  for _, each in ipairs(vim.list_slice(review.waiting())) do
    review.reject(each)
  end
  return world.new(TEXT, { server = { approval_mode = 'default' } })
end

--- Until the person may have read what is shown.
local function read()
  local since = vim.uv.now()
  t.wait(function() return vim.uv.now() - since > NOT_READ_MS end)
end

---@param buf integer
---@return string[] virtual lines, and marked lines as `-N`, top to bottom
local function shown(buf)
  local ns = vim.api.nvim_get_namespaces()['fileops.review.text']
  local found = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })) do
    local details = mark[4]
    if details.hl_group == 'FileopsDelete' then found[#found + 1] = ('-%d'):format(mark[2] + 1) end
    for _, line in ipairs(details.virt_lines or {}) do
      local words = table.concat(vim.tbl_map(function(chunk) return chunk[1] end, line))
      if not words:find('^▎') then found[#found + 1] = '+' .. vim.trim(words) end
    end
  end
  return found
end

t.it('a review of an open file is shown in its text, and no pane opens', function()
  local path, agent, buf = asking()
  local answer = propose(agent, path)
  t.eq(shown(buf), { '-2', '+TWO', '-11', '+NINE' })
  t.eq({ #world.own_windows(), text.lines(buf) }, { 0, { 2, 11 } })
  vim.cmd('Fileops accept file')
  t.eq(settled(answer).status, 'success')
  t.wait(function() return world.text_of(buf) == TEXT:gsub('two', 'TWO'):gsub('nine', 'NINE') end, 'the text')
  t.eq(shown(buf), {})
end)

t.it('each change is decided under the cursor, and the last decision hands the review in', function()
  local path, agent, buf = asking()
  local answer = propose(agent, path)
  read()
  keys('gg]cdo')
  t.eq(answer.result, nil)
  t.eq(shown(buf), { '+TWO', '-11', '+NINE' }) -- the accepted one is not marked as undecided any more
  keys(']cdr')
  t.eq(settled(answer).details.modified_by_user, true)
  t.eq(t.contents(path), (TEXT:gsub('two', 'TWO')))
end)

t.it('the reason of one change is the reason of the review if the others are rejected by a key', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  read()
  keys('gg]c')
  vim.cmd('Fileops reject change use a constant')
  keys(']cdr')
  local output = settled(answer).output
  assert(output:find('rejected: use a constant', 1, true), output)
end)

t.it('the reason of one change reaches the agent with the others that were accepted', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  read()
  keys('gg]c')
  vim.cmd('Fileops reject change use a constant')
  keys(']cdo')
  local result = settled(answer)
  t.eq(result.details.modified_by_user, true)
  assert(vim.endswith(result.output, "\nThe user's reason: use a constant"), result.output)
end)

t.it('the reasons of several changes all reach the agent', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  read()
  keys('gg]c')
  vim.cmd('Fileops reject change use a constant')
  keys(']c')
  vim.cmd('Fileops reject change too long')
  local output = settled(answer).output
  assert(output:find('rejected: use a constant; too long', 1, true), output)
end)

t.it('a range of lines decides the changes that it touches', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  vim.cmd('1,5Fileops reject change not here')
  vim.cmd('6,$Fileops accept')
  t.eq(settled(answer).status, 'success')
  t.eq(t.contents(path), (TEXT:gsub('nine', 'NINE')))

  answer = propose(agent, path, { { old_string = 'one\n', new_string = 'ONE\n' } })
  vim.cmd('%Fileops reject change use the constant')
  assert(settled(answer).output:find('rejected: use the constant', 1, true), answer.result.output)
end)

t.it('what is typed beside it moves it and stays', function()
  local path, agent, buf = asking()
  local answer = propose(agent, path)
  vim.api.nvim_buf_set_lines(buf, 6, 6, true, { 'typed', 'typed too' })
  t.eq(text.lines(buf), { 2, 13 })
  vim.cmd('Fileops accept file')
  t.eq(settled(answer).status, 'success')
  t.wait(
    function()
      return world.text_of(buf)
        == TEXT:gsub('two', 'TWO'):gsub('nine', 'NINE'):gsub('six\n', 'six\ntyped\ntyped too\n')
    end,
    'both'
  )
  vim.bo[buf].modified = false
end)

t.it('a review is shown where its lines are by then', function()
  local path, agent, buf = asking()
  propose(agent, path)
  local waiting = review.waiting()[1]
  text.hide(waiting)
  vim.api.nvim_buf_set_lines(buf, 0, 1, true, { 'first', 'second', 'third' })
  vim.api.nvim_buf_set_lines(buf, 10, 11, true, {})
  assert(text.show(waiting))
  t.eq(shown(buf), { '-4', '+TWO', '-12', '+NINE' })
  review.reject(waiting)
  vim.bo[buf].modified = false
end)

t.it('lines that only come are shown at their place, also above the first line', function()
  local path, agent, buf = asking()
  propose(agent, path, {
    { old_string = 'one\n', new_string = 'zero\none\n' },
    { old_string = 'end\n', new_string = 'end\n\tmore\n' },
  })
  t.eq(shown(buf), { '+zero', '+more' })
  t.eq(text.lines(buf), { 1, 12 })
  review.reject(review.waiting()[1])
end)

t.it('a key that comes with the review decides nothing', function()
  local path, agent, buf = asking()
  local answer = propose(agent, path)
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  local said = t.said(function() keys('do') end)
  t.eq({ #said, answer.result, #review.waiting(), world.text_of(buf) }, { 1, nil, 1, TEXT })
  read()
  keys('dodr') -- the second one is on no change that is undecided, and changes no text
  t.eq(world.text_of(buf), TEXT)
  review.reject(review.waiting()[1])
end)

t.it('the keys are gone with the review, and a map of the buffer comes back', function()
  local path, agent, buf = asking()
  vim.keymap.set('n', ']c', 'gg', { buffer = buf })
  local answer = propose(agent, path)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  keys(']c')
  t.eq(vim.api.nvim_win_get_cursor(0)[1], 2)
  vim.cmd('Fileops reject file')
  settled(answer)
  keys('G]c')
  t.eq(vim.api.nvim_win_get_cursor(0)[1], 1)
  t.eq({ vim.fn.maparg('do', 'n'), vim.fn.maparg('dr', 'n') }, { '', '' })
  local before = world.text_of(buf)
  keys('dodr')
  t.eq(world.text_of(buf), before)
end)

t.it('in diff mode the keys are those of diff mode', function()
  local path, agent, buf = asking()
  local answer = propose(agent, path)
  vim.cmd('diffthis | new | setlocal buftype=nofile')
  vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split(TEXT:gsub('four', 'IV'), '\n', { trimempty = true }))
  vim.cmd('diffthis | wincmd p')
  read()
  keys('gg]cdo')
  t.eq(vim.api.nvim_buf_get_lines(buf, 3, 4, true), { 'IV' })
  t.eq({ #review.waiting(), answer.result }, { 1 })
  vim.cmd('diffoff! | only')
  vim.cmd('silent edit!')
  t.eq(shown(buf), { '-2', '+TWO', '-11', '+NINE' }) -- read again, it is shown again
  review.reject(review.waiting()[1])
end)

t.it('a review of a file that is not open is in diff mode, and in its text once it is open', function()
  local path, agent, buf = asking()
  vim.cmd('enew')
  vim.api.nvim_buf_delete(buf, {})
  local answer = propose(agent, path)
  t.eq(#world.own_windows(), 0) -- nothing opens by itself
  vim.cmd('Fileops review')
  t.wait(function() return #world.own_windows() == 2 and vim.wo.diff end, 'both texts')
  t.eq(vim.api.nvim_get_current_line(), 'TWO')
  keys('do') -- diff mode's own: this change is left out
  vim.cmd.tabclose({ bang = true })
  t.wait(function() return #vim.api.nvim_list_tabpages() == 1 end, 'the tab page to close')
  t.eq({ #review.waiting(), answer.result }, { 1 })
  vim.cmd.edit(path)
  t.eq(shown(0), { '-2', '+TWO', '-11', '+NINE' })
  approval.reject()
  t.eq({ #world.own_windows(), shown(0) }, { 0, {} })
end)

t.it('what is in the proposal is written, and the next review opens', function()
  local path, agent, buf = asking()
  local other = t.write(vim.fs.dirname(path) .. '/other.py', TEXT)
  vim.cmd('enew')
  vim.api.nvim_buf_delete(buf, {})
  local first = propose(agent, path)
  local second = propose(require('fileops').session('second'), other)
  vim.cmd('Fileops review')
  t.wait(function() return #world.own_windows() == 2 and vim.wo.diff end, 'both texts')
  keys('do')
  vim.cmd.write()
  t.eq(settled(first).details.modified_by_user, true)
  t.eq(t.contents(path), (TEXT:gsub('nine', 'NINE')))
  t.wait(
    function() return vim.api.nvim_buf_get_name(0):find('/other.py', 1, true) and vim.wo.diff end,
    'the next one'
  )
  vim.cmd.write()
  t.eq(settled(second).details.modified_by_user, false)
  t.wait(function() return #vim.api.nvim_list_tabpages() == 1 end, 'the tab pages to close')
  t.eq(t.contents(other), (TEXT:gsub('two', 'TWO'):gsub('nine', 'NINE')))
end)

t.it('the proposal of an open file is there by choice', function()
  local path, agent = asking()
  local answer = propose(agent, path)
  vim.cmd('Fileops review')
  t.wait(function() return #world.own_windows() == 2 end, 'both texts')
  vim.cmd('Fileops reject file too soon')
  assert(settled(answer).output:find('rejected: too soon', 1, true), answer.result.output)
  t.wait(function() return #world.own_windows() == 0 end, 'the texts to close')
end)

t.it('what cannot be seen is shown by a key, and not decided', function()
  local path, agent, buf = asking()
  local answer = propose(agent, path)
  read()
  vim.cmd('set foldmethod=manual | 1,12fold | normal! zM')
  t.eq(vim.fn.foldclosed(2), 1)
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  t.eq(#t.said(function() keys('do') end), 1)
  t.eq({ answer.result, vim.fn.foldclosed(2), review.waiting()[1].accepted }, { nil, -1, {} })
  keys('do')
  t.eq(vim.tbl_count(review.waiting()[1].accepted), 1)
  vim.cmd('normal! zM')
  keys(']c') -- opens the fold where it goes
  t.eq({ vim.api.nvim_win_get_cursor(0)[1], vim.fn.foldclosed(11) }, { 11, -1 })
  vim.cmd('set foldmethod& | normal! zE')
  approval.reject()
  t.eq(world.text_of(buf), TEXT)
end)

t.it('all that waits is decided by one command, and what was not looked at by no other', function()
  local path, agent, buf = asking()
  local second = require('fileops').session('another')
  local answers =
    { (propose(agent, path)), (propose(second, path, { { old_string = 'six', new_string = 'VI' } })) }
  vim.cmd('enew')
  t.said(function() vim.cmd('Fileops accept') end)
  t.eq({ #review.waiting(), vim.api.nvim_get_current_buf() }, { 2, buf }) -- it is shown first
  vim.cmd('enew')
  vim.cmd('Fileops accept all')
  for _, answer in ipairs(answers) do
    t.eq(settled(answer).status, 'success')
  end
  t.eq(t.contents(path), (TEXT:gsub('two', 'TWO'):gsub('nine', 'NINE'):gsub('six', 'VI')))
end)

t.it('all edits of one agent are decided', function()
  local path, agent = asking()
  local other_path = t.write(vim.fs.dirname(path) .. '/other.py', TEXT)
  local second = require('fileops').session('another')
  local answers = { (propose(agent, path)), (propose(agent, other_path)), (propose(second, other_path)) }
  vim.cmd('Fileops reject agent not today')
  for i = 1, 2 do
    assert(settled(answers[i]).output:find('not today', 1, true), answers[i].result.output)
  end
  t.eq({ #review.waiting(), answers[3].result }, { 1, nil })
  approval.reject()
end)

t.it('a buffer that cannot be changed shows a review all the same', function()
  local path, agent, buf = asking()
  vim.bo[buf].modifiable = false
  propose(agent, path)
  t.eq(shown(buf), { '-2', '+TWO', '-11', '+NINE' })
  review.reject(review.waiting()[1])
  vim.bo[buf].modifiable = true
end)

t.it('the terminal is asked for a notice only while the person is elsewhere', function()
  local notice = require('fileops.ui.notice')
  t.eq(notice.is_away(), false)
  vim.api.nvim_exec_autocmds('FocusLost', {})
  t.eq(notice.is_away(), true)
  vim.api.nvim_exec_autocmds('FocusGained', {})
  t.eq(notice.is_away(), false)
end)

t.it('many reviews that come at once are announced once', function()
  asking()
  local opened, closed = {}, {}
  for i = 1, 30 do
    opened[i] = {
      review_id = 'many-' .. i,
      session = { session_id = 'codex:1', host = 'codex', label = 'Codex' },
      title = 'Edit',
      operation = 'modify',
      file_path = ('/nowhere/%d.txt'):format(i),
      original_text = 'a\n',
      proposed_text = 'b\n',
      revision = 1,
      changes = {
        {
          id = '1',
          old_start = 1,
          old_lines = 1,
          new_start = 1,
          new_lines = 1,
          diff = '@@ -1 +1 @@\n-a\n+b\n',
        },
      },
    }
    closed[i] = { review_id = 'many-' .. i, state = 'withdrawn' }
  end
  local listed = require('fileops.review.listed')
  local said = t.said(function() listed.changed({ opened = opened, closed = {} }) end)
  t.eq({ #said, said[2] }, { 2, 'fileops: 30 reviews wait  (:Fileops changes)' })
  t.eq({ #review.waiting(), #world.own_windows() }, { 30, 0 })
  listed.changed({ opened = {}, closed = closed })
  t.eq({ #review.waiting(), #world.own_windows() }, { 0, 0 })
end)
