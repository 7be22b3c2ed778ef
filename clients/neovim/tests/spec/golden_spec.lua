-- The golden messages that the Python and TypeScript clients decode too, taken in by the plugin's own transport.
local t = require('harness')
local hunks = require('fileops.ui.hunks')
local protocol = require('fileops.client.protocol')
local rpc = require('fileops.client.rpc')

local golden = vim.fs.joinpath(vim.fs.dirname(vim.fs.dirname(t.plugin)), 'tests', 'golden')

---@param name string
local function message(name) return assert(rpc.decode(t.contents(('%s/%s.json'):format(golden, name)))) end

t.it('every tool result has what the plugin reads', function()
  local n_results = 0
  for name in vim.fs.dir(golden) do
    local result = message(name:gsub('%.json$', ''))
    if result.status then
      n_results = n_results + 1
      t.eq({ name, protocol.missing('ToolResult', result) }, { name, {} })
      if result.error then t.eq(protocol.missing('ToolError', result.error), {}) end
      if result.ui_extra then t.eq(protocol.missing('UiExtra', result.ui_extra), {}) end
    end
  end
  assert(n_results >= 10, 'the golden messages are not where they were')
end)

t.it('hunks of the wire and of the diff beside them are the same', function()
  local extra = message('edit').ui_extra
  t.eq(#extra.hunks > 0, true)
  for i, hunk in ipairs(extra.hunks) do
    t.eq(protocol.missing('Hunk', hunk), {})
    for _, line in ipairs(hunk.lines) do
      t.eq(protocol.missing('HunkLine', line), {})
    end
    local parsed = hunks.parse(extra.diff)[i]
    parsed.id = hunk.id
    t.eq(parsed, hunk)
  end
  t.eq(hunks.stats(extra.hunks), extra.stats)
end)

t.it('every notification is known, and has what the plugin reads', function()
  local kinds = {
    ['fileops/didBecomeStale'] = 'DidBecomeStale',
    ['fileops/didRead'] = 'DidRead',
    ['fileops/didEdit'] = 'DidEdit',
    ['fileops/didConflict'] = 'DidConflict',
    ['fileops/approvalMode'] = 'ApprovalMode',
    ['fileops/watcherHealth'] = 'WatcherHealth',
  }
  for _, pair in ipairs(message('notifications')) do
    local method, params = pair[1], pair[2]
    t.eq(protocol.notifications[method] ~= nil, true)
    t.eq(protocol.missing(kinds[method], params), {})
  end
end)

t.it('tools and tracked files are as the plugin reads them', function()
  for _, tool in ipairs(message('tools').tools) do
    t.eq(protocol.missing('ToolDefinition', tool), {})
  end
  for _, file in ipairs(message('tracked').files) do
    t.eq(protocol.missing('TrackedFile', file), {})
  end
end)
