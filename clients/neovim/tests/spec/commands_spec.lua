local t = require('harness')
local commands = require('fileops.commands')

t.it('subcommands are completed, and their arguments', function()
  t.eq(vim.fn.getcompletion('Fileops rev', 'cmdline'), { 'review', 'reviews' })
  t.eq(vim.fn.getcompletion('Fileops mode a', 'cmdline'), { 'auto_edit' })
  t.eq(vim.fn.getcompletion('Fileops dismiss ', 'cmdline'), { 'all' })
  local folder = t.folder()
  t.write(folder .. '/some file.txt', '')
  t.eq(#vim.fn.getcompletion('Fileops read ' .. folder .. '/some', 'cmdline'), 1)
end)

t.it('an unknown subcommand is named', function()
  t.eq(t.said(function() vim.cmd('Fileops nonsense') end), { 'fileops: no subcommand nonsense' })
end)

t.it('former names work, and are not offered', function()
  for former, present in pairs(commands.former) do
    t.eq({ commands.subcommands[former], commands.subcommands[present] ~= nil }, { nil, true })
    t.eq(vim.fn.maparg(('<Plug>(fileops-%s)'):format(former), 'n') ~= '', true)
  end
  t.eq(t.said(function() vim.cmd('Fileops diff') end), t.said(function() vim.cmd('Fileops last-edit') end))
  t.eq(vim.fn.getcompletion('Fileops nex', 'cmdline'), { 'next-unkept' })
end)

t.it('<Plug> maps exist, and no other key is taken', function()
  for _, name in ipairs(commands.plugs) do
    t.eq(vim.fn.maparg(('<Plug>(fileops-%s)'):format(name), 'n') ~= '', true)
  end
  for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
    if (map.desc or ''):match('^fileops') then t.eq(vim.startswith(map.lhs, '<Plug>'), true) end
  end
end)

t.it('the help comes with its tags, so that it is found however the plugin is installed', function()
  local folder = t.folder()
  t.write(folder .. '/fileops.txt', t.contents(t.plugin .. '/doc/fileops.txt'))
  vim.cmd('helptags ' .. folder)
  t.eq(t.contents(t.plugin .. '/doc/tags'), t.contents(folder .. '/tags')) -- else: nvim -c 'helptags doc'
  vim.cmd('help fileops-review')
  t.eq(vim.fs.basename(vim.api.nvim_buf_get_name(0)), 'fileops.txt')
  t.clean()
end)

t.it('the help has a tag for the command, each subcommand, each map and each setting', function()
  local tags = t.contents(t.plugin .. '/doc/tags')
  local wanted = { ':Fileops', 'fileops.txt', 'fileops-api', 'fileops-settings', 'fileops-events' }
  for name in pairs(commands.subcommands) do
    wanted[#wanted + 1] = ':Fileops-' .. name
  end
  for _, name in ipairs(commands.plugs) do
    wanted[#wanted + 1] = ('<Plug>(fileops-%s)'):format(name)
  end
  for name in pairs(require('fileops.config').defaults) do
    wanted[#wanted + 1] = 'fileops-setting-' .. name
  end
  for name in pairs(require('fileops.ui.highlights').links) do
    wanted[#wanted + 1] = 'hl-' .. name
  end
  for _, tag in ipairs(wanted) do
    assert(('\n' .. tags):find('\n' .. tag .. '\t', 1, true), 'no help for ' .. tag)
  end
  for name in tags:gmatch('\n:Fileops%-(%S+)') do
    assert(commands.subcommands[commands.former[name] or name], 'help for no subcommand: ' .. name)
  end
end)
