local t = require('harness')
local config = require('fileops.config')

t.it('works without any setting', function()
  t.eq(config.get().max_mb, 16)
  t.eq(config.problems({}), {})
end)

t.it('names what is wrong, and leaves it at its default', function()
  local problems = config.set({
    marks = 'on',
    max_mb = 20,
    servre = {},
    autostart = 'always',
    keys = { accept = false, reject = 3, reject_file = 'dR' },
    cmd = 'fileops-server',
    unsaved = 'ask',
  })
  t.eq(problems, {
    'autostart: "always" is none of project, true, false',
    'cmd: a table or boolean is wanted, this is a string',
    'keys.reject: a string is wanted, this is a number',
    'keys.reject_file: no such setting',
    'marks: a boolean is wanted, this is a string',
    'servre: no such setting',
    'unsaved: "ask" is none of keep, save',
  })
  local settings = config.get()
  t.eq({ settings.marks, settings.max_mb, settings.autostart, settings.cmd }, { true, 20, 'project', false })
  t.eq({ settings.keys.accept, settings.keys.reject, settings.keys.reject_file }, { false, 'dr' })
  config.set({})
end)

t.it(
  'options of the daemon are handed on as they are',
  function() t.eq(config.problems({ server = { freshness = 'never', anything = { 1 } } }), {}) end
)

t.it('setup overrides vim.g.fileops, which may be a function', function()
  vim.g.fileops = function() return { max_mb = 7, sign = '+' } end
  config.set({ max_mb = 9 })
  t.eq({ config.get().max_mb, config.get().sign }, { 9, '+' })
  vim.g.fileops = nil
  config.set({})
end)

t.it('errors in vim.g.fileops are reported in one notice at its first use', function()
  vim.g.fileops = { approvl_mode = 'yolo', pane = {} }
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
