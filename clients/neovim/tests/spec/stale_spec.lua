local t = require('harness')
local stale = require('fileops.ui.stale')

local function event(path, session, source)
  return { file_path = path, session_id = session, reason = 'modified', source = source, timestamp = 0 }
end

local function open()
  t.clean()
  stale.forget()
  local path = t.write(t.folder() .. '/a.txt', 'text\n')
  vim.cmd.edit(path)
  return path
end

local function shown()
  local ns = vim.api.nvim_get_namespaces()['fileops.stale']
  local mark = vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })[1]
  return mark and vim.trim(mark[4].virt_text[1][1]) or nil
end

t.it('names the session, the kind of change and its source', function()
  local path = open()
  stale.became_stale(event(path, 's1', 'external'))
  t.eq(shown(), 'stale for s1: modified on disk')
  t.eq(vim.b.fileops_stale, shown())
  stale.became_stale(event(path, 's2', 'session:s1'))
  t.eq(shown(), 'stale for s1 and 1 more: modified on disk')
end)

t.it('goes when the session has read the file again, or is gone', function()
  local path = open()
  stale.became_stale(event(path, 's1', 'buffer'))
  stale.became_stale(event(path, 's2', 'session:s1'))
  stale.became_fresh(path, 's1')
  t.eq(shown(), 'stale for s2: modified by session s1')
  stale.forget('s2')
  t.eq({ shown(), vim.b.fileops_stale }, {})
  t.eq(stale.all(), {})
end)

t.it('is shown when the file is opened later, and known by a link too', function()
  local path = open()
  t.clean()
  local link = vim.fs.dirname(path) .. '/link.txt'
  vim.uv.fs_symlink(path, link)
  stale.became_stale(event(link, 's1', 'external'))
  vim.cmd.edit(path)
  t.eq(shown(), 'stale for s1: modified on disk')
  stale.forget()
end)

t.it('an agent whose file another agent edits is notified although the buffer is reloaded', function()
  if not t.daemon() then return end
  local world, fileops = require('world'), require('fileops')
  local path, first = world.new('one\ntwo\n')
  local second = fileops.session('second')
  local heard = {}
  local off = fileops.on('stale', function(data) table.insert(heard, { data.session_id, data.source }) end)
  t.async(function()
    world.succeeded(first:read({ file_path = path }))
    world.succeeded(second:read({ file_path = path }))
    world.succeeded(second:edit({ file_path = path, old_string = 'two', new_string = '2' }))
  end)
  t.wait(function() return #heard > 0 end, 'the stale event')
  off()
  t.eq(heard, { { first.id, 'session:second' } })
  t.eq(vim.b.fileops_stale, ('stale for %s: modified by session second'):format(first.id))
end)

t.it('a session that is listed later gets its name', function()
  local path = open()
  require('fileops.client.process').state.shared = { socket = '/s', connection = 'nvim-1' }
  stale.became_stale(event(path, 'codex:0199', 'external'))
  t.eq(shown(), 'stale for codex: modified on disk')
  require('fileops.client.handlers').all()['fileops/didChangeSessions'](nil, {
    sessions = { { session_id = 'codex:0199', label = 'Codex', host = 'codex', connected = true } },
  })
  t.eq(shown(), 'stale for Codex: modified on disk')
  require('fileops.manual').status()
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\n')
  vim.cmd.close()
  assert(text:find('Codex', 1, true) and not text:find('0199', 1, true), text)
  require('fileops.sessions').forget()
  require('fileops.client.process').state.shared = nil
end)
