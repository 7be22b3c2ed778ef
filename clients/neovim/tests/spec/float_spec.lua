local t = require('harness')
local float = require('fileops.ui.float')

t.it('shows lines whole, however long, and goes when left', function()
  t.clean()
  vim.o.lines, vim.o.columns = 30, 80
  local before = vim.api.nvim_get_current_win()
  float.open('read', { 'short', ('long '):rep(60), '', 'end' })
  local win = vim.api.nvim_get_current_win()
  t.eq(vim.api.nvim_win_text_height(win, {}).all, vim.api.nvim_win_get_height(win))
  vim.api.nvim_feedkeys('q', 'xt', false)
  t.wait(function() return not vim.api.nvim_win_is_valid(win) end, 'the window to go')
  t.eq(vim.api.nvim_get_current_win(), before)
end)

t.it('goes by q and by <Esc>', function()
  for _, key in ipairs({ 'q', '<Esc>' }) do
    t.clean()
    float.open('read', { 'short' })
    local win = vim.api.nvim_get_current_win()
    vim.api.nvim_feedkeys(vim.keycode(key), 'xt', false)
    t.wait(function() return not vim.api.nvim_win_is_valid(win) end, 'the window to go')
  end
end)
