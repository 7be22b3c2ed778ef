-- Updates an open, unchanged buffer to the content on disk by the smallest change to its lines: cursor, folds, marks
-- and undo stay. Vim then treats the file as seen, so neither W11 nor W12 follows.
local hunks = require('fileops.ui.hunks')
local utf8 = require('fileops.client.utf8')

local M = {}

---@param path string
---@return string? data, string? identity of what was read
local function slurp(path)
  local fd = vim.uv.fs_open(path, 'r', 0)
  if not fd then return nil end
  local stat = vim.uv.fs_fstat(fd)
  local data = stat and vim.uv.fs_read(fd, stat.size + 1, 0)
  vim.uv.fs_close(fd)
  if not data or not stat then return nil end
  return data, --[[@as string]]
    M.identity(stat)
end

---@param stat uv.fs_stat.result
---@return string
function M.identity(stat) return ('%d:%d:%d.%d'):format(stat.ino, stat.size, stat.mtime.sec, stat.mtime.nsec) end

--- The bytes of a file as that buffer would have them; nil if only Vim itself can decode them.
---@param data string
---@param format { fileformat: string, fileencoding: string, bomb: boolean }
---@return fileops.BufferText?
function M.decode(data, format)
  if format.fileencoding ~= '' and format.fileencoding ~= 'utf-8' then return nil end
  local bom = '\239\187\191'
  if format.bomb then
    if data:sub(1, 3) ~= bom then return nil end
    data = data:sub(4)
  elseif data:sub(1, 3) == bom then
    return nil
  end
  if data:find('\0', 1, true) or not utf8.is_valid(data) then return nil end
  if data == '' then return { lines = {}, final_newline = true } end
  local is_mac = format.fileformat == 'mac'
  if is_mac and data:find('\n', 1, true) then return nil end -- Vim has a carriage return for it
  local line_end = is_mac and '\r' or '\n'
  local final_newline = data:sub(-1) == line_end
  local lines = vim.split(final_newline and data:sub(1, -2) or data, line_end, { plain = true })
  if format.fileformat == 'dos' then
    for i, line in ipairs(lines) do
      local ended = i < #lines or final_newline
      if ended and line:sub(-1) ~= '\r' then return nil end
      if ended then lines[i] = line:sub(1, -2) end
    end
  end
  return { lines = lines, final_newline = final_newline }
end

---@param buf integer
---@param was boolean what it came to, be it by its own or the global value
local function restore_autoread(buf, was)
  if was ~= vim.go.autoread then
    vim.bo[buf].autoread = was
  else
    vim.api.nvim_buf_call(buf, function() vim.cmd('setlocal autoread<') end)
  end
end

--- Run with an autocmd in place, and unaffected by 'eventignore'.
---@param event string
---@param buf integer
---@param callback fun()
---@param body string an Ex command in that buffer
local function answering(event, buf, callback, body)
  local ignored = vim.o.eventignore
  vim.o.eventignore = ''
  local id = vim.api.nvim_create_autocmd(event, { buffer = buf, callback = callback })
  vim.api.nvim_buf_call(buf, function() vim.cmd(body) end)
  vim.api.nvim_del_autocmd(id)
  vim.o.eventignore = ignored
end

--- Make Vim treat the file's time as one that it has read, so that neither `:checktime` (W11, W12) nor `:write` warns.
--- The only way without reading or writing is a `:write` that an autocmd claims to have done.
---@param buf integer
function M.acknowledge(buf)
  answering('BufWriteCmd', buf, function() end, 'silent keepalt write!')
end

--- Let Vim read the file and detect its encoding and line ends again ('autoread' alone would keep them, and replace
--- what does not fit with `?`).
---@param buf integer
local function read_anew(buf)
  local autoread = vim.bo[buf].autoread
  vim.bo[buf].autoread = false
  answering(
    'FileChangedShell',
    buf,
    function() vim.v.fcs_choice = 'edit' end,
    ('silent! checktime %d'):format(buf)
  )
  restore_autoread(buf, autoread)
end

--- Let the next change be undone by itself, not together with what was typed just before. Returns whether autocmds run
--- now: inside another autocmd they do not, and then Vim's questions could not be answered.
---@param buf integer
---@return boolean
local function start_undo_step(buf)
  local ran = false
  local ignored = vim.o.eventignore
  vim.o.eventignore = ''
  local id =
    vim.api.nvim_create_autocmd('OptionSet', { pattern = 'undolevels', callback = function() ran = true end })
  vim.api.nvim_buf_call(buf, function() vim.cmd('let &l:undolevels = &l:undolevels') end)
  vim.api.nvim_del_autocmd(id)
  vim.o.eventignore = ignored
  return ran
end

--- Change a buffer to these lines, without touching those that stay.
---@param buf integer
---@param lines string[]
function M.splice(buf, lines)
  if #lines == 0 then lines = { '' } end -- a buffer has at least one line
  local blocks = hunks.blocks(vim.api.nvim_buf_get_lines(buf, 0, -1, true), lines)
  for i = #blocks, 1, -1 do -- from the end, so that the other numbers stay right
    local old_start, old_count, new_start, new_count = unpack(blocks[i])
    local first = old_count == 0 and old_start or old_start - 1
    local put = vim.list_slice(lines, new_start, new_start + new_count - 1)
    vim.api.nvim_buf_set_lines(buf, first, first + old_count, true, put)
  end
end

--- Vim's own reload, for what we cannot decode; the views are restored.
---@param buf integer
local function reread(buf)
  local views = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    views[win] = vim.api.nvim_win_call(win, vim.fn.winsaveview)
  end
  read_anew(buf)
  for win, view in pairs(views) do
    vim.api.nvim_win_call(win, function() vim.fn.winrestview(view) end)
  end
end

---@param buf integer
---@param data string
local function take(buf, data)
  local options = vim.bo[buf]
  local text = M.decode(data, {
    fileformat = options.fileformat,
    fileencoding = options.fileencoding,
    bomb = options.bomb,
  })
  if not text then return reread(buf) end
  local modifiable, readonly = options.modifiable, options.readonly
  options.modifiable, options.readonly = true, false
  options.modified = true -- after an undo of this, the buffer counts as changed, because the disk has the new text
  M.splice(buf, text.lines)
  options.endofline = text.final_newline
  require('fileops.client.exact_text').report_end(buf)
  options.modifiable, options.readonly = modifiable, readonly
  M.acknowledge(buf)
  options.modified = false
end

--- Whether the buffer shows the content on disk, as far as we can decode it. A missing file is left to Vim.
---@param buf integer
---@return boolean
function M.is_current(buf)
  local data = slurp(vim.api.nvim_buf_get_name(buf))
  if not data then return true end
  local options = vim.bo[buf]
  local text = M.decode(data, {
    fileformat = options.fileformat,
    fileencoding = options.fileencoding,
    bomb = options.bomb,
  })
  if not text or text.final_newline ~= options.endofline then return false end
  local shown = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  return vim.deep_equal(#text.lines > 0 and text.lines or { '' }, shown)
end

local MAX_LOOKS = 5 -- then a file that is written again and again is left to Vim
local taken = {} ---@type table<integer, string?> by buffer: identity of the file that was last brought into it

---@param buf integer
---@return boolean
local function has_taken(buf)
  local now = vim.uv.fs_stat(vim.api.nvim_buf_get_name(buf))
  return now ~= nil and M.identity(now) == taken[buf]
end

--- Update a buffer to its file. Returns why nothing was done: "modified" (the buffer has unsaved changes), "taken" (it
--- has, on top of the content on disk), "gone", or "busy" (inside an autocmd; call again later).
---@param buf integer
---@return string? why
function M.reload(buf)
  if vim.bo[buf].modified then return has_taken(buf) and 'taken' or 'modified' end
  if not start_undo_step(buf) then return 'busy' end
  local path = vim.api.nvim_buf_get_name(buf)
  for _ = 1, MAX_LOOKS do
    local data, identity = slurp(path)
    if not data then return 'gone' end
    require('fileops.client.sync').as_one_change(buf, function() take(buf, data) end)
    taken[buf] = identity
    local now = vim.uv.fs_stat(path)
    if not now or M.identity(now) == identity then break end
  end
  return nil
end

return M
