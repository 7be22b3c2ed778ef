local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local approval = require('approval')
local review = require('fileops.review.queue')

local TEXT, asking, propose, settled = approval.TEXT, approval.asking, approval.propose, approval.settled

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
  local said = approval.asked_again(approval.accept)
  t.eq(said, { 'fileops: demo.py is not decided: line 5 changed too; check it again' })
  t.eq({ answer.result, t.contents(path) }, { nil, (TEXT:gsub('five', 'theirs')) })
  approval.accept()
  t.eq(settled(answer).status, 'success')
  t.eq(t.contents(path), (TEXT:gsub('five', 'theirs'):gsub('two', 'TWO'):gsub('nine', 'NINE')))
end)

t.it('an edit that cannot be written for another reason is reported too', function()
  local path, agent, buf = asking()
  vim.api.nvim_buf_set_lines(buf, 4, 5, true, { 'typed' })
  local answer = propose(agent, path)
  vim.bo[buf].modifiable = false
  local said = t.said(function(said)
    approval.accept()
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
      approval.reject()
      t.eq(settled(answer).error.code, 'rejected')
      t.async(function() agent:edit({ file_path = path, old_string = 'two', new_string = 'x' }) end)
    end),
    {}
  )
end)
