-- The switch "ask before each edit": one for all agents of the project, now and later, in every editor and terminal.
local messages = require('fileops.ui.messages')
local protocol = require('fileops.client.protocol')

local M = {}

M.CHOICES = { 'each_edit', 'protected', 'never' }

local words = {
  each_edit = 'each edit of an agent waits for you',
  protected = 'edits of protected files wait for you, all others are written at once',
  never = 'no edit waits for you',
}

---@param choice string
---@return string a sentence for the person
local function sentence(choice) return words[choice] .. '; shell commands are not asked about here' end

--- The switch was set: here, or in another editor or terminal of the project.
---@param event { ask: string }
function M.changed(event) messages.info(sentence(event.ask)) end

---@param choice string
local function set(choice)
  require('fileops').request(protocol.methods.set_ask, { ask = choice }, function(err)
    if err then return messages.failure(err) end -- else the notification reports it
  end)
end

--- Whether the daemon has the switch; a daemon of this Neovim alone does not.
---@param act fun()
local function if_shared(act)
  local process = require('fileops.client.process')
  process.ready(function(problem)
    if problem then return messages.error(problem) end
    if not process.state.shared then
      return messages.info('only agents of a shared daemon have this switch')
    end
    act()
  end)
end

--- Set it, or choose among its values.
---@param choice string "" to choose
function M.choose(choice)
  if vim.list_contains(M.CHOICES, choice) then
    return if_shared(function() set(choice) end)
  end
  if choice ~= '' then
    return messages.error(('%s is none of %s'):format(choice, table.concat(M.CHOICES, ', ')))
  end
  if_shared(function()
    require('fileops').request(protocol.methods.ask, vim.empty_dict(), function(err, result)
      if err then return messages.failure(err) end
      vim.ui.select(M.CHOICES, {
        prompt = 'Ask before each edit (shell commands are not asked about)',
        kind = 'fileops.ask',
        format_item = function(each) return (each == result.ask and '● ' or '○ ') .. words[each] end,
      }, function(picked)
        if picked then set(picked) end
      end)
    end)
  end)
end

return M
