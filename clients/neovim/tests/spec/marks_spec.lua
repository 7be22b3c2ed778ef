local t = require('harness')
local hunks = require('fileops.ui.hunks')
local marks = require('fileops.ui.marks')

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

t.it('text removed after the last line is shown below it', function()
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

t.it('nothing is marked if marks are switched off', function()
  local buf = open('1\n2\n3\n4\n5\n')
  require('fileops.config').set({ marks = { enabled = false } })
  marks.show(buf, REGIONS)
  require('fileops.config').set({})
  t.eq(details(buf), {})
end)

---@param buf integer
---@return string[] removed lines that are shown
local function ghosts(buf)
  local shown = {}
  for _, mark in ipairs(details(buf)) do
    for _, line in ipairs(not mark[4].invalid and mark[4].virt_lines or {}) do
      shown[#shown + 1] = line[1][1]
    end
  end
  return shown
end

--- What an agent's edit does to a buffer.
---@param buf integer
---@param lines string[]
local function edited(buf, lines)
  local before = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  vim.bo[buf].undolevels = vim.bo[buf].undolevels -- a separate undo step
  for i, block in ipairs(hunks.blocks(before, lines)) do
    assert(i == 1)
    local first = block[2] == 0 and block[1] or block[1] - 1
    vim.api.nvim_buf_set_lines(
      buf,
      first,
      first + block[2],
      true,
      vim.list_slice(lines, block[3], block[3] + block[4] - 1)
    )
  end
  marks.show(buf, hunks.regions_between(before, vim.api.nvim_buf_get_lines(buf, 0, -1, true)))
end

local function undo(command)
  vim.cmd('silent ' .. command)
  vim.api.nvim_exec_autocmds('TextChanged', { buffer = vim.api.nvim_get_current_buf() })
end

local EDITS = {
  change = { { '1', 'TWO', '3', '4' }, { 2 }, { '2' } },
  deletion = { { '1', '3', '4' }, { 2 }, { '2' } },
  ['deletion at the end'] = { { '1', '2', '3' }, { 3 }, { '4' } },
  addition = { { '1', '2', 'new', '3', '4' }, { 3 }, {} },
  ['change to fewer'] = { { '1', 'X', '4' }, { 2 }, { '2', '3' } },
}
for name, case in vim.spairs(EDITS) do
  t.it(('marks of a %s go with its undo, and come with its redo'):format(name), function()
    local buf = open('1\n2\n3\n4\n')
    edited(buf, case[1])
    t.eq({ marks.lines(buf), ghosts(buf) }, { case[2], case[3] })
    undo('undo')
    t.eq(vim.api.nvim_buf_get_lines(buf, 0, -1, true), { '1', '2', '3', '4' })
    t.eq({ marks.lines(buf), ghosts(buf) }, { {}, {} })
    undo('redo')
    t.eq(vim.api.nvim_buf_get_lines(buf, 0, -1, true), case[1])
    t.eq({ marks.lines(buf), ghosts(buf) }, { case[2], case[3] })
    undo('undo')
    vim.api.nvim_buf_set_lines(buf, 0, 1, true, { 'typed' })
    undo('undo')
    undo('redo')
    t.eq({ marks.lines(buf), ghosts(buf) }, { {}, {} })
    vim.cmd('edit!')
  end)

  t.it(('marks of a %s go when the file is read anew'):format(name), function()
    local buf = open('1\n2\n3\n4\n')
    edited(buf, case[1])
    vim.cmd('silent edit!')
    t.eq({ marks.lines(buf), ghosts(buf) }, { {}, {} })
  end)

  t.it(('marks of a %s go when the person takes it back'):format(name), function()
    local buf = open('1\n2\n3\n4\n')
    edited(buf, case[1])
    local before = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
    local original = { '1', '2', '3', '4' }
    for _, block in ipairs(hunks.blocks(before, original)) do
      local first = block[2] == 0 and block[1] or block[1] - 1
      local put = vim.list_slice(original, block[3], block[3] + block[4] - 1)
      vim.api.nvim_buf_set_lines(buf, first, first + block[2], true, put)
    end
    marks.restored(buf, hunks.regions_between(before, original))
    t.eq({ marks.lines(buf), ghosts(buf) }, { {}, {} })
    vim.cmd('edit!')
  end)
end

t.it('lines below an undone edit keep their marks', function()
  local buf = open('1\n2\n3\n4\n')
  edited(buf, { '1', '2', '3', 'FOUR' })
  edited(buf, { '1', '3', 'FOUR' })
  t.eq({ marks.lines(buf), ghosts(buf) }, { { 2 }, { '2', '4' } }) -- next to each other
  undo('undo')
  t.eq({ marks.lines(buf), ghosts(buf) }, { { 4 }, { '4' } })
  undo('undo')
  t.eq({ marks.lines(buf), ghosts(buf) }, { {}, {} })
  vim.cmd('edit!')
end)
