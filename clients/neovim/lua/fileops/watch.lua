-- Buffers without unsaved changes follow the disk, whichever program writes: `git checkout`, `sed`, a formatter. The
-- folders of open files are watched, not the files: a program that replaces a file gives it a new inode, which a watch
-- of the file would miss. If a folder cannot be watched (some network file systems, too many watches), a buffer is
-- checked when Neovim gains focus, when the buffer is entered, and when the daemon reports its file. A buffer that is
-- too large for the daemon is left to Vim's own 'autoread'.
local buffers = require('fileops.buffers')

local M = {}

-- A program may write a file in several steps. The buffer is updated once nothing has happened for a while; a file that
-- is empty for a moment has most likely been truncated and will be written again.
local QUIET_MS, QUIET_WHEN_EMPTY_MS = 40, 400

local watches = {} ---@type table<string, fileops.Watch> by folder
local places = {} ---@type table<integer, { folder: string, name: string }> by buffer
local timers = {} ---@type table<integer, uv.uv_timer_t> by buffer: the next look

local group = vim.api.nvim_create_augroup('fileops.watch', {})

---@param buf integer
local function cancel(buf)
  if timers[buf] then timers[buf]:close() end
  timers[buf] = nil
end

---@param buf integer
local function forget(buf)
  cancel(buf)
  local place = places[buf]
  places[buf] = nil
  local watch = place and watches[place.folder]
  if not watch then return end
  watch.names[place.name] = nil
  if next(watch.names) ~= nil then return end
  watches[place.folder] = nil
  watch.handle:close()
end

---@param buf integer
---@return boolean
local function is_followed(buf)
  return require('fileops.client.sync').is_told(buf) and not vim.bo[buf].modified
end

--- Update a buffer without unsaved changes to its file, if they differ. Call it only outside of autocmds; inside one it
--- checks again a moment later.
---@param buf integer
function M.check(buf)
  if not is_followed(buf) then return end
  local reload = require('fileops.reload')
  if reload.is_current(buf) then return end
  if reload.reload(buf) == 'busy' then M.check_soon(buf) end
end

--- Check a buffer's file once nothing has happened to it for a moment.
---@param buf integer
---@param quiet_ms? integer
function M.check_soon(buf, quiet_ms)
  cancel(buf)
  local timer = assert(vim.uv.new_timer())
  timers[buf] = timer
  timer:start(
    quiet_ms or QUIET_MS,
    0,
    vim.schedule_wrap(function()
      if timers[buf] ~= timer then return end
      cancel(buf)
      if not vim.api.nvim_buf_is_loaded(buf) then return end
      local stat = vim.uv.fs_stat(vim.api.nvim_buf_get_name(buf))
      if stat and stat.size == 0 and not quiet_ms then return M.check_soon(buf, QUIET_WHEN_EMPTY_MS) end
      M.check(buf)
    end)
  )
end

--- The same for the buffer of a file, if it is open.
---@param path string
function M.file_changed(path)
  local buf = buffers.buffer_of(path)
  if buf then M.check_soon(buf) end
end

---@param folder string
---@return fileops.Watch?
local function watch_folder(folder)
  local handle = vim.uv.new_fs_event()
  if not handle then return nil end
  local watch = { handle = handle, names = {} } ---@type fileops.Watch
  local started = handle:start(
    folder,
    {},
    vim.schedule_wrap(function(problem, name)
      if problem or watches[folder] ~= watch then return end
      for known, buf in pairs(watch.names) do
        if name == nil or name == known then M.check_soon(buf) end
      end
    end)
  )
  if started then return watch end
  handle:close()
  return nil
end

---@param buf integer
local function follow(buf)
  if not require('fileops.client.sync').is_told(buf) then return forget(buf) end
  local path = buffers.real(vim.api.nvim_buf_get_name(buf))
  local folder, name = vim.fs.dirname(path), vim.fs.basename(path)
  local place = places[buf]
  if place and place.folder == folder and place.name == name then return end
  forget(buf)
  local watch = watches[folder] or watch_folder(folder)
  if not watch then return end
  watches[folder] = watch
  watch.names[name] = buf
  places[buf] = { folder = folder, name = name }
end

--- Follow all open files from now on.
function M.start()
  vim.api.nvim_clear_autocmds({ group = group })
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    follow(buf)
  end
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufWritePost', 'BufFilePost' }, {
    group = group,
    callback = function(event) follow(event.buf) end,
  })
  vim.api.nvim_create_autocmd({ 'BufUnload' }, {
    group = group,
    callback = function(event) forget(event.buf) end,
  })
  vim.api.nvim_create_autocmd('BufEnter', {
    group = group,
    callback = function(event)
      if not places[event.buf] then M.check_soon(event.buf) end
    end,
  })
  vim.api.nvim_create_autocmd('FocusGained', {
    group = group,
    callback = function()
      for _, buf in ipairs(vim.api.nvim_list_bufs()) do
        if not places[buf] and vim.api.nvim_buf_is_loaded(buf) then M.check_soon(buf) end
      end
    end,
  })
end

function M.stop()
  vim.api.nvim_clear_autocmds({ group = group })
  for _, buf in ipairs(vim.tbl_keys(places)) do
    forget(buf)
  end
  for _, buf in ipairs(vim.tbl_keys(timers)) do
    cancel(buf)
  end
end

return M
