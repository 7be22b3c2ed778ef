-- nvim --clean --headless -u tests/mini.lua     the panes as a person sees them, against reference screenshots
-- $FILEOPS_MINITEST: where mini.test is. $FILEOPS_WRITE_SCREENSHOTS: write the references of this Neovim's version.
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
vim.opt.runtimepath:prepend(vim.env.FILEOPS_MINITEST)
local test = require('mini.test')
test.setup({
  collect = { find_files = function() return { here .. '/panes.lua' } end },
  execute = { reporter = test.gen_reporter.stdout({ group_depth = 1, quit_on_finish = true }) },
  script_path = '',
})
test.run()
