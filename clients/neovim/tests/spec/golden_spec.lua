-- The golden messages that the Python and TypeScript clients decode too, taken in by the plugin's own transport.
local t = require('harness')
local hunks = require('fileops.ui.hunks')
local protocol = require('fileops.client.protocol')
local rpc = require('fileops.client.rpc')

local golden = vim.fs.joinpath(vim.fs.dirname(vim.fs.dirname(t.plugin)), 'tests', 'golden')

---@param name string
local function message(name) return assert(rpc.decode(t.contents(('%s/%s.json'):format(golden, name)))) end

t.it('hunks of the wire and of the diff beside them are the same', function()
  local extra = message('edit').ui_extra
  t.eq(#extra.hunks > 0, true)
  for i, hunk in ipairs(extra.hunks) do
    local parsed = hunks.parse(extra.diff)[i]
    parsed.id = hunk.id
    t.eq(parsed, hunk)
  end
end)

t.it('every notification is known', function()
  for _, pair in ipairs(message('notifications')) do
    t.eq(protocol.notifications[pair[1]] ~= nil, true)
  end
end)
