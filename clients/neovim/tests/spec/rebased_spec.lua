local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local fileops = require('fileops')
local world = require('world')

--- The note beside the first heading of the review's pane.
---@return string
local function beside_heading()
  local buf = vim.api.nvim_win_get_buf(world.own_windows()[1])
  local texts = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, -1, { 0, 0 }, { 0, -1 }, { details = true })) do
    for _, chunk in ipairs(mark[4].virt_text or {}) do
      texts[#texts + 1] = chunk[1]
    end
  end
  return table.concat(texts)
end

t.it("an edit rebased on others' changes is marked in its review and in the history", function()
  local settings = { server = { approval_mode = 'default', freshness = 'relevant', notices = 'output' } }
  local open, agent = world.new('another file\n', settings)
  local lines = {}
  for i = 1, 30 do
    lines[i] = 'line ' .. i .. '\n'
  end
  local path = t.write(vim.fs.dirname(open) .. '/long.txt', table.concat(lines))
  t.async(function() world.succeeded(agent:read({ file_path = path })) end)
  lines[20] = 'written by a formatter\n'
  t.write(path, table.concat(lines))
  local result
  agent:edit(
    { file_path = path, old_string = 'line 2\n', new_string = 'line two\n' },
    function(_, value) result = value end
  )
  t.wait(function() return #require('fileops.review.queue').waiting() == 1 end, 'the review')
  t.eq(beside_heading(), ' undecided · rebased over 1 change by another program')
  fileops.answer('accept')
  t.wait(function() return result end, 'the result')
  world.succeeded(result)
  assert(result.output:find('written by a formatter', 1, true), result.output)
  vim.cmd('Fileops history ' .. path)
  local function bar()
    local win = vim.fn.bufwinid('fileops://history/diff')
    return win ~= -1 and vim.api.nvim_eval_statusline(vim.wo[win].winbar, { winid = win, maxwidth = 100 }).str
      or ''
  end
  t.wait(function() return bar():find('rebased over 1 change by another', 1, true) end, 'the note')
  require('fileops.history').close()
end)
