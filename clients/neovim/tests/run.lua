-- nvim --clean --headless -l tests/run.lua [spec…]     all specs without a name; see harness.lua
local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2)))
package.path = here .. '/?.lua;' .. package.path
local harness = require('harness')
vim.opt.runtimepath:prepend(harness.plugin)
vim.cmd('filetype on')
vim.cmd.runtime('plugin/fileops.lua')
vim.o.swapfile = false
vim.g.loaded_python3_provider = 0 -- else the first Python file has each python3 of the machine started, for a second
vim.env.FILEOPS_LOG = vim.fn.tempname()
vim.ui.select = function(items, options) -- luacheck: ignore 122 (no person is there to choose)
  local offered = vim.tbl_map(options.format_item or tostring, items)
  io.stdout:write(('# not answered: %s %s\n'):format(options.prompt, vim.inspect(offered)))
end

local names = #_G.arg > 0 and vim.list_slice(_G.arg, 1) or nil
if not names then
  names = {}
  for name in vim.fs.dir(here .. '/spec') do
    names[#names + 1] = name:match('^(.*)_spec%.lua$')
  end
  table.sort(names)
end
for _, name in ipairs(names) do
  harness.spec = name
  local ok, problem = pcall(dofile, ('%s/spec/%s_spec.lua'):format(here, name))
  if not ok then harness.it('loads', function() error(problem, 0) end) end
end
io.stdout:write(('1..%d\n'):format(harness.n))
io.stdout:write(('# Neovim %s, %d failed\n'):format(tostring(vim.version()), harness.failed))
if harness.failed > 0 or harness.n == 0 then vim.cmd('cquit 1') end
vim.cmd('qall!')
