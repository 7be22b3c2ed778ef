-- `:checkhealth fileops`
local M = {}

local function neovim()
  vim.health.start('fileops: Neovim')
  if vim.fn.has('nvim-0.10') == 1 then
    vim.health.ok('Neovim ' .. tostring(vim.version()))
  else
    vim.health.error('Neovim 0.10 or newer is needed')
  end
end

local function settings()
  vim.health.start('fileops: settings')
  local config = require('fileops.config')
  local problems = config.problems(config.user())
  for _, problem in ipairs(problems) do
    vim.health.warn(problem)
  end
  if #problems == 0 then vim.health.ok('no unknown or wrong setting') end
end

---@return boolean
local function command()
  vim.health.start('fileops: daemon')
  local locate = require('fileops.client.locate')
  local places, found = locate.find()
  for _, place in ipairs(places) do
    local line = ('%s: %s'):format(place.from, table.concat(place.cmd, ' '))
    vim.health.info(line .. (place.usable and ' (used)' or ' (not there)'))
  end
  if found then return true end
  local problem = locate.missing(places)
  vim.health.error(problem, { locate.install_command(), ':help fileops-install' })
  return false
end

---@return boolean
local function answers()
  local daemon = require('fileops.client.process')
  local problem, result, done
  daemon.ready(function(trouble)
    if trouble then
      problem, done = trouble, true
      return
    end
    require('fileops').tools(function(err, tools)
      problem, result, done = err and err.message, tools, true
    end)
  end)
  vim.wait(5000, function() return done end, 10)
  if problem or not done then
    vim.health.error(problem or 'the daemon does not answer', { ':Fileops log', ':Fileops restart' })
    return false
  end
  local state = daemon.state
  vim.health.ok(
    ('%s %s answers, with %d tools'):format(state.server.name, state.server.version or '', #result.tools)
  )
  if state.shared then
    vim.health.ok(('attached to the shared daemon %s'):format(state.shared.socket))
  elseif state.private_reason then
    vim.health.warn('a daemon of this editor alone: ' .. state.private_reason)
  end
  vim.health.info('root: ' .. (state.root or daemon.root()))
  if #state.restarts > 0 then
    vim.health.warn(('restarted %d times after it had ended'):format(#state.restarts))
  end
  if state.health and state.health.state == 'degraded' then
    vim.health.warn('changes on disk may be noticed late: ' .. state.health.reason)
  else
    vim.health.ok('changes on disk are watched')
  end
  local client = daemon.client()
  local n_open = client and vim.tbl_count(client.attached_buffers) or 0
  vim.health.info(('open files that the daemon knows: %d'):format(n_open))
  return true
end

--- The state of this project.
local function project()
  vim.health.start('fileops: this project')
  local sessions = require('fileops.sessions')
  local problem, is_done
  sessions.fetch(function(err)
    problem, is_done = err and err.message, true
  end)
  vim.wait(5000, function() return is_done end, 10)
  local attached = vim.tbl_filter(function(session) return session.connected end, sessions.agents())
  local names = vim.tbl_map(sessions.label, attached)
  if problem then
    vim.health.warn('the agents are not known: ' .. problem)
  elseif #names > 0 then
    vim.health.ok('agents: ' .. table.concat(names, ', '))
  else
    vim.health.warn('no agent of this project is attached', {
      'Connect its host, and start it again: fileops-server mcp config claude --write',
      'Hosts: claude, codex, opencode, gemini and others; see fileops-server mcp config --help',
    })
  end
  vim.health.info(('reviews that wait: %d'):format(#require('fileops.review.queue').waiting()))
  if require('fileops.unkept.changes').is_served() then
    vim.health.ok('changes of agents are recorded, to be kept or undone')
  else
    vim.health.warn('changes are not recorded: this takes the shared daemon')
  end
end

function M.check()
  neovim()
  settings()
  if command() and answers() then project() end
  vim.health.info('log: ' .. require('fileops.log').path())
end

return M
