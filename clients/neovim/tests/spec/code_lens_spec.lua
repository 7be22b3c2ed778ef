-- The daemon's code lenses in the buffer: there once an edit is applied, gone once it is undone.
local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

if vim.lsp.codelens.enable then vim.lsp.codelens.enable() end

local fileops = require('fileops')
local world = require('world')

--- Lines, 0-based, at which Neovim holds a lens.
---@param buf integer
---@return integer[]
local function lines(buf)
  local found = vim.lsp.codelens.get(vim.lsp.codelens.enable and { bufnr = buf } or buf)
  found = vim.tbl_map(function(each) return (each.lens or each).range.start.line end, found)
  table.sort(found)
  return found
end

---@param buf integer
---@param expected integer[]
local function has(buf, expected)
  t.wait(
    function() return vim.deep_equal(lines(buf), expected) end,
    ('lenses at %s'):format(vim.inspect(expected))
  )
end

---@param agent fileops.Session
---@param path string
---@return string edit_id
local function edit(agent, path, old, new)
  local id
  t.async(function()
    agent:read({ file_path = path })
    local result = world.succeeded(agent:edit({ file_path = path, old_string = old, new_string = new }))
    id = result.details.edit_id
  end)
  return id
end

t.it('they come with an edit and go with its undo', function()
  local path, agent, buf = world.new('one\ntwo\nthree\n', { server = { code_lens = true } })
  local first = edit(agent, path, 'two', 'TWO')
  has(buf, { 1 })
  edit(agent, path, 'one', 'ONE')
  has(buf, { 0, 1 })
  t.async(function() world.succeeded(fileops.undo({ edit_id = first })) end)
  has(buf, { 0 })
end)

t.it('an edit of unsaved text has its lens, too', function()
  local path, agent, buf = world.new('one\ntwo\n', { server = { code_lens = true } })
  vim.api.nvim_buf_set_lines(buf, 0, 0, true, { 'mine' })
  edit(agent, path, 'two', 'TWO')
  has(buf, { 2 })
end)

t.it('a lens undoes its edit', function()
  local path, agent, buf = world.new('one\ntwo\n', { server = { code_lens = true } })
  edit(agent, path, 'two', 'TWO')
  has(buf, { 1 })
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  vim.lsp.codelens.run()
  t.wait(function() return t.contents(path) == 'one\ntwo\n' end, 'the undo')
  has(buf, {})
  t.wait(function() return world.text_of(buf) == 'one\ntwo\n' end, 'the buffer')
end)

t.it('there are none by default', function()
  local path, agent, buf = world.new('one\ntwo\n')
  edit(agent, path, 'two', 'TWO')
  t.eq(lines(buf), {})
end)
