-- The daemon's stderr, and when it started and ended. One file per user, cut when it grows.
local M = {}

local MAX_BYTES = 1024 * 1024 -- then the older half is removed: enough remains to see a crash

--- `$FILEOPS_LOG`, else beside Neovim's own logs.
---@return string
function M.path()
  return vim.env.FILEOPS_LOG or vim.fs.joinpath(vim.fn.stdpath('log') --[[@as string]], 'fileops.log')
end

---@param text string
function M.write(text)
  local path = M.path()
  local file = io.open(path, 'a')
  if not file then
    vim.fn.mkdir(vim.fs.dirname(path), 'p')
    file = io.open(path, 'a')
  end
  if not file then return end
  local size = file:seek('end')
  file:write(text)
  file:close()
  if size < MAX_BYTES then return end
  local whole = assert(io.open(path, 'r')):read('*a')
  local kept = whole:sub(-MAX_BYTES / 2)
  local rewritten = assert(io.open(path, 'w'))
  rewritten:write(kept:sub((kept:find('\n', 1, true) or 0) + 1))
  rewritten:close()
end

---@param sentence string
function M.note(sentence) M.write(os.date('%Y-%m-%d %H:%M:%S  ') .. sentence .. '\n') end

return M
