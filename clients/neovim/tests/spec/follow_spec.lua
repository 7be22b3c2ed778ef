local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local fileops = require('fileops')
local messages = require('fileops.ui.messages')
local world = require('world')

local TEXT = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n'
local is_private = vim.env.FILEOPS_TEST_SHARED ~= '1'

if is_private then
  t.it('a daemon of this Neovim alone follows no agent, and says so', function()
    world.new(TEXT)
    t.eq(#t.said(function() vim.cmd('Fileops follow') end), 1)
    t.eq(fileops.status(), '')
  end)
  return
end

---@param agent fileops.Session
---@param path string
---@param old string
---@param new string
local function edit(agent, path, old, new)
  t.async(function()
    world.succeeded(agent:read({ file_path = path }))
    world.succeeded(agent:edit({ file_path = path, old_string = old, new_string = new }))
  end)
end

---@return string path, integer line of the window with the cursor
local function here() return vim.api.nvim_buf_get_name(0), vim.api.nvim_win_get_cursor(0)[1] end

---@param path string
---@param line integer
local function arrives(path, line)
  t.wait(function() return vim.deep_equal({ here() }, { path, line }) end, 'line ' .. line .. ' of ' .. path)
end

--- Two files, the first of which is open, and an agent that is followed.
---@return string first, string second, fileops.Session agent
local function following()
  local first, agent = world.new(TEXT)
  local second = t.write(vim.fs.dirname(first) .. '/other.py', TEXT)
  edit(agent, first, 'five', 'V')
  world.marked(vim.api.nvim_get_current_buf(), { 5 })
  vim.cmd('Fileops follow ' .. agent.id)
  t.wait(
    function() return fileops.status():find('following ' .. agent.id, 1, true) end,
    'the agent to be followed'
  )
  return first, second, agent
end

--- All that Neovim asked about an edit has been answered.
---@param agent fileops.Session
---@param path string
local function settled(agent, path)
  local answered = false
  fileops.on('unkept', function(event) answered = answered or event.file_path == path end)
  edit(agent, path, 'ten', 'X')
  t.wait(function() return answered end, 'the report of the change')
  t.async(function() fileops.request('fileops/unkept', { file_path = path }) end)
end

t.it('the file that an agent changes is shown at the change, and the way back is a jump', function()
  local first, second, agent = following()
  vim.bo.modified = true
  edit(agent, second, 'four', 'IV')
  arrives(second, 4)
  edit(agent, second, 'two', 'II')
  arrives(second, 2)
  vim.api.nvim_feedkeys(vim.keycode('<C-o><C-o>'), 'xn', false)
  t.eq({ here(), vim.bo.modified }, { first, true })
  vim.bo.modified = false
  vim.cmd('Fileops follow off')
  t.eq(fileops.status():find('following'), nil)
  settled(agent, second)
  t.eq((here()), first)
end)

t.it('a person who types or is in another mode stays where they are', function()
  local first, second, agent = following()
  vim.api.nvim_feedkeys('j', 'xt', false)
  settled(agent, second)
  t.eq((here()), first)
  local now = vim.uv.now
  vim.uv.now = function() return now() + 3000 end -- luacheck: ignore 122
  edit(agent, second, 'four', 'IV')
  arrives(second, 4)
  vim.uv.now = now -- luacheck: ignore 122
  vim.cmd('Fileops follow')
end)

t.it('a list keeps the cursor, and the file is shown beside it', function()
  local first, second, agent = following()
  vim.cmd('copen')
  local panel = vim.api.nvim_get_current_win()
  edit(agent, second, 'four', 'IV')
  local beside = vim.fn.win_getid(vim.fn.winnr('#'))
  t.wait(
    function()
      return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(beside)) == second
        and vim.api.nvim_win_get_cursor(beside)[1] == 4
    end,
    'the file beside the list'
  )
  t.eq(vim.api.nvim_get_current_win(), panel)
  vim.cmd.close()
  vim.cmd.edit(first)
  vim.cmd('set nohidden | setlocal modified')
  settled(agent, second)
  t.eq((here()), first) -- else its unsaved text would be lost
  vim.cmd('set hidden | setlocal nomodified')
  vim.cmd('Fileops follow')
end)

t.it('following ends with the session, and without one that is meant nothing begins', function()
  local _, _, agent = following()
  agent:close()
  t.wait(function() return not fileops.status():find('following') end, 'the end of following')
  local info, said = messages.info, {}
  messages.info = function(text) said[#said + 1] = text end
  vim.cmd('Fileops follow nobody')
  t.wait(function() return #said > 0 end, 'a word')
  messages.info = info
  t.eq(said, { 'no agent nobody is attached' })
end)

t.it('the agents that are attached are completed', function()
  local _, _, agent = following()
  local names = vim.fn.getcompletion('Fileops follow ', 'cmdline')
  t.eq({ vim.list_contains(names, agent.id), names[#names] }, { true, 'off' })
  t.eq(vim.fn.getcompletion('Fileops follow of', 'cmdline'), { 'off' })
  vim.cmd('Fileops follow')
end)
