local t = require('harness')
local parse = require('fileops.substitute').parse

t.it('texts are literal, the delimiter may be any punctuation', function()
  t.eq(parse('/a.c/$1&/'), { old = 'a.c', new = '$1&', all = false })
  t.eq(parse('#a/b#c/d#g'), { old = 'a/b', new = 'c/d', all = true })
  t.eq(parse('/gone//'), { old = 'gone', new = '', all = false })
  t.eq(parse('/open/end'), { old = 'open', new = 'end', all = false })
end)

t.it('escapes name a newline, a tab, a backslash and the delimiter', function()
  t.eq(parse([[/a\nb/\t\\\//]]), { old = 'a\nb', new = '\t\\/', all = false })
  t.eq(parse([[/\d/x/]]), { old = [[\d]], new = 'x', all = false })
end)

t.it('anything else is refused', function()
  for _, text in ipairs({ '', 'a/b/', '/only', '/a/b/x' }) do
    local parsed, problem = parse(text)
    t.eq(parsed, nil)
    t.eq(type(problem), 'string')
  end
end)
