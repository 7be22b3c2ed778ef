-- The diff of the edit that was applied (or previewed) last, in a pane that does not take the cursor and
-- goes by itself.
local config = require('fileops.config')
local hunks = require('fileops.ui.hunks')
local keymaps = require('fileops.ui.keymaps')
local pane = require('fileops.ui.pane')
local winbar = require('fileops.ui.winbar')

local M = {}

local shown ---@type fileops.Pane?
local last ---@type { extra: fileops.wire.UiExtra, label: string }?
local layout ---@type 'inline'|'side_by_side'|nil
local n_shown = 0
local timer ---@type uv.uv_timer_t?

local function stop_timer()
  if timer then timer:close() end
  timer = nil
end

local function close_later()
  stop_timer()
  local after_s = config.get().pane.close_after_s
  if after_s <= 0 then return end
  timer = assert(vim.uv.new_timer())
  timer:start(
    after_s * 1000,
    after_s * 1000,
    vim.schedule_wrap(function()
      if shown and not shown:has_cursor() then M.close() end
    end)
  )
end

local actions = {
  layout = function() M.toggle_layout() end,
  next_change = function() return shown and shown:jump(1) end,
  previous_change = function() return shown and shown:jump(-1) end,
  close = function() M.close() end,
  open = function()
    if not last then return end
    local extra = last.extra
    M.close()
    if not require('fileops.buffers').open(extra.file_path) then return end
    require('fileops.ui.text_keys').put_cursor(math.max(1, extra.first_changed_line))
  end,
}

---@return table
local function look()
  local extra = assert(last).extra
  local keys = config.get().keys
  local heading = '%%#FileopsTitle# %s%%* %s'
  return {
    name = ('edit/%d/%s'):format(n_shown, vim.fs.basename(extra.file_path)),
    file_path = extra.file_path,
    layout = layout or config.get().pane.layout,
    hunks = extra.hunks,
    titles = {
      heading:format(last.label, winbar.subject(extra.file_path, extra.stats)),
      heading:format(last.label, winbar.counted(vim.fs.basename(extra.file_path), extra.stats)),
    },
    n_needed = 1,
    hints = { { keys.close, 'close' }, { keys.open, 'open' }, { keys.layout, 'layout' } },
    empty = extra.truncated and 'the diff is too large to be shown' or 'nothing changed',
  }
end

--- What a pane shows of a diff that came without its hunks.
---@param path string
---@param diff string unified, of that file
---@return fileops.wire.UiExtra
function M.of_diff(path, diff)
  local parsed = hunks.parse(diff)
  return {
    file_path = path,
    operation = 'modify',
    diff = diff,
    hunks = parsed,
    stats = hunks.stats(parsed),
    exact = true,
    truncated = false,
    first_changed_line = parsed[1] and math.max(parsed[1].new_start, 1) or 1,
  }
end

--- Not while a review waits or the history is looked at: the person is busy with that.
---@param extra fileops.wire.UiExtra
---@param label string such as "Edited", "Preview"
---@return boolean shown
function M.show(extra, label)
  last = { extra = extra, label = label }
  if #require('fileops.review.queue').waiting() > 0 or require('fileops.history').is_open() then
    return false
  end
  n_shown = n_shown + 1
  if shown and shown:is_open() then
    shown:update(look())
  else
    local spec = look()
    spec.height = config.get().pane.height
    spec.map = function(buf) keymaps.map(buf, actions) end
    spec.on_close = function()
      shown = nil
      stop_timer()
    end
    shown = pane.open(spec)
  end
  if shown then close_later() end
  return shown ~= nil
end

--- An edit was applied: show it, or keep it for `enter`.
---@param extra fileops.wire.UiExtra
---@param label string
---@param is_shown boolean
function M.applied(extra, label, is_shown)
  if is_shown then
    M.show(extra, label)
  else
    last = { extra = extra, label = label }
  end
end

--- Show the last diff again, and go into it.
function M.enter()
  if not last then return require('fileops.ui.messages').info('no edit yet') end
  if (shown and shown:is_open()) or M.show(last.extra, last.label) then assert(shown):enter() end
end

function M.toggle_layout()
  layout = (layout or config.get().pane.layout) == 'inline' and 'side_by_side' or 'inline'
  if shown then shown:update(look()) end
end

function M.close()
  if shown then shown:close() end
end

return M
