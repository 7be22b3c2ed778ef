-- An agent inside Neovim, controlled from outside (`nvim --server … --remote-expr 'v:lua.Agent.multi_edit(…)'`).
_G.Agent = { results = {}, handles = {} }

---@param session_id string
---@param file_path string
---@param steps string JSON
---@return integer number of the result that will come
function Agent.multi_edit(session_id, file_path, steps)
  local session = require('fileops').session(session_id)
  local slot = #Agent.results + 1
  Agent.results[slot] = ''
  coroutine.wrap(function()
    session:read({ file_path = file_path })
    local result, err = session:multi_edit({ file_path = file_path, edits = vim.json.decode(steps) })
    Agent.results[slot] = err and err.message or result.error and result.error.code or result.status
  end)()
  return slot
end

---@param session_id string
---@param command string
---@param description string
---@return integer number of the result that will come
function Agent.bash(session_id, command, description)
  local slot = #Agent.results + 1
  Agent.results[slot] = ''
  Agent.handles[slot] = require('fileops').session(session_id):bash(
    { command = command, description = description },
    function(err, result)
      Agent.results[slot] = err and ('error %d'):format(err.code) or result.error and result.error.code or result.status
    end
  )
  return slot
end

---@param slot integer
function Agent.cancel(slot) Agent.handles[slot].cancel() end

---@param slot integer
---@return string "" while it is not there
function Agent.result(slot) return Agent.results[slot] end
