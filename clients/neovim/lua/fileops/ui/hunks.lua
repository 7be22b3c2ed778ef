-- Diffs as people see them: hunks, aligned rows, changed words. Plain functions over plain values.
local M = {}

---@param text string?
---@return string?
local function without_bom(text) return text and (text:gsub('^\239\187\191', '')) end

--- Removed and added lines of one run are beside each other. The first line of a file lacks its byte order mark.
---@param hunk fileops.wire.Hunk
---@return fileops.Row[]
function M.rows(hunk)
  local rows = {} ---@type fileops.Row[]
  -- a side of zero lines starts at the line before it, as in a unified diff
  local old_line = hunk.old_lines == 0 and hunk.old_start + 1 or hunk.old_start
  local new_line = hunk.new_lines == 0 and hunk.new_start + 1 or hunk.new_start
  local removed, added = {}, {} ---@type fileops.wire.HunkLine[], fileops.wire.HunkLine[]
  local function flush()
    for i = 1, math.max(#removed, #added) do
      local old, new = removed[i], added[i]
      rows[#rows + 1] = {
        kind = old and new and 'change' or old and 'delete' or 'add',
        old = old and old.text,
        new = new and new.text,
        old_line = old and old_line + i - 1 or nil,
        new_line = new and new_line + i - 1 or nil,
        old_unended = old and old.no_newline,
        new_unended = new and new.no_newline,
      }
    end
    old_line, new_line = old_line + #removed, new_line + #added
    removed, added = {}, {}
  end
  for _, line in ipairs(hunk.lines) do
    if line.kind == '-' then
      if #added > 0 then flush() end
      removed[#removed + 1] = line
    elseif line.kind == '+' then
      added[#added + 1] = line
    else
      flush()
      rows[#rows + 1] = {
        kind = 'same',
        old = line.text,
        new = line.text,
        old_line = old_line,
        new_line = new_line,
        old_unended = line.no_newline,
        new_unended = line.no_newline,
      }
      old_line, new_line = old_line + 1, new_line + 1
    end
  end
  flush()
  local first = rows[1]
  if first and (first.old_line or first.new_line) == 1 then -- a buffer has the byte order mark as 'bomb'
    first.old, first.new = without_bom(first.old), without_bom(first.new)
  end
  return rows
end

---@param s string
---@param i integer
---@return boolean whether byte i starts a character (or lies past the end)
local function starts_character(s, i)
  local byte = s:byte(i)
  return byte == nil or byte < 0x80 or byte >= 0xC0
end

--- Whether two lines are versions of one line, so that showing the changed words helps.
---@param old string
---@param new string
---@return boolean
function M.are_alike(old, new)
  local from, to, _, new_to = M.changed_words(old, new)
  local indent = #(old:sub(1, from):match('^%s*'))
  local shared = from - indent + #old - to
  return shared * 2 >= math.max(to - from, new_to - from, 1)
end

--- The differing middle of two lines, as 0-based byte columns [from, to) of each.
---@param old string
---@param new string
---@return integer old_from, integer old_to, integer new_from, integer new_to
function M.changed_words(old, new)
  local limit = math.min(#old, #new)
  local head = 0
  while head < limit and old:byte(head + 1) == new:byte(head + 1) do
    head = head + 1
  end
  while head > 0 and not (starts_character(old, head + 1) and starts_character(new, head + 1)) do
    head = head - 1
  end
  local tail = 0
  while tail < limit - head and old:byte(#old - tail) == new:byte(#new - tail) do
    tail = tail + 1
  end
  while
    tail > 0 and not (starts_character(old, #old - tail + 1) and starts_character(new, #new - tail + 1))
  do
    tail = tail - 1
  end
  return head, #old - tail, head, #new - tail
end

---@param old string[]
---@param new string[]
---@return integer[][] blocks { old_start, old_count, new_start, new_count } as `vim.diff` gives them
function M.blocks(old, new)
  local diff = vim.text and vim.text.diff or vim.diff -- luacheck: ignore 143 (moved in Nvim 0.12)
  local a = #old > 0 and table.concat(old, '\n') .. '\n' or ''
  local b = #new > 0 and table.concat(new, '\n') .. '\n' or ''
  return diff(a, b, { result_type = 'indices', algorithm = 'histogram' }) --[[@as integer[][] ]]
end

--- The hunks of a unified diff of one file.
---@param diff string
---@return fileops.wire.Hunk[]
function M.parse(diff)
  local parsed = {} ---@type fileops.wire.Hunk[]
  local hunk ---@type fileops.wire.Hunk?
  local old_left, new_left = 0, 0
  for line in vim.gsplit(diff, '\n', { plain = true }) do
    local kind, text = line:sub(1, 1), line:sub(2)
    if hunk and kind == '\\' then
      hunk.lines[#hunk.lines].no_newline = true
    elseif hunk and (old_left > 0 or new_left > 0) and (kind == ' ' or kind == '-' or kind == '+') then
      hunk.lines[#hunk.lines + 1] = { kind = kind, text = text }
      if kind ~= '+' then old_left = old_left - 1 end
      if kind ~= '-' then new_left = new_left - 1 end
    else
      local old_start, old_lines, new_start, new_lines = line:match('^@@ %-(%d+),?(%d*) %+(%d+),?(%d*) @@')
      if old_start then
        old_left, new_left = tonumber(old_lines) or 1, tonumber(new_lines) or 1
        hunk = {
          id = tostring(#parsed + 1),
          old_start = tonumber(old_start) --[[@as integer]],
          old_lines = old_left,
          new_start = tonumber(new_start) --[[@as integer]],
          new_lines = new_left,
          lines = {},
        }
        parsed[#parsed + 1] = hunk
      end
    end
  end
  return parsed
end

---@param names string[] of cells of a notebook
---@return string such as " in cells load, mean"
function M.in_cells(names)
  if #names == 0 then return '' end
  return (#names == 1 and ' in cell ' or ' in cells ') .. table.concat(names, ', ')
end

---@param stats { added: integer, removed: integer }
---@return string such as "+3 −1"
function M.summary(stats) return ('+%d −%d'):format(stats.added, stats.removed) end

--- What happened to a renamed file.
---@param old_path string
---@param edited fileops.wire.EditedLines? how it differs from its text under that path
---@return string
function M.renamed(old_path, edited)
  local is_edited = edited and (edited.added > 0 or edited.removed > 0)
  local size = is_edited and ' · ' .. M.summary(edited) or ''
  return 'renamed from ' .. require('fileops.buffers').short(old_path) .. size
end

return M
