local t = require('harness')
local messages = require('fileops.ui.messages')

t.it(
  'a sentence that fits is shown as it is',
  function() t.eq(messages.fit('fileops: short', 20), 'fileops: short') end
)

t.it('a longer one is cut to one line, and names where the rest is', function()
  for _, text in ipairs({ ('long '):rep(40), ('ä漢'):rep(60), 'a\nb\n' .. ('c'):rep(100) }) do
    local shown = messages.fit(text, 68)
    t.eq({ vim.fn.strdisplaywidth(shown) <= 68, shown:find('\n') }, { true })
    assert(vim.endswith(shown, '… (:Fileops log)'), shown)
  end
end)

t.it('lines are joined', function() t.eq(messages.fit(' one \n two\n', 20), 'one two') end)
