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

t.it('messages are UTF-8 with their length in bytes', function()
  local frame = rpc.encode({ text = 'ä\255' })
  local length, body = frame:match('^Content%-Length: (%d+)\r\n\r\n(.*)$')
  t.eq(tonumber(length), #body)
  t.eq(vim.json.decode(body).text, 'ä?')
end)

t.it('null members are absent, a lone surrogate is harmless', function()
  t.eq(rpc.decode('{"id":1,"result":null}'), { id = 1 })
  t.eq(rpc.decode([[{"p":"\udc80"}]]).p, '\239\191\189')
  t.eq((rpc.decode('{')), nil)
end)

t.it('changes that follow each other are one, of one document and with nothing in between', function()
  local function change(uri, version, ...)
    local params = { textDocument = { uri = uri, version = version }, contentChanges = { ... } }
    return { method = 'textDocument/didChange', params = params }
  end
  local saved = { method = 'textDocument/didSave', params = {} }
  local first = change('a', 1, 'x')
  local merged =
    rpc.merged({ first, change('a', 2, 'y', 'z'), change('b', 1, 'x'), saved, change('b', 2, 'y') })
  t.eq(merged, { change('a', 2, 'x', 'y', 'z'), change('b', 1, 'x'), saved, change('b', 2, 'y') })
end)

t.it('a batch is sent once the function has returned, even if it fails', function()
  local heard = {} ---@type string[]
  local connection = rpc.start({ 'cat' }, { -- says what it hears
    notification = function(method, params) heard[#heard + 1] = method .. ' ' .. params.at end,
    server_request = function() end,
    on_exit = function() end,
    on_error = function(_, problem) error(problem) end,
  })
  local ok, problem = pcall(connection.together, function()
    connection.notify('one', { at = #heard })
    connection.together(function() connection.notify('two', { at = #heard }) end)
    error('no more', 0)
  end)
  t.eq({ ok, problem }, { false, 'no more' })
  connection.notify('three', { at = 3 })
  t.wait(function() return #heard == 3 end, 'the echo')
  t.eq(heard, { 'one 0', 'two 0', 'three 3' })
  connection.terminate()
end)
