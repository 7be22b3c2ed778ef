local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local version = ('%d.%d'):format(vim.version().major, vim.version().minor)
local child = MiniTest.new_child_neovim()
local eq = MiniTest.expect.equality

local TEXT = {
  'def area(r):',
  '    return 3.14 * r ** 2',
  '',
  '',
  'def main():',
  '    print(area(2))',
  '',
  '',
  'main()',
}
local DIFF = table.concat({
  '@@ -1,2 +1,3 @@',
  '-def area(r):',
  '-    return 3.14 * r ** 2',
  '+def area(radius):',
  '+    """Of a disc."""',
  '+    return math.pi * radius**2',
  '@@ -9 +10 @@',
  '-main()',
  '+sys.exit(main())',
  '',
}, '\n')

local T = MiniTest.new_set({
  hooks = {
    pre_case = function()
      child.restart({
        '--clean',
        '-n',
        '--cmd',
        'let g:loaded_python3_provider = 0 | set rtp^=' .. vim.fs.dirname(here),
      })
      child.o.lines, child.o.columns = 24, 90
      child.o.laststatus, child.o.ruler = 2, false
      child.fn.chdir(child.lua_get('vim.fs.dirname(vim.fn.tempname())'))
      child.fn.writefile(TEXT, 'area.py')
      child.cmd('silent edit area.py')
      child.lua('_G.hunks = require("fileops.ui.hunks").parse(...)', { DIFF })
      child.lua([[_G.ask = function(name, session, rebased)
        require('fileops.review.asked').ask({
          title = 'Edit', description = '', file_path = vim.uv.cwd() .. '/' .. name,
          session_id = session and session.session_id or 'agent-1', session = session, rebased = rebased,
          operation = 'modify', diff = '', hunks = _G.hunks,
          original_text = table.concat(vim.fn.readfile('area.py'), '\n') .. '\n',
          proposed_text = 'def area(radius):\n    """Of a disc."""\n    return math.pi * radius**2\n',
        }, { client_id = 1 }, function(answer) _G.answer = answer end)
      end]])
    end,
    post_once = child.stop,
  },
})

---@param name string
local function looks_like(name)
  local path = ('%s/screenshots/%s/%s'):format(here, version, name)
  if not vim.env.FILEOPS_WRITE_SCREENSHOTS then eq({ name, vim.fn.filereadable(path) }, { name, 1 }) end
  child.cmd('redraw!')
  local force = vim.env.FILEOPS_WRITE_SCREENSHOTS ~= nil
  MiniTest.expect.reference_screenshot(child.get_screenshot(), path, { force = force })
end

T['a review that waits'] = function()
  child.lua('ask("area.py")')
  looks_like('review')
end

T['a hunk rejected, one of two reviews'] = function()
  child.lua('ask("area.py") ask("other.py")')
  child.type_keys(':Fileops review<CR>', ']c', ' ')
  looks_like('review-hunk')
end

T['a review side by side'] = function()
  child.lua('ask("area.py")')
  child.type_keys(':Fileops review<CR>', 's')
  looks_like('review-side-by-side')
end

T['the proposal being edited'] = function()
  child.lua('ask("area.py")')
  child.type_keys(':Fileops review<CR>', 'e')
  looks_like('review-edit')
end

T['the keys of a review'] = function()
  child.lua('ask("area.py")')
  child.type_keys(':Fileops review<CR>', 'g?')
  looks_like('review-help')
end

T['a narrow window names the keys that fit'] = function()
  child.o.columns = 50
  child.lua('ask("area.py")')
  looks_like('review-narrow')
end

T['in 80 columns all decisions are named'] = function()
  child.o.columns = 80
  child.lua(
    'ask("area.py", ...)',
    { { session_id = 'x-1', host = 'x', label = 'some-agent-with-a-long-name' } }
  )
  child.lua([[
    local event = { file_path = vim.uv.cwd() .. '/area.py', session_id = 'x-1', reason = 'modified',
      source = 'buffer', timestamp = 0 }
    require('fileops.client.handlers').all()['fileops/didBecomeStale'](nil, event)]])
  looks_like('review-80')
end

T['a review whose file has changed'] = function()
  child.lua('ask("area.py")')
  child.lua([[
    local event = { file_path = vim.uv.cwd() .. '/area.py', session_id = 'agent-1', reason = 'modified',
      source = 'buffer', timestamp = 0 }
    require('fileops.client.handlers').all()['fileops/didBecomeStale'](nil, event)]])
  child.type_keys(':Fileops review<CR>')
  looks_like('review-stale')
end

T['a review that was taken back under the hands'] = function()
  child.lua('ask("area.py")')
  child.type_keys(':Fileops review<CR>')
  child.lua('require("fileops.review.asked").withdraw_all("the agent took it back")')
  looks_like('review-ended')
end

T['a command that waits, one of two reviews'] = function()
  child.lua('ask("area.py")')
  child.lua([[require('fileops.review.asked').ask_command(..., { client_id = 1 }, function() end)]], {
    {
      command = 'pip install --upgrade "build>=1.2" &&\n  python -m build --wheel --outdir '
        .. 'dist-of-a-long-name . && ls -l dist-of-a-long-name \27[2J\226\128\174',
      cwd = '/srv/shop',
      session_id = 'agent-2',
      description = 'Build the wheel, to see whether the new metadata is in it',
    },
  })
  child.type_keys(':Fileops review<CR>', ']r')
  looks_like('command')
end

local CODEX = { session_id = 'codex:0199a213', host = 'codex', label = 'Codex' }

T['a review of an agent outside, named by its host'] = function()
  child.lua('ask("area.py", ...)', { CODEX, { changed_by = 'external', n_foreign_hunks = 2 } })
  looks_like('review-outside')
end

T['the agents that are attached'] = function()
  child.lua(
    [[vim.uv.os_setenv('TZ', 'UTC')
    require('fileops.client.handlers').all()['fileops/didChangeSessions'](nil, { sessions = ... })
    require('fileops.ui.agents').show()]],
    {
      {
        vim.tbl_extend('error', CODEX, {
          connected = true,
          approval_mode = 'default',
          n_reads = 12,
          n_edits = 3,
          last_seen = 1000000000.5,
        }),
        {
          session_id = 'neovim-1/agent-1',
          host = 'neovim',
          label = 'ä name that is too long for its column of the list',
          connected = true,
          approval_mode = 'auto_edit',
          n_reads = 1,
          n_edits = 0,
          last_seen = 1000000100,
        },
        {
          session_id = 'claude-code:af9f',
          host = 'claude-code',
          label = 'claude-code',
          connected = false,
          approval_mode = 'yolo',
          n_reads = 0,
          n_edits = 120,
          last_seen = 1000000050,
        },
      },
    }
  )
  looks_like('agents')
end

T['the keys of a command'] = function()
  child.lua(
    [[require('fileops.review.asked').ask_command({ command = 'make', cwd = '/srv', session_id = 'agent-1' },
      { client_id = 1 }, function() end)]]
  )
  child.type_keys(':Fileops review<CR>', 'g?')
  looks_like('command-help')
end

T['the diff of an edit'] = function()
  child.lua([[require('fileops.ui.last_edit').show({
    file_path = vim.uv.cwd() .. '/area.py', hunks = _G.hunks, stats = require('fileops.ui.hunks').stats(_G.hunks),
    operation = 'modify', diff = '', exact = true, truncated = false, first_changed_line = 1,
  }, 'Edited')]])
  looks_like('edit')
end

T['changed lines marked, with what was removed'] = function()
  child.lua([[require('fileops.ui.marks').show(vim.api.nvim_get_current_buf(), {
    { kind = 'change', line = 1, count = 2, removed = { 'def area(r):' } },
    { kind = 'add', line = 4, count = 1, removed = {} },
    { kind = 'delete', line = 9, count = 0, removed = { 'gone', '\ttoo' } },
  })]])
  looks_like('marks')
end

T['the stale marker'] = function()
  child.lua([[require('fileops.ui.stale').became_stale({
    file_path = vim.api.nvim_buf_get_name(0), session_id = 'agent-1', reason = 'modified', source = 'external',
    timestamp = 0,
  })]])
  looks_like('stale')
end

return T
