-- Text for the bar above a window: what it shows, and the keys that work in it.
local buffers = require('fileops.buffers')

local M = {}

--- `%` means itself in a winbar.
---@param text string
---@return string
function M.escape(text) return (text:gsub('%%', '%%%%')) end

---@param path string
---@param stats fileops.wire.Stats
---@return string such as "shop/demo.py +3 −1", for a winbar
function M.subject(path, stats) return M.counted(buffers.short(path), stats) end

---@param name string
---@param stats fileops.wire.Stats
---@return string such as "demo.py +3 −1", for a winbar
function M.counted(name, stats)
  return ('%s %%#FileopsAccepted#+%d %%#FileopsRejected#−%d%%*'):format(
    M.escape(name),
    stats.added,
    stats.removed
  )
end

---@param text string a winbar expression
---@return integer cells
function M.width(text) return vim.api.nvim_eval_statusline(text, { use_winbar = true, maxwidth = 1000 }).width end

--- The first of some texts that has room, or the last.
---@param texts string[] winbar expressions, the longest first
---@param room integer cells
---@return string
function M.fitting(texts, room)
  for _, text in ipairs(texts) do
    if M.width(text) <= room then return text end
  end
  return texts[#texts]
end

--- Key hints for a winbar, as many as there is room for.
---@param hints fileops.Hint[]
---@param room integer cells
---@return string
function M.hints(hints, room)
  local parts, width = {}, -1 -- of the space at the end, and no two before the first
  for _, hint in ipairs(hints) do
    local key, label = hint[1], hint[2]
    if key then
      width = width + vim.fn.strdisplaywidth(key .. ' ' .. label) + 2
      if width > room then break end
      parts[#parts + 1] = ('%%#FileopsKey#%s%%* %s'):format(M.escape(key), label)
    end
  end
  return table.concat(parts, '  ') .. ' '
end

return M
