local t = require('harness')
local hunks = require('fileops.hunks')
local marks = require('fileops.marks')

local function open(text)
  t.clean()
  local path = t.write(t.folder() .. '/a.txt', text)
  vim.cmd.edit(path)
  return vim.api.nvim_get_current_buf(), path
end

---@param buf integer
local function details(buf)
  local ns = vim.api.nvim_get_namespaces()['fileops.marks']
  return vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })
end

local REGIONS = {
  { kind = 'change', line = 2, count = 2, removed = { 'old' } },
  { kind = 'delete', line = 5, count = 0, removed = { 'gone\r', '\ttab' } },
}

t.it('changed lines are marked, removed ones shown above', function()
  local buf = open('1\n2\n3\n4\n5\n')
  marks.show(buf, REGIONS)
  t.eq(marks.lines(buf), { 2, 5 })
  local virtual = vim.iter(details(buf)):map(function(mark) return mark[4].virt_lines end):totable()
  t.eq(virtual, {
    { { { 'old', 'FileopsDelete' } } },
    { { { 'gone', 'FileopsDelete' } }, { { '    tab', 'FileopsDelete' } } },
  })
end)

t.it('marks follow typing above them, until they are dismissed', function()
  local buf = open('1\n2\n3\n4\n5\n')
  marks.show(buf, REGIONS)
  vim.api.nvim_buf_set_lines(buf, 0, 0, true, { 'x', 'y' })
  t.eq(marks.lines(buf), { 4, 7 })
  marks.dismiss(buf)
  t.eq(marks.lines(buf), {})
end)

t.it('text that stood behind the last line is shown below it', function()
  local buf = open('1\n')
  marks.show(buf, { { kind = 'delete', line = 2, count = 0, removed = { 'end' } } })
  local mark = details(buf)[1]
  t.eq({ mark[2], mark[4].virt_lines_above or false }, { 0, false })
end)

t.it('the cursor goes from mark to mark, around the end', function()
  local buf = open('1\n2\n3\n4\n5\n')
  marks.show(buf, REGIONS)
  local visited = {}
  for _, direction in ipairs({ 1, 1, 1, -1 }) do
    marks.jump(direction)
    visited[#visited + 1] = vim.api.nvim_win_get_cursor(0)[1]
  end
  t.eq(visited, { 2, 5, 2, 5 })
end)

t.it('marks of a file that is not open wait until it is, and later edits move them', function()
  t.clean()
  local path = t.write(t.folder() .. '/later.txt', 'new\n1\n2\nTHREE\n')
  marks.remember(path, hunks.parse('@@ -3 +3 @@\n-3\n+THREE\n'))
  marks.remember(path, hunks.parse('@@ -1 +1,2 @@\n+new\n 1\n'))
  vim.cmd.edit(path)
  t.eq(marks.lines(0), { 1, 4 })
  vim.cmd.edit({ bang = true })
  marks.dismiss()
  t.eq(marks.lines(0), {})
end)

t.it('nothing is marked where that is switched off', function()
  local buf = open('1\n2\n3\n4\n5\n')
  require('fileops.config').set({ marks = { enabled = false } })
  marks.show(buf, REGIONS)
  require('fileops.config').set({})
  t.eq(details(buf), {})
end)
