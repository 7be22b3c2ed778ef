local t = require('harness')
local commands = require('fileops.commands')

t.it('subcommands are completed, and their arguments', function()
  t.eq(vim.fn.getcompletion('Fileops re', 'cmdline'), { 'redo', 'reject', 'restart', 'review' })
  t.eq(vim.fn.getcompletion('Fileops keep a', 'cmdline'), { 'agent', 'all' })
  t.eq(vim.fn.getcompletion('1,3Fileops undo k', 'cmdline'), { 'keep' })
  t.eq(vim.fn.getcompletion('Fileops ask ', 'cmdline'), { 'each_edit', 'protected', 'never' })
  local folder = t.folder()
  t.write(folder .. '/some file.txt', '')
  t.eq(#vim.fn.getcompletion('Fileops history ' .. folder .. '/some', 'cmdline'), 1)
end)

t.it('an unknown subcommand or level is named, with those that there are', function()
  for line, begin in pairs({
    ['Fileops nonsense'] = 'fileops: nonsense is none of accept, agents,',
    ['Fileops'] = 'fileops: :Fileops needs one of accept, agents,',
    ['Fileops keep everything'] = 'fileops: everything is none of change, file, turn, agent, all;',
    ['Fileops reject too long'] = 'fileops: too is none of change, file, agent, all; a reason comes after',
    ['Fileops ask always'] = 'fileops: always is none of each_edit, protected, never',
  }) do
    local said = t.said(function() vim.cmd(line) end)
    t.eq({ #said, (said[1] or ''):sub(1, #begin) }, { 1, begin })
  end
end)

t.it('<Plug> maps exist, and no other key is taken', function()
  for name in pairs(commands.plugs) do
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
  for name in pairs(commands.plugs) do
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
    assert(commands.subcommands[name], 'help for no subcommand: ' .. name)
  end
end)
