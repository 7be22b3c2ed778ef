local t = require('harness')
local config = require('fileops.config')

t.it('works without any setting', function()
  t.eq(config.get().pane.layout, 'inline')
  t.eq(config.problems({}), {})
end)

t.it('names what is wrong, and leaves it at its default', function()
  local problems = config.set({
    pane = { layout = 'sideways', height = 20 },
    servre = {},
    server = { freshness = 'never', roots = 'x' },
    keys = { accept = false, reject = 3 },
    cmd = 'fileops-server',
  })
  t.eq(problems, {
    'cmd: a table is wanted, this is a string',
    'keys.reject: a string is wanted, this is a number',
    'pane.layout: "sideways" is none of inline, side_by_side',
    'server.freshness: "never" is none of mtime, content, relevant',
    'server.roots: a table is wanted, this is a string',
    'servre: no such setting',
  })
  local settings = config.get()
  t.eq({ settings.pane.layout, settings.pane.height }, { 'inline', 20 })
  t.eq({ settings.keys.accept, settings.keys.reject }, { false, 'r' })
  t.eq(settings.server, config.defaults.server)
  config.set({})
end)

t.it('former names of settings and values work, and the present ones win', function()
  vim.g.fileops = { keys = { toggle_hunk = 'x', next_hunk = ']h' }, pane = { show_edits = true } }
  local problems = config.set({ keys = { next_hunk = 'j', next_change = ']x' }, review = { open = 'none' } })
  t.eq(problems, {})
  local settings = config.get()
  t.eq({ settings.keys.toggle_change, settings.keys.next_change, settings.keys.toggle_hunk }, { 'x', ']x' })
  t.eq({ settings.pane.diff_after_edit, settings.review.open }, { true, 'never' })
  t.eq(config.problems(config.user()), {})
  vim.g.fileops = nil
  config.set({})
end)

t.it('setup overrides vim.g.fileops, which may be a function', function()
  vim.g.fileops = function() return { pane = { height = 7, layout = 'side_by_side' } } end
  config.set({ pane = { height = 9 } })
  t.eq({ config.get().pane.height, config.get().pane.layout }, { 9, 'side_by_side' })
  vim.g.fileops = nil
  config.set({})
end)

t.it('errors in vim.g.fileops are reported in one notice at its first use', function()
  vim.g.fileops = { approvl_mode = 'yolo', server = { approvl_mode = 'yolo' } }
  config.set({})
  local said = t.said(function(said)
    config.get()
    vim.wait(1000, function() return #said > 0 end)
    config.forget()
    config.get()
    vim.wait(0)
  end)
  t.eq(said, { 'fileops: approvl_mode: no such setting (and 1 more: :checkhealth fileops)' })
  vim.g.fileops = nil
  config.set({})
end)

t.it('setup reports errors', function()
  t.eq(
    t.said(function() require('fileops').setup({ nonsense = true }) end),
    { 'fileops: nonsense: no such setting' }
  )
  config.set({})
end)
