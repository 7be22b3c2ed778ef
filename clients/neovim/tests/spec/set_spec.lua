local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local approval = require('approval')
local fileops = require('fileops')
local queue = require('fileops.review.queue')
local world = require('world')

local asking, settled = approval.asking, approval.settled

--- An agent's patch of four files that waits: two changes, one in a file that is moved too, a deletion, a new file.
---@return table<string, string> paths, { result?: fileops.wire.ToolResult }
local function patched()
  local path, agent = asking()
  local folder = vim.fs.dirname(path)
  local function at(name) return folder .. '/set-' .. name end
  local files = { a = at('a'), b = at('b'), moved = at('moved'), c = at('c'), new = at('new') }
  vim.fn.delete(files.moved)
  vim.fn.delete(files.new)
  for name, text in pairs({ a = 'one\ntwo\nthree\nfour\n', b = 'bee\n', c = 'gone\n' }) do
    t.write(files[name], text)
    t.async(function() world.succeeded(agent:read({ file_path = files[name] })) end)
  end
  local patch = table.concat({
    '*** Begin Patch',
    '*** Update File: ' .. files.a,
    '@@',
    '-one',
    '+ONE',
    '@@',
    '-four',
    '+FOUR',
    '*** Update File: ' .. files.b,
    '*** Move to: ' .. files.moved,
    '@@',
    '-bee',
    '+BEE',
    '*** Delete File: ' .. files.c,
    '*** Add File: ' .. files.new,
    '+new',
    '*** End Patch',
  }, '\n')
  local answer = {}
  local params = { patch = patch, session_id = agent.id }
  fileops.request('fileops/applyPatch', params, function(err, result)
    answer.err, answer.result = err, result
  end)
  t.wait(function() return #queue.waiting() == 4 end, 'the reviews of the files')
  return files, answer
end

---@param path string
---@return fileops.Review
local function review_of(path)
  return assert(vim.iter(queue.waiting()):find(function(review) return review.params.file_path == path end))
end

---@param path string
---@return string? nil if there is no such file
local function contents(path) return vim.uv.fs_stat(path) and t.contents(path) or nil end

t.it('each file of a change set is decided, and all are written with the last decision', function()
  local files, answer = patched()
  local first = review_of(files.a)
  queue.judge(first, first.change_ids[2], false)
  queue.accept(first)
  t.eq(#queue.waiting(), 3)
  t.eq(contents(files.a), 'one\ntwo\nthree\nfour\n')
  queue.reject(review_of(files.c), 'c is needed')
  queue.accept(review_of(files.new))
  queue.accept(review_of(files.b))
  local result = settled(answer)
  t.eq({ result.status, result.details.dropped }, { 'success', { files.c } })
  assert(vim.endswith(result.output, "\nThe user's reason: c is needed"), result.output)
  t.eq(contents(files.a), 'ONE\ntwo\nthree\nfour\n')
  t.eq({ contents(files.b), contents(files.moved) }, { nil, 'BEE\n' })
  t.eq({ contents(files.c), contents(files.new) }, { 'gone\n', 'new\n' })
  t.eq(#queue.waiting(), 0)
end)

t.it('all files of a change set are accepted by one command', function()
  local files, answer = patched()
  vim.cmd('Fileops accept all')
  t.eq(settled(answer).status, 'success')
  t.eq({ contents(files.c), contents(files.moved), contents(files.new) }, { nil, 'BEE\n', 'new\n' })
end)

t.it('all files of a change set are rejected with a reason, also one that was accepted', function()
  local files, answer = patched()
  queue.accept(review_of(files.a))
  vim.cmd('Fileops reject all not now')
  local result = settled(answer)
  t.eq({ result.error.code, result.output:find('not now', 1, true) ~= nil }, { 'rejected', true })
  t.eq({ contents(files.a), contents(files.c) }, { 'one\ntwo\nthree\nfour\n', 'gone\n' })
end)

t.it('a change set whose file changed is asked about anew, with the change that was dropped', function()
  local files, answer = patched()
  local first = review_of(files.a)
  queue.judge(first, first.change_ids[2], false)
  t.write(files.a, 'zero\none\ntwo\nthree\nfour\n')
  vim.cmd('Fileops accept all')
  t.wait(function() return #queue.waiting() == 4 and first.params.previous ~= nil end, 'the set again')
  t.eq(contents(files.a), 'zero\none\ntwo\nthree\nfour\n')
  vim.cmd('Fileops accept all')
  t.eq(settled(answer).status, 'success')
  t.eq(contents(files.a), 'zero\nONE\ntwo\nthree\nfour\n')
end)

t.it('a change set that is decided elsewhere is gone with all its files', function()
  local files, answer = patched()
  local id = review_of(files.a).set.params.review_id
  queue.reject(review_of(files.a))
  fileops.request('fileops/decideReview', { review_id = id, outcome = 'accept' }, function() end)
  t.eq(settled(answer).status, 'success')
  t.wait(function() return #queue.waiting() == 0 end, 'nothing waits')
  t.eq(contents(files.a), 'ONE\ntwo\nthree\nFOUR\n')
end)
