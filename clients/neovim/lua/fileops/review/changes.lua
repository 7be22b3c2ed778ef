-- The changes of a proposed edit, as the daemon has split them: their lines, and the text without some of them. Plain
-- functions.
local M = {}

-- the lines are found once for many reviews of one file
local last_text, last_lines = nil, {} ---@type string?, string[]

---@param text? string
---@return string[] lines without their ends; none for a text that is too large to be sent
function M.lines_of(text)
  if not text or text == '' then return {} end
  if text == last_text then return last_lines end
  local lines = vim.split(text, '\n', { plain = true })
  if lines[#lines] == '' then lines[#lines] = nil end
  last_text, last_lines = text, lines
  return lines
end

--- The line before which a change is made: a side without lines starts at the line before it.
---@param start integer
---@param n_lines integer
---@return integer
function M.first_of(start, n_lines) return n_lines == 0 and start + 1 or start end

local lines_of, first_of = M.lines_of, M.first_of

--- How much is added and removed.
---@param review fileops.wire.Review
---@return fileops.wire.Stats
function M.stats(review)
  local stats = { added = 0, removed = 0 }
  for _, change in ipairs(review.changes) do
    stats.added, stats.removed = stats.added + change.new_lines, stats.removed + change.old_lines
  end
  return stats
end

--- The proposed text without the changes that the person has dropped. Nil if it is too large to be sent.
---@param review fileops.wire.Review
---@param rejected table<string, boolean>
---@return string?
function M.text_without(review, rejected)
  local original, proposed = review.original_text, review.proposed_text
  if not proposed or not next(rejected) then return proposed end
  local parts = review.changes
  if review.operation == 'create' then original = original or '' end
  if not original then return nil end
  local old, new = vim.split(original, '\n', { plain = true }), vim.split(proposed, '\n', { plain = true })
  local kept, at = {}, 1 ---@type string[], integer
  for _, change in ipairs(parts) do
    if rejected[change.id] then
      local first = first_of(change.new_start, change.new_lines)
      vim.list_extend(kept, new, at, first - 1)
      local old_first = first_of(change.old_start, change.old_lines)
      vim.list_extend(kept, old, old_first, old_first + change.old_lines - 1)
      at = first + change.new_lines
    end
  end
  local last = parts[#parts]
  if last and rejected[last.id] and at > #lines_of(proposed) then -- the end of the text is the original's
    local text = table.concat(kept, '\n')
    return original:sub(-1) == '\n' and #kept > 0 and text .. '\n' or text
  end
  vim.list_extend(kept, new, at)
  return table.concat(kept, '\n')
end

--- Which changes of a review the person has already decided on, in an earlier revision. An id names a change of one
--- revision; a change with the same lines is the same change.
---@param before fileops.wire.Review
---@param now fileops.wire.Review
---@param decided table<string, boolean> of the earlier revision, all in the same way
---@return table<string, boolean>
function M.still_decided(before, now, decided)
  local function lines(change) return (change.diff:gsub('^[^\n]*\n', '')) end
  local chosen, others = {}, {} ---@type table<string, boolean>, table<string, boolean>
  for _, change in ipairs(before.changes) do
    (decided[change.id] and chosen or others)[lines(change)] = true
  end
  local still = {} ---@type table<string, boolean>
  for _, change in ipairs(now.changes) do
    local text = lines(change)
    if text ~= '' and chosen[text] and not others[text] then still[change.id] = true end
  end
  return still
end

return M
