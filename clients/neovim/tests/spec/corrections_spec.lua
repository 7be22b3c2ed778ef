-- An agent's own model asked for the words of an edit that are not in the file, through the real daemon.
local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local fileops = require('fileops')
local world = require('world')

local TEXT = 'cheese = 1\nbread = 2\n'

---@param options? table
local function correcting(options)
  return world.new(TEXT, { server = vim.tbl_extend('force', { correction = true }, options or {}) })
end

---@param agent fileops.Session
---@param path string
---@return fileops.wire.ToolResult
local function misquote(agent, path)
  local result
  t.async(function()
    agent:read({ file_path = path })
    result = agent:edit({ file_path = path, old_string = 'chees = 1', new_string = 'chees = 3' })
  end)
  return result
end

---@type fileops.Corrector
local function puts_right(_, answer) answer({ old_string = 'cheese = 1', new_string = 'cheese = 3' }) end

t.it('its proposal is written, and the answer reports it', function()
  local path, agent, buf = correcting()
  local asked
  local off = agent:correct_with(function(question, answer)
    asked = question
    vim.schedule(function() puts_right(question, answer) end)
  end)
  local result = misquote(agent, path)
  off()
  t.eq({ result.status, result.details.match }, { 'success', 'client' })
  t.eq(
    { asked.old_string, asked.file_path, asked.session_id, asked.edit_index },
    { 'chees = 1', path, agent.id, 0 }
  )
  t.eq(asked.suggested_place.start_line, 1)
  t.eq(t.contents(path), 'cheese = 3\nbread = 2\n')
  t.eq(world.text_of(buf), t.contents(path))
end)

t.it('the one of a session precedes the one for all; without any the edit fails', function()
  local path, agent = correcting()
  t.eq(misquote(agent, path).error.code, 'no_match')
  local off_all = fileops.correct_with(puts_right)
  local off_own = agent:correct_with(function(_, answer) answer(nil) end)
  t.eq(misquote(agent, path).error.code, 'no_match')
  off_own()
  t.eq(misquote(agent, path).status, 'success')
  off_all()
end)

t.it('one that closes its session is not asked any more', function()
  local path, agent = correcting()
  agent:correct_with(puts_right)
  t.async(function() agent:close() end)
  t.eq(misquote(fileops.session(agent.id), path).error.code, 'no_match')
end)

t.it('none is asked without the option', function()
  local path, agent = correcting({ correction = false })
  local n_asked = 0
  local off = agent:correct_with(function(question, answer)
    n_asked = n_asked + 1
    puts_right(question, answer)
  end)
  t.eq({ misquote(agent, path).error.code, n_asked }, { 'no_match', 0 })
  off()
end)

t.it('one that fails, answers wrongly or answers twice is harmless', function()
  local path, agent = correcting()
  for _, corrector in ipairs({
    function() error('no model today') end,
    function(_, answer) answer({ old_string = 'not in it', new_string = 'x' }) end,
    function(_, answer) answer('nonsense') end,
    function(_, answer)
      answer(nil)
      answer({ old_string = 'cheese', new_string = 'x' })
    end,
  }) do
    local off = agent:correct_with(corrector)
    t.eq(misquote(agent, path).error.code, 'no_match')
    off()
  end
  t.eq(t.contents(path), TEXT)
end)

t.it('one that takes too long is cancelled', function()
  local path, agent = correcting({ correction_timeout_s = 0.1 })
  local stopped = false
  local off = agent:correct_with(function()
    return function() stopped = true end
  end)
  t.eq(misquote(agent, path).error.code, 'no_match')
  t.wait(function() return stopped end, 'the corrector to be told')
  off()
end)
