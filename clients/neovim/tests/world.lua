-- A folder, a running daemon for it, an open file and a session, for specs that need the real daemon.
local t = require('harness')
local config = require('fileops.config')
local daemon = require('fileops.client.process')
local fileops = require('fileops')

local M = {}

local n_sessions = 0

daemon.restarts.delay_s = 0.01

local root ---@type string? one workspace folder, and so one daemon, for all specs that need nothing else
local n_worlds = 0

function M.stop()
  if not daemon.client() then return end
  local gone = false
  daemon.stop(function() gone = true end)
  t.wait(function() return gone end, 'the daemon to stop')
end

---@param text? string
---@param settings? table
---@return string path, fileops.Session agent, integer buf
function M.new(text, settings)
  t.clean()
  root = root or t.folder()
  n_worlds = n_worlds + 1
  local folder = ('%s/%d'):format(root, n_worlds)
  vim.fn.mkdir(folder, 'p')
  local before = config.user()
  config.set(vim.tbl_deep_extend('force', {
    cmd = t.daemon(),
    shared = vim.env.FILEOPS_TEST_SHARED == '1',
    root = root,
    server = { approval_mode = 'yolo' },
  }, settings or {}))
  if not vim.deep_equal(before, config.user()) then M.stop() end
  local path = t.write(folder .. '/demo.py', text or 'def f():\n    return 1\n')
  vim.cmd.edit(path)
  daemon.start()
  t.wait(function() return daemon.state.status == 'running' end, 'the daemon to run')
  local is_wanted = config.get().shared and not (settings and settings.shared) -- else the spec looks at it itself
  if is_wanted then assert(daemon.state.shared, daemon.state.private_reason) end
  n_sessions = n_sessions + 1
  return path, fileops.session('s' .. n_sessions), vim.api.nvim_get_current_buf()
end

---@param result fileops.wire.ToolResult
---@param err? fileops.RequestError
---@return fileops.wire.ToolResult
function M.succeeded(result, err)
  t.eq(err, nil)
  t.eq({ result.status, result.error and result.error.message }, { 'success' })
  return result
end

---@param buf integer
---@return string
function M.text_of(buf) return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n') .. '\n' end

--- Wait until these lines of a buffer are marked as an agent's, and no others.
---@param buf integer
---@param lines integer[] first lines of the places, 1-based
function M.marked(buf, lines)
  local marks = require('fileops.unkept.marks')
  t.wait(
    function() return vim.deep_equal(marks.lines(buf), lines) end,
    function() return ('marks at %s, not %s'):format(vim.inspect(lines), vim.inspect(marks.lines(buf))) end
  )
end

---@return integer[] windows of the plugin
function M.own_windows()
  return vim.tbl_filter(
    function(win) return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)):match('^fileops://') ~= nil end,
    vim.api.nvim_list_wins()
  )
end

return M
