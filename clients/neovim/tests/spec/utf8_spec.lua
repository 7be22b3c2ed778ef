local t = require('harness')
local utf8 = require('fileops.client.utf8')

t.it('well-formed text stays as it is', function()
  for _, text in ipairs({ '', 'plain', 'ä€𝄞', '\239\191\191', '\244\143\191\191' }) do
    t.eq(utf8.scrub(text), text)
    t.eq(utf8.is_valid(text), true)
  end
end)

t.it('each bad byte becomes a question mark, the length stays', function()
  t.eq(utf8.scrub('a\255b'), 'a?b')
  t.eq(utf8.scrub('\195'), '?')
  t.eq(utf8.scrub('ä\192\128ö'), 'ä??ö') -- overlong
  t.eq(utf8.scrub('\237\160\128'), '???') -- a surrogate
  t.eq(utf8.scrub('\244\144\128\128x'), '????x') -- beyond Unicode
  t.eq(utf8.is_valid('a\255b'), false)
end)

t.it('lone surrogates in JSON are replaced, pairs are kept', function()
  local clean = utf8.without_lone_surrogates
  t.eq(clean([["\udc80x"]]), [["\ufffdx"]])
  t.eq(clean([["\ud834\udd1e"]]), [["\ud834\udd1e"]])
  t.eq(clean([["\\udc80"]]), [["\\udc80"]]) -- a backslash and letters
  t.eq(vim.json.decode(clean([["\ud834\ud834\udd1e"]])), '\239\191\189𝄞')
end)
