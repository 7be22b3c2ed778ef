local t = require('harness')
local watch = require('fileops.watch')

---@param text string
---@return string path, integer buf
local function open(text)
  t.clean()
  local path = t.write(t.folder() .. '/a.txt', text)
  vim.cmd.edit(path)
  watch.start()
  return path, vim.api.nvim_get_current_buf()
end

---@param buf integer
local function lines_of(buf) return vim.api.nvim_buf_get_lines(buf, 0, -1, true) end

---@param buf integer
---@param lines string[]
local function becomes(buf, lines)
  t.wait(
    function() return vim.deep_equal(lines_of(buf), lines) end,
    ('the buffer to become %s'):format(vim.inspect(lines))
  )
  t.eq(vim.bo[buf].modified, false)
end

---@param path string
---@param text string
local function replace(path, text) assert(vim.uv.fs_rename(t.write(path .. '.new', text), path)) end

for name, write in pairs({ ['in place'] = t.write, ['by another one'] = replace }) do
  t.it(('a clean buffer follows a file that is written %s, again and again'):format(name), function()
    local path, buf = open('one\ntwo\n')
    for _, text in ipairs({ 'ONE\ntwo\n', 'ONE\nTWO\n', 'one\n' }) do
      write(path, text)
      becomes(buf, vim.split(vim.trim(text), '\n'))
    end
    vim.cmd('silent undo')
    t.eq(lines_of(buf), { 'ONE', 'TWO' }) -- each change is one step back
  end)
end

t.it('a buffer that is not shown follows, and one that is unloaded is not watched', function()
  local path, buf = open('one\n')
  vim.o.hidden = true
  vim.cmd.enew()
  replace(path, 'two\n')
  becomes(buf, { 'two' })
  vim.cmd.bunload(buf)
  replace(path, 'three\n')
  vim.cmd.edit(path)
  t.eq(lines_of(buf), { 'three' })
end)

t.it('a file that appears comes into its buffer', function()
  t.clean()
  local path = t.folder() .. '/new.txt'
  watch.start()
  vim.cmd.edit(path)
  t.write(path, 'text\n')
  becomes(vim.api.nvim_get_current_buf(), { 'text' })
end)

t.it('a link is followed to its file', function()
  t.clean()
  local path, link = t.write(t.folder() .. '/real.txt', 'one\n'), t.folder() .. '/link.txt'
  assert(vim.uv.fs_symlink(path, link))
  vim.cmd.edit(link)
  watch.start()
  replace(path, 'two\n')
  becomes(vim.api.nvim_get_current_buf(), { 'two' })
end)

t.it('unsaved changes stay', function()
  local path, buf = open('one\n')
  local other = t.write(vim.fs.dirname(path) .. '/b.txt', 'b\n')
  vim.cmd.split(other)
  vim.api.nvim_buf_set_lines(buf, 0, 1, true, { 'mine' })
  t.write(path, 'theirs\n')
  t.write(other, 'B\n')
  becomes(vim.api.nvim_get_current_buf(), { 'B' }) -- reported after the other one
  watch.check(buf)
  t.eq({ lines_of(buf), vim.bo[buf].modified }, { { 'mine' }, true })
end)

t.it('a file that is cut off and written again later does not empty the buffer', function()
  local path, buf = open('one\ntwo\n')
  local was_empty = false
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function() was_empty = was_empty or vim.deep_equal(lines_of(buf), { '' }) end,
  })
  local file = assert(io.open(path, 'wb'))
  local written = false
  vim.defer_fn(function()
    file:write('one\nTWO\n')
    file:close()
    written = true
  end, 150)
  t.wait(function() return written end)
  becomes(buf, { 'one', 'TWO' })
  t.eq(was_empty, false)
end)

t.it("the person's own writing is no change", function()
  local path, buf = open('one\n')
  local other = t.write(vim.fs.dirname(path) .. '/b.txt', 'b\n')
  vim.cmd.split(other)
  local reloads, reload = 0, require('fileops.reload')
  local original = reload.reload
  reload.reload = function(...)
    reloads = reloads + 1
    return original(...)
  end
  vim.api.nvim_buf_set_lines(buf, 0, 1, true, { 'mine' })
  vim.api.nvim_buf_call(buf, function() vim.cmd('silent write') end)
  t.write(other, 'B\n')
  becomes(vim.api.nvim_get_current_buf(), { 'B' })
  watch.check(buf)
  reload.reload = original
  t.eq({ reloads, lines_of(buf) }, { 1, { 'mine' } })
end)

t.it('where folders cannot be watched, the focus brings the buffer up to date', function()
  t.clean()
  local path = t.write(t.folder() .. '/a.txt', 'one\n')
  local new_fs_event = vim.uv.new_fs_event
  vim.uv.new_fs_event = function() return nil end -- luacheck: ignore 122
  local ok, problem = pcall(function()
    vim.cmd.edit(path)
    local buf = vim.api.nvim_get_current_buf()
    watch.start()
    replace(path, 'two\n')
    vim.api.nvim_exec_autocmds('FocusGained', {})
    becomes(buf, { 'two' })
    replace(path, 'three\n')
    watch.file_changed(path) -- as when the daemon reports it
    becomes(buf, { 'three' })
  end)
  vim.uv.new_fs_event = new_fs_event -- luacheck: ignore 122
  if not ok then error(problem, 0) end
end)

t.it('nothing is watched after the last buffer of a folder, or after the end', function()
  local new_fs_event, made = vim.uv.new_fs_event, {}
  vim.uv.new_fs_event = function() -- luacheck: ignore 122
    made[#made + 1] = assert(new_fs_event())
    return made[#made]
  end
  local function n_watches()
    return #vim.tbl_filter(function(handle) return handle:is_active() end, made)
  end
  local ok, problem = pcall(function()
    watch.stop()
    local path = open('one\n')
    vim.cmd.split(t.write(vim.fs.dirname(path) .. '/b.txt', 'b\n'))
    t.eq(n_watches(), 1) -- of their folder
    vim.cmd.split(t.write(t.folder() .. '/c.txt', 'c\n'))
    t.eq(n_watches(), 2)
    vim.cmd.bwipeout()
    t.eq(n_watches(), 1)
    watch.stop()
    t.eq({ n_watches(), #made }, { 0, 2 })
  end)
  vim.uv.new_fs_event = new_fs_event -- luacheck: ignore 122
  if not ok then error(problem, 0) end
end)
