-- Keys in the buffers of files, while something that can be decided is shown there. Each key does nothing in plain
-- Neovim, so no key changes its meaning when something appears; a map of the buffer's own is restored when the last
-- thing has gone. In diff mode, Neovim's own keys keep their meaning.
local config = require('fileops.config')

local M = {}

---@class fileops.KeyLayer what is shown in a buffer and can be decided
---@field actions table<string, fun()> by the name of the key in the configuration
---@field lines fun(buf: integer): integer[] where its changes begin, ascending, 1-based

---@class fileops.TextKeys of one buffer
---@field layers table<string, fileops.KeyLayer> by name
---@field own table<string, table|false> by key: the buffer's own map, if it had one

local DIFF_KEYS = { ['do'] = true, [']c'] = true, ['[c'] = true } -- |diff-mode|

local mapped = {} ---@type table<integer, fileops.TextKeys>

--- Where all changes of a buffer begin, in any layer.
---@param buf integer
---@return integer[] ascending, 1-based
local function lines_of(buf)
  local found = {} ---@type integer[]
  for _, layer in pairs(mapped[buf] and mapped[buf].layers or {}) do
    vim.list_extend(found, layer.lines(buf))
  end
  table.sort(found)
  return found
end

--- Do what a key stands for.
---@param name string of the key in the configuration
function M.act(name)
  local buf = vim.api.nvim_get_current_buf()
  if name == 'next' or name == 'previous' then
    local layers = mapped[buf] and mapped[buf].layers or {}
    local beyond = layers.unkept and not layers.review and layers.unkept.actions.beyond or nil
    return M.jump(lines_of(buf), name == 'next' and 1 or -1, beyond)
  end
  for _, layer in pairs(mapped[buf] and mapped[buf].layers or {}) do
    local action = layer.actions[name]
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
---@param lines fun(buf: integer): integer[] where its changes begin, ascending, 1-based
function M.map(buf, layer, actions, lines)
  local state = mapped[buf] or { layers = {}, own = {} }
  mapped[buf] = state
  state.layers[layer] = { actions = actions, lines = lines }
  for _, name in ipairs(vim.list_extend({ 'next', 'previous' }, vim.tbl_keys(actions))) do
    local key = config.get().keys[name]
    if key and state.own[key] == nil then
      state.own[key] = own_map(buf, key)
      local act = ("<Cmd>lua require('fileops.ui.text_keys').act('%s')<CR>"):format(name)
      vim.keymap.set(
        'n',
        key,
        function() return vim.wo.diff and DIFF_KEYS[key] and key or act end,
        { buffer = buf, expr = true, desc = 'fileops: ' .. name }
      )
    end
  end
end

--- In a buffer in which nothing is left to decide: map the keys for the next and the previous change to the files
--- around it, if they mean nothing else.
---@param buf integer
---@param beyond fun(direction: 1|-1)
function M.map_beyond(buf, beyond)
  for name, direction in pairs({ next = 1, previous = -1 }) do
    local key = config.get().keys[name]
    if key and vim.api.nvim_buf_call(buf, function() return vim.fn.maparg(key, 'n') end) == '' then
      vim.keymap.set('n', key, function()
        if vim.wo.diff then return vim.cmd.normal({ key, bang = true }) end
        beyond(direction)
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

--- Move the cursor of this window, open the folds there, and scroll what is shown above the line into view.
---@param line integer 1-based
function M.put_cursor(line)
  vim.api.nvim_win_set_cursor(0, { math.max(1, math.min(line, vim.api.nvim_buf_line_count(0))), 0 })
  vim.cmd('normal! zv')
  if line == 1 then require('fileops.ui.virtual').reveal_above_first_line(vim.api.nvim_get_current_buf()) end
end

--- The same, as a jump.
---@param line integer 1-based
function M.go(line)
  vim.cmd("normal! m'")
  M.put_cursor(line)
end

--- Whether the person sees lines of this window. Closed folds that hide some of them are opened, so that they can look
--- before they decide.
---@param first integer 1-based
---@param last integer
---@return boolean
function M.are_seen(first, last)
  local hidden = {} ---@type integer[] first lines of folds
  local line = first
  while line <= last do
    if vim.fn.foldclosed(line) > 0 then
      hidden[#hidden + 1] = line
      line = vim.fn.foldclosedend(line)
    end
    line = line + 1
  end
  for _, each in ipairs(hidden) do
    vim.cmd(('silent! %dfoldopen!'):format(each))
  end
  return #hidden == 0
end

--- Go to the next of some lines (with -1, to the previous one). After the last one: to the next file, or around.
---@param lines integer[] ascending, 1-based
---@param direction 1|-1
---@param beyond? fun(direction: 1|-1) goes to the next file
function M.jump(lines, direction, beyond)
  if #lines == 0 then return require('fileops.ui.messages').info('no change is shown here') end
  local here = vim.api.nvim_win_get_cursor(0)[1]
  local target ---@type integer?
  for i = 1, #lines do
    local line = lines[direction == 1 and i or #lines - i + 1]
    if (direction == 1 and line > here) or (direction == -1 and line < here) then
      target = line
      break
    end
  end
  if not target and beyond then return beyond(direction) end
  M.go(target or (direction == 1 and lines[1] or lines[#lines]))
end

return M
