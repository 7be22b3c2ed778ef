local t = require('harness')
local hunks = require('fileops.ui.hunks')
local render = require('fileops.ui.render')

local DIFF = '@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -9 +9,2 @@\n-x\r\n+y\r\n+z\r\n'

t.it('inline: removed lines above added ones, a heading for each hunk', function()
  local page = render.inline(hunks.parse(DIFF))
  t.eq(
    page.lines,
    { 'change 1/2 · line 2', ' a', '-b', '+B', ' c', 'change 2/2 · lines 9–10', '-x', '+y', '+z' }
  )
  t.eq(page.hunk_lines, { 1, 6 })
  t.eq({ page.hunk_at[1], page.hunk_at[5], page.hunk_at[6], page.hunk_at[9] }, { '1', '1', '2', '2' })
end)

t.it('a review shows the verdict on each hunk', function()
  local page = render.inline(hunks.parse(DIFF), { rejected = { ['2'] = true } })
  t.eq({ page.lines[1], page.lines[6] }, { '◦ change 1/2 · line 2', '✗ change 2/2 · lines 9–10' })
end)

t.it('side by side: both columns have the same number of lines', function()
  local left, right = render.side_by_side(hunks.parse(DIFF))
  t.eq(left.lines, { 'change 1/2 · line 2', 'a', 'b', 'c', 'change 2/2 · lines 9–10', 'x', '' })
  t.eq(right.lines, { 'change 1/2 · line 2', 'a', 'B', 'c', 'change 2/2 · lines 9–10', 'y', 'z' })
end)

t.it('a missing newline at the end is shown if nothing else differs', function()
  local unended = hunks.parse('@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n')
  ---@param page fileops.Page
  local function told(page)
    local lines = {}
    for _, each in ipairs(page.decorations) do
      local text = each.opts.virt_text and each.opts.virt_text[1][1]
      if text == ' no newline at the end' then table.insert(lines, page.lines[each.row + 1]) end
    end
    return lines
  end
  t.eq(told(render.inline(unended)), { '-b' })
  local left, right = render.side_by_side(unended)
  t.eq({ told(left), told(right) }, { { 'b' }, {} })
  t.eq(told(render.inline(hunks.parse(DIFF))), {})
end)

t.it('decorations are within the text', function()
  for _, page in ipairs({
    render.inline(hunks.parse(DIFF), { rejected = {} }),
    render.side_by_side(hunks.parse(DIFF)),
  }) do
    for _, each in ipairs(page.decorations) do
      local line = page.lines[each.row + 1]
      assert(each.col <= #line, vim.inspect(each))
      assert(each.opts.end_row or (each.opts.end_col or 0) <= #line, vim.inspect(each))
    end
  end
end)
