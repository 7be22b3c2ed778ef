-- Once on this machine, when an agent of another program has edited a file without a question: explains how to keep or
-- undo that, and where the help says how to be asked first.
local config = require('fileops.config')

local M = {}

local TOGETHER_MS = 5000 -- between the edit and its mark; the daemon reports them independently, in either order

local session_id ---@type string? of the agent that edited a file last
local marked_ms ---@type integer? when a change was marked last, by `vim.uv.now`

---@return string of the file that says that it was explained
local function marker() return vim.fs.normalize(vim.fn.stdpath('state') .. '/fileops-introduced') end

--- An agent of another program edited a file.
---@param session string its id
function M.edited(session)
  session_id = session
  if marked_ms and vim.uv.now() - marked_ms < TOGETHER_MS then M.marked() end
end

--- A change that is not kept was marked. If another editor accepted it, it is kept, and needs no explanation.
function M.marked()
  marked_ms = vim.uv.now()
  if not session_id or vim.uv.fs_stat(marker()) then return end
  local keys = config.get().keys
  require('fileops.ui.messages').info(
    ('%s edited: %s keep, %s undo (:h fileops-keep)'):format(
      require('fileops.sessions').name(session_id),
      keys.keep or ':Fileops keep',
      keys.undo or ':Fileops undo'
    )
  )
  session_id = nil
  vim.fn.mkdir(vim.fs.dirname(marker()), 'p')
  local file = io.open(marker(), 'w')
  if not file then return require('fileops.log').note('cannot write ' .. marker()) end
  file:close()
end

return M
