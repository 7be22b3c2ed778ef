-- Once on this machine, when an agent edits a file without a question: how to keep or undo that, and where the help
-- says how to be asked before.
local config = require('fileops.config')

local M = {}

---@return string of the file that says that it was explained
local function marker() return vim.fs.normalize(vim.fn.stdpath('state') .. '/fileops-introduced') end

--- An agent of another program edited a file.
---@param session_id string
function M.edited(session_id)
  if not require('fileops.unkept.changes').is_served() or vim.uv.fs_stat(marker()) then return end
  local keys = config.get().keys
  require('fileops.ui.messages').info(
    ('%s edited: %s keep, %s undo (:h fileops-keep)'):format(
      require('fileops.sessions').name(session_id),
      keys.keep or ':Fileops keep',
      keys.undo or ':Fileops undo'
    )
  )
  vim.fn.mkdir(vim.fs.dirname(marker()), 'p')
  local file = io.open(marker(), 'w')
  if not file then return require('fileops.log').note('cannot write ' .. marker()) end
  file:close()
end

return M
