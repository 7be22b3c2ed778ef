-- One-line messages to the person. Neovim shows a longer one with "Press ENTER", and until a key is pressed it neither
-- answers a request nor starts a daemon. So a message is cut to its line, and the log has all of it.
local M = {}

local RESERVED = 12 -- columns at the end of the line for 'showcmd'; a message that reaches them waits for a key

---@param text string
---@param room integer cells
---@return string
function M.fit(text, room)
  text = vim.trim((text:gsub('%s*\n%s*', ' ')))
  if vim.fn.strdisplaywidth(text) <= room then return text end
  local more = '… (:Fileops log)'
  local n_chars = room - vim.fn.strdisplaywidth(more)
  while vim.fn.strdisplaywidth(vim.fn.strcharpart(text, 0, n_chars)) > room - vim.fn.strdisplaywidth(more) do
    n_chars = n_chars - 1
  end
  return vim.fn.strcharpart(text, 0, n_chars) .. more
end

--- Whether Neovim's own `vim.notify` shows it. A plugin that shows notices in windows has room for all of it.
---@return boolean
local function is_on_one_line()
  local source = debug.getinfo(vim.notify, 'S').source -- `?` from Nvim 0.12 on, whose own Lua has no debug information
  return #vim.api.nvim_list_uis() > 0 and (source == '?' or vim.startswith(source, '@vim/'))
end

---@param sentence string
---@param level integer of vim.log.levels
---@param brief? string what is shown where there is no room for all of the sentence; it says where all of it is
local function show(sentence, level, brief)
  local text = 'fileops: ' .. sentence
  if is_on_one_line() then
    local room = vim.o.columns - RESERVED
    local shown = M.fit(text, room)
    vim.cmd.redraw() -- a list of `vim.ui.select` above would leave no room for it
    if shown ~= text then
      require('fileops.log').note(sentence)
      if brief then shown = M.fit('fileops: ' .. brief, room) end
    end
    -- not as an error by `vim.notify`: inside an autocmd or a script, that adds a line about where it was
    if level == vim.log.levels.ERROR then return vim.api.nvim_echo({ { shown, 'ErrorMsg' } }, true, {}) end
    text = shown
  end
  vim.notify(text, level)
end

---@param sentence string
function M.info(sentence) show(sentence, vim.log.levels.INFO) end

---@param sentence string
---@param brief? string instead, where there is no room for all of the sentence
function M.warn(sentence, brief) show(sentence, vim.log.levels.WARN, brief) end

---@param sentence string
function M.error(sentence) show(sentence, vim.log.levels.ERROR) end

local told ---@type string? the last complaint, until the main loop continues

--- An error of the daemon as a whole.
---@param problem string
---@param details? string more of it, for the log
function M.complain(problem, details)
  require('fileops.log').note(details or problem)
  M.error(problem)
  told = problem
  vim.schedule(function() told = nil end)
end

--- A request that could not be accepted. If `complain` has just said the same, it is not repeated.
---@param err fileops.RequestError
function M.failure(err)
  if err.message ~= told then M.error(err.message) end
end

return M
