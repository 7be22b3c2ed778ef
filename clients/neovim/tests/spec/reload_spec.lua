local t = require('harness')
local reload = require('fileops.reload')

local function numbered(n)
  local lines = {}
  for i = 1, n do
    lines[i] = 'line ' .. i
  end
  return lines
end

---@param lines string[]
---@param ending? string
local function open(lines, ending)
  t.clean()
  local path = t.write(t.folder() .. '/a.txt', table.concat(lines, ending or '\n') .. (ending or '\n'))
  vim.cmd.edit(path)
  return path, vim.api.nvim_get_current_buf()
end

---@param buf integer
local function lines_of(buf) return vim.api.nvim_buf_get_lines(buf, 0, -1, true) end

--- Would Vim warn now (W11, W12), or read the file again?
---@param buf integer
local function vim_sees_a_change(buf)
  local seen = false
  vim.bo[buf].autoread = false
  local id = vim.api.nvim_create_autocmd('FileChangedShell', {
    buffer = buf,
    callback = function()
      seen = true
      vim.v.fcs_choice = ''
    end,
  })
  vim.cmd('checktime ' .. buf)
  vim.api.nvim_del_autocmd(id)
  return seen
end

t.it('text, flag and time follow the disk, and Vim does not warn', function()
  local path, buf = open(numbered(20))
  local lines = numbered(20)
  lines[5] = 'changed'
  table.insert(lines, 10, 'added')
  t.write(path, table.concat(lines, '\n') .. '\n')
  t.eq(reload.reload(buf), nil)
  t.eq(lines_of(buf), lines)
  t.eq(vim.bo[buf].modified, false)
  t.eq(vim_sees_a_change(buf), false)
end)

t.it('the cursor stays on its line of text, folds and marks stay', function()
  local path, buf = open(numbered(40))
  vim.wo.foldmethod = 'manual'
  vim.cmd('30,34fold')
  vim.api.nvim_win_set_cursor(0, { 25, 3 })
  local ns = vim.api.nvim_create_namespace('spec')
  local mark = vim.api.nvim_buf_set_extmark(buf, ns, 20, 0, {})
  local lines = numbered(40)
  table.insert(lines, 1, 'new first')
  table.insert(lines, 2, 'new second')
  t.write(path, table.concat(lines, '\n') .. '\n')
  reload.reload(buf)
  t.eq(vim.api.nvim_win_get_cursor(0), { 27, 3 })
  t.eq(vim.api.nvim_get_current_line(), 'line 25')
  t.eq({ vim.fn.foldclosed(32), vim.fn.foldclosedend(32) }, { 32, 36 })
  t.eq(vim.api.nvim_buf_get_extmark_by_id(buf, ns, mark, {})[1], 22)
end)

t.it('undo goes back over the reload to what was typed before', function()
  local path, buf = open(numbered(5))
  vim.cmd('normal! cctyped')
  vim.cmd('silent write')
  t.write(path, 'typed\nline 2\nby the agent\nline 4\nline 5\n')
  reload.reload(buf)
  vim.cmd('silent undo')
  t.eq(lines_of(buf), { 'typed', 'line 2', 'line 3', 'line 4', 'line 5' })
  t.eq(vim.bo[buf].modified, true) -- the disk has another text, which must not come back by itself
  vim.cmd('silent undo')
  t.eq({ lines_of(buf), vim.bo[buf].modified }, { numbered(5), true })
  vim.cmd('silent redo | silent redo')
  t.eq({ lines_of(buf)[3], vim.bo[buf].modified }, { 'by the agent', false })
end)

t.it('writing afterwards needs no confirmation', function()
  local path, buf = open(numbered(3))
  vim.o.eventignore = 'BufWriteCmd'
  t.write(path, 'theirs\nline 2\nline 3\n')
  reload.reload(buf)
  t.eq(vim.o.eventignore, 'BufWriteCmd')
  vim.o.eventignore = ''
  vim.api.nvim_buf_set_lines(buf, 2, 3, true, { 'mine' })
  vim.cmd('silent write') -- it would hang in a question
  t.eq(t.contents(path), 'theirs\nline 2\nmine\n')
end)

t.it('the file itself is not touched', function()
  local path, buf = open(numbered(3))
  t.write(path, 'theirs\n')
  local function state() return vim.tbl_extend('force', vim.uv.fs_stat(path), { atime = 'of reading' }) end
  local before, wrote = state(), false
  vim.api.nvim_create_autocmd({ 'BufWritePre', 'BufWritePost' }, {
    buffer = buf,
    callback = function() wrote = true end,
  })
  reload.reload(buf)
  t.eq({ state(), wrote }, { before, false })
end)

t.it('inside an autocmd nothing is done yet', function()
  local path, buf = open(numbered(3))
  t.write(path, 'theirs\n')
  local before, why = vim.uv.fs_stat(path), nil
  vim.api.nvim_create_autocmd('BufEnter', {
    once = true,
    callback = function() why = reload.reload(buf) end,
  })
  vim.cmd.new()
  t.eq({ why, lines_of(buf), vim.uv.fs_stat(path) }, { 'busy', numbered(3), before })
  reload.reload(buf)
  t.eq(lines_of(buf), { 'theirs' })
end)

t.it('unsaved changes are left alone', function()
  local path, buf = open(numbered(3))
  vim.api.nvim_buf_set_lines(buf, 0, 1, true, { 'mine' })
  t.write(path, 'theirs\n')
  t.eq(reload.reload(buf), 'modified')
  t.eq(lines_of(buf)[1], 'mine')
end)

t.it('typing after a reload is distinguished from a change on disk', function()
  local path, buf = open(numbered(3))
  t.write(path, 'theirs\n')
  reload.reload(buf)
  vim.api.nvim_buf_set_lines(buf, 0, 0, true, { 'mine' })
  t.eq(reload.reload(buf), 'taken')
  t.write(path, 'theirs again\n')
  t.eq(reload.reload(buf), 'modified')
  t.eq(lines_of(buf), { 'mine', 'theirs' })
end)

t.it('a file that is gone leaves the buffer', function()
  local path, buf = open(numbered(3))
  vim.uv.fs_unlink(path)
  t.eq(reload.reload(buf), 'gone')
  t.eq(lines_of(buf), numbered(3))
end)

t.it('CRLF files show no carriage return', function()
  local path, buf = open({ 'a', 'b' }, '\r\n')
  t.eq(vim.bo[buf].fileformat, 'dos')
  t.write(path, 'a\r\nB\r\nc\r\n')
  reload.reload(buf)
  t.eq(lines_of(buf), { 'a', 'B', 'c' })
  t.eq(vim.bo[buf].fileformat, 'dos')
end)

t.it('a final newline that comes or goes is known', function()
  local path, buf = open({ 'a' })
  t.write(path, 'a\nb')
  reload.reload(buf)
  t.eq({ lines_of(buf), vim.bo[buf].endofline }, { { 'a', 'b' }, false })
  t.write(path, '')
  reload.reload(buf)
  t.eq(lines_of(buf), { '' })
  t.write(path, 'x\n')
  reload.reload(buf)
  t.eq({ lines_of(buf), vim.bo[buf].endofline }, { { 'x' }, true })
end)

t.it('a file that only Vim can decode is read again by Vim, and the view is kept', function()
  local path, buf = open(numbered(60))
  vim.api.nvim_win_set_cursor(0, { 40, 0 })
  local lines = numbered(60)
  lines[50] = 'latin \228'
  t.write(path, table.concat(lines, '\n') .. '\n')
  reload.reload(buf)
  t.eq({ vim.bo[buf].fileencoding, lines_of(buf)[50] }, { 'latin1', 'latin ä' })
  t.eq(vim.api.nvim_win_get_cursor(0)[1], 40)
  lines[50] = 'latin \246'
  t.write(path, table.concat(lines, '\n') .. '\n')
  reload.reload(buf)
  t.eq(lines_of(buf)[50], 'latin ö')
  t.eq({ vim.bo[buf].modified, vim_sees_a_change(buf) }, { false, false })
end)

t.it('mixed line ends show as Vim shows them', function()
  local path, buf = open({ 'a', 'b' }, '\r\n')
  t.write(path, 'a\r\nb\nc\r\n')
  reload.reload(buf)
  t.eq(vim.bo[buf].fileformat, 'unix')
  t.eq(lines_of(buf), { 'a\r', 'b', 'c\r' })
end)

t.it('a read-only buffer follows, and stays read-only', function()
  local path, buf = open({ 'a' })
  vim.bo[buf].readonly, vim.bo[buf].modifiable = true, false
  t.write(path, 'b\n')
  reload.reload(buf)
  t.eq(lines_of(buf), { 'b' })
  t.eq({ vim.bo[buf].readonly, vim.bo[buf].modifiable, vim.bo[buf].modified }, { true, false, false })
end)

t.it("a window's own choice of autoread stays", function()
  local path, buf = open({ 'a' })
  t.write(path, 'b\n')
  reload.reload(buf)
  t.eq(vim.fn.execute('setlocal autoread?'):match('%S+'), '--autoread')
end)
