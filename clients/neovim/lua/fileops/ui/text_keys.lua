-- Keys in the buffers of files, while something is shown there that can be decided. Each key does nothing in plain
-- Neovim, so no key changes its meaning at the moment something appears; a map of the buffer's own comes back when the
-- last thing has gone. In diff mode the keys are Neovim's own.
local config = require('fileops.config')

local M = {}

---@class fileops.TextKeys of one buffer
---@field layers table<string, table<string, fun()>> by what is shown
---@field own table<string, table|false> by key: the buffer's own map, if it had one

local mapped = {} ---@type table<integer, fileops.TextKeys>

-- what is shown in several buffers' layers at once: the first that has an action for a key acts
local ORDER = { 'review', 'unkept' }

---@param buf integer
---@param name string of the key in the configuration
local function act(buf, name)
  for _, layer in ipairs(ORDER) do
    local action = (mapped[buf] and mapped[buf].layers[layer] or {})[name]
    if action then return action() end
  end
end

---@param buf integer
---@param key string
---@return table|false
local function own_map(buf, key)
  local map = vim.api.nvim_buf_call(buf, function() return vim.fn.maparg(key, 'n', false, true) end)
  return map.buffer == 1 and map or false
end

--- Map the keys of a layer in a buffer.
---@param buf integer
---@param layer 'review'|'unkept'
---@param actions table<string, fun()> by the name of the key in the configuration
function M.map(buf, layer, actions)
  local state = mapped[buf] or { layers = {}, own = {} }
  mapped[buf] = state
  state.layers[layer] = actions
  for name in pairs(actions) do
    local key = config.get().keys[name]
    if key and state.own[key] == nil then
      state.own[key] = own_map(buf, key)
      vim.keymap.set('n', key, function()
        if vim.wo.diff then return vim.api.nvim_feedkeys(vim.keycode(key), 'n', false) end
        act(buf, name)
      end, { buffer = buf, desc = 'fileops: ' .. name })
    end
  end
end

---@param buf integer
---@param layer 'review'|'unkept'
function M.unmap(buf, layer)
  local state = mapped[buf]
  if not state then return end
  state.layers[layer] = nil
  if next(state.layers) then return end
  mapped[buf] = nil
  if not vim.api.nvim_buf_is_valid(buf) then return end
  for key, own in pairs(state.own) do
    pcall(vim.keymap.del, 'n', key, { buffer = buf }) -- the person may have mapped or unmapped it since
    if own then vim.api.nvim_buf_call(buf, function() vim.fn.mapset('n', false, own) end) end
  end
end

---@param buf integer a buffer whose maps are gone
function M.forget(buf) mapped[buf] = nil end

--- Move the cursor of this window, and have what is shown above it on the screen.
---@param line integer 1-based
function M.put_cursor(line)
  vim.api.nvim_win_set_cursor(0, { math.min(line, vim.api.nvim_buf_line_count(0)), 0 })
  if line == 1 then require('fileops.ui.virtual').reveal_above_first_line(vim.api.nvim_get_current_buf()) end
end

--- The same, as a jump.
---@param line integer 1-based
function M.go(line)
  vim.cmd("normal! m'")
  M.put_cursor(line)
end

--- Go to the next of some lines (or, with -1, to the one before), around the end.
---@param lines integer[] ascending, 1-based
---@param direction 1|-1
function M.jump(lines, direction)
  if #lines == 0 then return require('fileops.ui.messages').info('no change is shown here') end
  local here = vim.api.nvim_win_get_cursor(0)[1]
  local target = direction == 1 and lines[1] or lines[#lines]
  for i = 1, #lines do
    local line = lines[direction == 1 and i or #lines - i + 1]
    if (direction == 1 and line > here) or (direction == -1 and line < here) then
      target = line
      break
    end
  end
  M.go(target)
end

return M
