local t = require('harness')
local rpc = require('fileops.client.rpc')

t.it('frames are found in any cut of the stream', function()
  local bodies = { '{"a":1}', '{"b":"' .. ('ä'):rep(50) .. '"}', '{}' }
  local stream = ''
  for _, body in ipairs(bodies) do
    stream = stream .. ('Content-Type: x\r\nContent-Length: %d\r\n\r\n%s'):format(#body, body)
  end
  for size = 1, #stream do
    local got = {}
    local feed = rpc.framing(function(body) got[#got + 1] = body end)
    for from = 1, #stream, size do
      feed(stream:sub(from, from + size - 1))
    end
    t.eq(got, bodies)
  end
end)

t.it('a header without a length is an error', function()
  t.eq(pcall(rpc.framing(function() end), 'X: 1\r\n\r\n{}'), false)
end)

t.it('what is sent is UTF-8 and says its length in bytes', function()
  local frame = rpc.encode({ text = 'ä\255' })
  local length, body = frame:match('^Content%-Length: (%d+)\r\n\r\n(.*)$')
  t.eq(tonumber(length), #body)
  t.eq(vim.json.decode(body).text, 'ä?')
end)

t.it('null members are absent, a lone surrogate does no harm', function()
  t.eq(rpc.decode('{"id":1,"result":null}'), { id = 1 })
  t.eq(rpc.decode([[{"p":"\udc80"}]]).p, '\239\191\189')
  t.eq((rpc.decode('{')), nil)
end)
