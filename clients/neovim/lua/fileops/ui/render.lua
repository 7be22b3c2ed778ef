-- Hunks as lines of text with decoration, inline or side by side. Plain functions: a pane puts the result in buffers.
-- Not from `fileops/render`, whose rows are for panes of plain text: a review decides by hunk and needs their ids, side
-- by side needs lines in pairs, and both are drawn at once from what the question or the answer brought.
local hunks = require('fileops.ui.hunks')

local M = {}

local FILLER = ('╱'):rep(400)

---@return fileops.Page
local function new_page() return { lines = {}, decorations = {}, hunk_at = {}, hunk_lines = {} } end

---@param page fileops.Page
---@param opts vim.api.keyset.set_extmark
---@param col? integer
local function decorate(page, opts, col)
  -- what changed in a line may be its carriage return, which is not shown
  local width = #page.lines[#page.lines]
  if opts.end_col then opts.end_col = math.min(opts.end_col, width) end
  table.insert(page.decorations, { row = #page.lines - 1, opts = opts, col = math.min(col or 0, width) })
end

---@param page fileops.Page
---@param text string
---@param id string
local function add_line(page, text, id)
  -- neither a line end of the file's nor a NUL may break a line of the pane
  page.lines[#page.lines + 1] = (text:gsub('\r$', ''):gsub('[\n%z]', '?'))
  page.hunk_at[#page.lines] = id
end

---@param line? integer
---@return string
local function number(line) return ('%4s '):format(line or '') end

--- What a heading says of its hunk. Until the person has decided on one of them, nothing is promised of any.
---@param hunk fileops.wire.Hunk
---@param verdicts fileops.Verdicts
---@return { sign: string, text: string, group: string }
local function verdict_on(hunk, verdicts)
  if verdicts.rejected[hunk.id] then return { sign = '✗', text = 'rejected', group = 'FileopsRejected' } end
  if verdicts.is_stale then return { sign = '!', text = 'cannot be written', group = 'FileopsStale' } end
  if next(verdicts.rejected) then
    return { sign = '◦', text = 'will be written', group = 'FileopsAccepted' }
  end
  return { sign = '◦', text = 'undecided', group = 'FileopsMuted' }
end

--- How many unchanged lines a hunk begins and ends with.
---@param hunk fileops.wire.Hunk
---@return integer above, integer below
local function context_of(hunk)
  local lines, above, below = hunk.lines, 0, 0
  while lines[above + 1] and lines[above + 1].kind == ' ' do
    above = above + 1
  end
  while above < #lines and lines[#lines - below].kind == ' ' do
    below = below + 1
  end
  return above, below
end

---@param page fileops.Page
---@param hunk fileops.wire.Hunk
---@param index integer
---@param total integer
---@param verdicts? fileops.Verdicts
local function add_heading(page, hunk, index, total, verdicts)
  local above, below = context_of(hunk)
  local first = math.max(hunk.new_start + above, 1)
  local last = math.max(hunk.new_start + hunk.new_lines - 1 - below, first)
  local place = first == last and ('line %d'):format(first) or ('lines %d–%d'):format(first, last)
  local text = ('change %d/%d · %s'):format(index, total, place)
  local verdict = verdicts and verdict_on(hunk, verdicts)
  if verdict then text = verdict.sign .. ' ' .. text end
  add_line(page, text, hunk.id)
  page.hunk_lines[#page.hunk_lines + 1] = #page.lines
  decorate(page, { end_col = #text, hl_group = 'FileopsHunk' })
  if not verdict then return end
  decorate(page, { end_col = #verdict.sign, hl_group = verdict.group, priority = 5000 })
  local texts = { { ' ' .. verdict.text, verdict.group } }
  if verdicts.note and index == 1 then texts[2] = { ' · ' .. verdicts.note, 'FileopsStale' } end
  decorate(page, { virt_text = texts, hl_mode = 'combine' })
end

---@param page fileops.Page
---@param is_unended boolean?
local function tell_missing_newline(page, is_unended)
  if is_unended then decorate(page, { virt_text = { { ' no newline at the end', 'FileopsMuted' } } }) end
end

local groups = { add = 'FileopsAdd', delete = 'FileopsDelete' }

---@param page fileops.Page
---@param kind string of the line: 'same', 'add', 'delete'
---@param rejected boolean?
local function paint(page, kind, rejected)
  if rejected and kind ~= 'same' then
    decorate(page, { end_col = #page.lines[#page.lines], hl_group = 'FileopsRejectedLine', priority = 4096 })
  elseif groups[kind] then
    -- a range up to the next line: a `line_hl_group` would hide the changed words
    decorate(
      page,
      { end_row = #page.lines, end_col = 0, hl_group = groups[kind], hl_eol = true, priority = 100 }
    )
  end
end

---@param page fileops.Page
---@param from integer 0-based byte column
---@param to integer
local function paint_words(page, from, to)
  if to > from then decorate(page, { end_col = to, hl_group = 'FileopsText', priority = 4200 }, from) end
end

--- One column, removed lines above the added ones.
---@param edit_hunks fileops.wire.Hunk[]
---@param verdicts? fileops.Verdicts
---@return fileops.Page
function M.inline(edit_hunks, verdicts)
  local page = new_page()
  for index, hunk in ipairs(edit_hunks) do
    local rejected = verdicts and verdicts.rejected[hunk.id]
    add_heading(page, hunk, index, #edit_hunks, verdicts)
    local removed, added = {}, {} ---@type fileops.Row[], fileops.Row[]
    local function put(sign, text, old_line, new_line, kind, is_unended)
      add_line(page, sign .. text, hunk.id)
      local numbers = number(old_line) .. number(new_line)
      decorate(page, { virt_text = { { numbers, 'FileopsLineNr' } }, virt_text_pos = 'inline' })
      tell_missing_newline(page, is_unended)
      paint(page, kind, rejected)
    end
    local function flush()
      for _, row in ipairs(removed) do
        put('-', row.old, row.old_line, nil, 'delete', row.old_unended)
        if row.new and not rejected and hunks.are_alike(row.old, row.new) then
          local from, to = hunks.changed_words(row.old, row.new)
          paint_words(page, from + 1, to + 1)
        end
      end
      for _, row in ipairs(added) do
        put('+', row.new, nil, row.new_line, 'add', row.new_unended)
        if row.old and not rejected and hunks.are_alike(row.old, row.new) then
          local _, _, from, to = hunks.changed_words(row.old, row.new)
          paint_words(page, from + 1, to + 1)
        end
      end
      removed, added = {}, {}
    end
    for _, row in ipairs(hunks.rows(hunk)) do
      if row.kind == 'same' then
        flush()
        put(' ', row.old, row.old_line, row.new_line, 'same', row.old_unended)
      else
        if row.old then removed[#removed + 1] = row end
        if row.new then added[#added + 1] = row end
      end
    end
    flush()
  end
  return page
end

--- Two columns of equally many lines.
---@param edit_hunks fileops.wire.Hunk[]
---@param verdicts? fileops.Verdicts
---@return fileops.Page left, fileops.Page right
function M.side_by_side(edit_hunks, verdicts)
  local left, right = new_page(), new_page()
  for index, hunk in ipairs(edit_hunks) do
    local rejected = verdicts and verdicts.rejected[hunk.id]
    add_heading(left, hunk, index, #edit_hunks, verdicts)
    add_heading(right, hunk, index, #edit_hunks, verdicts)
    local function put(page, text, line, kind, is_unended)
      add_line(page, text or '', hunk.id)
      decorate(page, { virt_text = { { number(line), 'FileopsLineNr' } }, virt_text_pos = 'inline' })
      tell_missing_newline(page, is_unended)
      if text then return paint(page, kind, rejected) end
      decorate(page, { virt_text = { { FILLER, 'FileopsFiller' } }, virt_text_win_col = 5 })
    end
    for _, row in ipairs(hunks.rows(hunk)) do
      local is_same = row.kind == 'same'
      put(left, row.old, row.old_line, is_same and 'same' or 'delete', row.old_unended)
      put(right, row.new, row.new_line, is_same and 'same' or 'add', row.new_unended)
      if row.kind == 'change' and not rejected and hunks.are_alike(row.old, row.new) then
        local old_from, old_to, new_from, new_to = hunks.changed_words(row.old, row.new)
        paint_words(left, old_from, old_to)
        paint_words(right, new_from, new_to)
      end
    end
  end
  return left, right
end

return M
