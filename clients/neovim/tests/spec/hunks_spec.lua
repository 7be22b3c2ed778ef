local t = require('harness')
local hunks = require('fileops.ui.hunks')

---@param diff string
local function parse(diff) return hunks.parse(diff) end

local DIFF = [[
--- a/demo.py
+++ b/demo.py
@@ -2,4 +2,5 @@
 one
-two
-three
+2
+3
+4
 five
]]

t.it('a unified diff is parsed', function()
  local hunk = parse(DIFF)[1]
  t.eq({ hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines, #hunk.lines }, { 2, 4, 2, 5, 7 })
  t.eq(hunk.lines[2], { kind = '-', text = 'two' })
end)

t.it('removed lines that look like a header are lines', function()
  local parsed = parse('--- a\n+++ b\n@@ -1,2 +1,1 @@\n--- x\n+++ y\n-@@ -1 +1 @@\n')
  t.eq(#parsed, 1)
  t.eq(parsed[1].lines[1], { kind = '-', text = '-- x' })
  t.eq(parsed[1].lines[2], { kind = '+', text = '++ y' })
  t.eq(parsed[1].lines[3], { kind = '-', text = '@@ -1 +1 @@' })
end)

t.it('a missing final newline is known', function()
  local parsed = parse('@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n')
  t.eq(parsed[1].lines, { { kind = '-', text = 'a', no_newline = true }, { kind = '+', text = 'b' } })
end)

t.it('removed and added lines stand beside each other', function()
  local rows = hunks.rows(parse(DIFF)[1])
  t.eq(vim.tbl_map(function(row) return row.kind end, rows), { 'same', 'change', 'change', 'add', 'same' })
  t.eq(rows[2], { kind = 'change', old = 'two', new = '2', old_line = 3, new_line = 3 })
  t.eq(rows[4], { kind = 'add', new = '4', new_line = 5 })
  t.eq({ rows[5].old_line, rows[5].new_line }, { 5, 6 })
end)

t.it('rows begin without the byte order mark of the file, and keep one of a later line', function()
  local mark = '\239\187\191'
  local rows = hunks.rows(parse(('@@ -1,2 +1,2 @@\n-%sone\n+%s1\n %stwo\n'):format(mark, mark, mark))[1])
  t.eq({ rows[1].old, rows[1].new, rows[2].old, rows[2].new }, { 'one', '1', mark .. 'two', mark .. 'two' })
end)

t.it('the differing middle of two lines, never half a character', function()
  t.eq({ hunks.changed_words('return 1', 'return 2') }, { 7, 8, 7, 8 })
  t.eq({ hunks.changed_words('aXb', 'ab') }, { 1, 2, 1, 1 })
  t.eq({ hunks.changed_words('xäy', 'xöy') }, { 1, 3, 1, 3 }) -- they share their first byte
  t.eq({ hunks.changed_words('aa', 'aaa') }, { 2, 2, 2, 3 })
end)

t.it('only versions of one line have their words compared', function()
  t.eq(hunks.are_alike('    return 1', '    return 2'), true)
  t.eq(hunks.are_alike('def total(lines):', 'def total(lines: list[Line]) -> float:'), true)
  t.eq(hunks.are_alike('    sum = 0', '    return sum(line.price for line in lines)'), false)
  t.eq(hunks.are_alike('', 'x'), false)
end)
