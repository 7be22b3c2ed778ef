-- Shows waiting reviews in the text that they are about: lines to be removed are marked, new lines are virtual lines
-- below them, and a heading above each change names its keys. Marks move with what the person types; the daemon merges
-- a decision with the present text. The keys do nothing in plain Neovim, so a key pressed before a review appears, or
-- after it has gone, runs no other command. No key decides what cannot be seen.
local buffers = require('fileops.buffers')
local config = require('fileops.config')
local hunks = require('fileops.ui.hunks')
local lines_of = require('fileops.review.changes').lines_of
local first_of = require('fileops.review.changes').first_of
local messages = require('fileops.ui.messages')
local queue = require('fileops.review.queue')
local sessions = require('fileops.sessions')
local text_keys = require('fileops.ui.text_keys')
local virtual = require('fileops.ui.virtual')

local M = {}

local ns = vim.api.nvim_create_namespace('fileops.review.text')

-- A key pressed this soon after a change appears was meant for what was there before. Nobody reads and decides within
-- that time: simple reactions take 200 ms and more.
local NOT_READ_MS = 300

local shown = {} ---@type table<integer, fileops.TextReview> by review id

--- Where a line of the original text is in a buffer that has changed since.
---@param blocks integer[][] of `hunks.blocks`
---@param line integer 1-based
---@return integer 1-based; of a line that is gone: the one that is in its place
local function moved(blocks, line)
  local shift = 0
  for _, block in ipairs(blocks) do
    local old_start, old_count, new_start, new_count = unpack(block)
    local first = first_of(old_start, old_count)
    if first > line then break end
    if line < first + old_count then
      local into = math.min(line - first, math.max(new_count - 1, 0))
      return first_of(new_start, new_count) + into
    end
    shift = shift + new_count - old_count
  end
  return line + shift
end

---@param change fileops.wire.ReviewChange
---@return fileops.Row[]
local function rows_of(change)
  local parsed = hunks.parse(change.diff)[1]
  return parsed and hunks.rows(parsed) or {}
end

---@param review fileops.Review
---@param change fileops.wire.ReviewChange
---@return 'accepted'|'rejected'|nil
local function verdict(review, change)
  return review.rejected[change.id] and 'rejected' or review.accepted[change.id] and 'accepted' or nil
end

---@param review fileops.Review
---@param index integer of the change
---@return table[] chunks of the line above a change
local function heading(review, index)
  local keys = config.get().keys
  local change = review.params.changes[index]
  local chunks = {
    { config.get().sign, 'FileopsSign' },
    {
      ('%s %d/%d'):format(sessions.proposer(review.params), index, #review.params.changes),
      'FileopsTitle',
    },
  }
  local function say(words, group) chunks[#chunks + 1] = { ' · ' .. words, group } end
  local function hint(key, words)
    if not key then return end
    chunks[#chunks + 1] = { '  ' .. key, 'FileopsKey' }
    chunks[#chunks + 1] = { ' ' .. words, 'FileopsMuted' }
  end
  local left = require('fileops.review.countdown').words(review)
  if left then say(left, 'FileopsWarning') end
  local is_decided = verdict(review, change)
  if is_decided then say(is_decided, 'FileopsTitle') end
  if is_decided ~= 'accepted' then hint(keys.accept, 'accept') end
  if is_decided ~= 'rejected' then hint(keys.reject, 'reject') end
  local operation = index == 1 and require('fileops.review.set').operation(review.params)
  if operation then say(operation, 'FileopsWarning') end
  if index == 1 and review.note then say(review.note, 'FileopsWarning') end
  return chunks
end

---@param buf integer
---@param review fileops.Review
---@param index integer of the change
---@param first integer 1-based line of the buffer; of an addition: the line before which it goes
---@param last integer 1-based; `first - 1` of an addition
---@return fileops.TextChange
local function draw_change(buf, review, index, first, last)
  local change = review.params.changes[index]
  local n_lines = vim.api.nvim_buf_line_count(buf)
  local decided = verdict(review, change)
  local ids = {} ---@type integer[]
  local function mark(row, col, opts)
    opts.strict = false
    ids[#ids + 1] = vim.api.nvim_buf_set_extmark(buf, ns, row, col, opts)
    return ids[#ids]
  end
  local rows, added = rows_of(change), {} ---@type fileops.Row[], table[][]
  local width = vim.o.columns
  local add_group = decided == 'rejected' and 'FileopsDecided' or 'FileopsAdd'
  for i, row in ipairs(rows) do
    local words = row.old and row.new and not decided and hunks.are_alike(row.old, row.new)
    if row.new then
      local from, to = #row.new, #row.new
      if words then
        from, to = select(3, hunks.changed_words(row.old, row.new))
      end
      added[#added + 1] = virtual.line(row.new, from, to, add_group, width, vim.bo[buf].tabstop)
    end
    if words and first + i - 1 <= last then
      local from, to = hunks.changed_words(row.old, row.new)
      if to > from then
        mark(first + i - 2, from, { end_col = to, hl_group = 'FileopsText', priority = 4200 })
      end
    end
  end
  if #rows == 0 then
    added = { { { 'too long to be shown here: :Fileops review shows it', 'FileopsMuted' } } }
  end
  local above = { heading(review, index) }
  local range ---@type integer
  if last >= first then
    local group = decided == 'accepted' and 'FileopsDecided' or 'FileopsDelete'
    range = mark(first - 1, 0, {
      end_row = last,
      end_col = 0,
      hl_group = decided ~= 'rejected' and group or nil,
      hl_eol = true,
      priority = 4100,
    })
    mark(first - 1, 0, { virt_lines = above, virt_lines_above = true })
    if #added > 0 then mark(last - 1, 0, { virt_lines = added }) end
  else
    local is_first = first == 1
    local row = math.min(math.max(first - 2, 0), n_lines - 1)
    range = mark(row, 0, { virt_lines = vim.list_extend(above, added), virt_lines_above = is_first })
  end
  return { id = change.id, range = range, ids = ids, is_addition = last < first }
end

---@param review fileops.Review
local function erase(review)
  local entry = shown[review.id]
  if not entry or not vim.api.nvim_buf_is_valid(entry.buf) then return end
  for _, change in ipairs(entry.changes) do
    for _, id in ipairs(change.ids) do
      vim.api.nvim_buf_del_extmark(entry.buf, ns, id)
    end
  end
end

--- The present lines of the buffer that a change is about.
---@param buf integer
---@param change fileops.TextChange
---@return integer first, integer last 1-based; an addition is about the line that it is shown at
local function place_of(buf, change)
  local row, _, details =
    unpack(vim.api.nvim_buf_get_extmark_by_id(buf, ns, change.range, { details = true }))
  if change.is_addition then return row + 1, row + 1 end
  return row + 1, math.max(row + 1, details.end_row + (details.end_col > 0 and 1 or 0))
end

local compared ---@type { buf: integer, tick: integer, original: string, blocks: integer[][] }?

--- What has changed in a buffer since a text, except line ends. Many reviews of one file usually have the same text.
---@param buf integer
---@param original string
---@return integer[][] of `hunks.blocks`
local function blocks_since(buf, original)
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local is_known = compared
    and compared.buf == buf
    and compared.tick == tick
    and compared.original == original
  if not is_known then
    local old = lines_of((original:gsub('\r\n', '\n')))
    local now = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
    if vim.bo[buf].fileformat == 'unix' and original:find('\r\n', 1, true) then
      now = vim.tbl_map(function(line) return (line:gsub('\r$', '')) end, now) -- a file with mixed line ends
    end
    compared = { buf = buf, tick = tick, original = original, blocks = hunks.blocks(old, now) }
  end
  return assert(compared).blocks
end

---@param review fileops.Review
---@param buf integer
---@return fileops.TextChange[]
local function draw_afresh(review, buf)
  local params = review.params
  local blocks = blocks_since(buf, params.original_text or '')
  local changes = {} ---@type fileops.TextChange[]
  for i, change in ipairs(params.changes) do
    local first = first_of(change.old_start, change.old_lines)
    local last = first + change.old_lines - 1
    if change.old_lines == 0 then
      local before = first > 1 and moved(blocks, first - 1) or 0
      first, last = before + 1, before
    else
      first, last = moved(blocks, first), moved(blocks, last)
    end
    changes[i] = draw_change(buf, review, i, first, last)
  end
  return changes
end

---@param buf integer
---@return fileops.TextReview[] the oldest first
local function of_buffer(buf)
  local found = {} ---@type fileops.TextReview[]
  for _, review in ipairs(queue.waiting()) do
    local entry = shown[review.id]
    if entry and entry.buf == buf then found[#found + 1] = entry end
  end
  return found
end

--- The oldest review that is shown in a buffer.
---@param buf integer
---@return fileops.Review?
function M.in_buffer(buf)
  local first = of_buffer(buf)[1]
  return first and first.review
end

---@param entry fileops.TextReview
---@return boolean
local function is_read(entry)
  vim.uv.update_time()
  return vim.uv.now() - entry.since_ms >= NOT_READ_MS
end

--- The changes that touch some lines of a buffer.
---@param buf integer
---@param first integer 1-based
---@param last integer
---@return { review: fileops.Review, id: string, at: integer, to: integer, is_read: boolean }[] the oldest review first
local function touched(buf, first, last)
  local found = {}
  for _, entry in ipairs(of_buffer(buf)) do
    for _, change in ipairs(entry.changes) do
      local from, to = place_of(buf, change)
      if from <= last and first <= to then
        local change_read = is_read(entry)
        found[#found + 1] =
          { review = entry.review, id = change.id, at = from, to = to, is_read = change_read }
      end
    end
  end
  return found
end

---@param review fileops.Review
local function redraw(review)
  local entry = shown[review.id]
  if not entry or not vim.api.nvim_buf_is_loaded(entry.buf) then return end
  -- the marks know where the changes are now; the original text does not
  local places = vim.tbl_map(function(change) return { place_of(entry.buf, change) } end, entry.changes)
  erase(review)
  for i, place in ipairs(places) do
    local change, first, last = entry.changes[i], place[1], place[2]
    if change.is_addition then
      local is_at_top = review.params.changes[i].old_start == 0
      first = is_at_top and first or first + 1
      last = first - 1
    end
    entry.changes[i] = draw_change(entry.buf, review, i, first, last)
  end
end

--- Set a verdict on some changes. A review with no change left to decide is sent.
---@param found { review: fileops.Review, id: string }[]
---@param accepts boolean
---@param reason? string of a rejection, for the model
local function judge(found, accepts, reason)
  local reviews = {} ---@type fileops.Review[]
  for _, each in ipairs(found) do
    queue.judge(each.review, each.id, accepts, reason)
    if not vim.list_contains(reviews, each.review) then reviews[#reviews + 1] = each.review end
  end
  for _, review in ipairs(reviews) do
    if queue.is_judged(review) then
      if queue.outcome(review).outcome == 'reject' then
        queue.reject(review)
      else
        queue.accept(review)
      end
    end
    if queue.is_waiting(review) then redraw(review) end
  end
end

--- Why a key cannot decide the change under the cursor yet: it has just appeared, or part of it is not on the screen.
--- That part is scrolled into view.
---@param change { id: string, at: integer, to: integer, is_read: boolean, review: fileops.Review }
---@return string?
local function why_not_seen(change)
  if not change.is_read then return 'has just come' end
  if not text_keys.are_seen(change.at, change.to) then return 'was in a fold' end
  local is_above_first = change.at == 1 and vim.fn.line('w0') == 1
  if is_above_first and vim.fn.winsaveview().topfill == 0 then
    virtual.reveal_above_first_line(vim.api.nvim_get_current_buf())
    return 'was above the first line'
  end
  return nil
end

--- Accept or reject the changes in some lines; by default the one under the cursor.
---@param accepts boolean
---@param options? { first?: integer, last?: integer, reason?: string, is_key?: boolean }
function M.decide(accepts, options)
  options = options or {}
  local buf = vim.api.nvim_get_current_buf()
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local found = touched(buf, options.first or line, options.last or line)
  if not options.first then found = { found[1] } end
  if #found == 0 then
    local next_key = config.get().keys.next
    local where = next_key and M.in_buffer(buf) and (': %s goes to the next one'):format(next_key) or ''
    return messages.info('no proposed change here' .. where)
  end
  local why = options.is_key and why_not_seen(found[1])
  if why then return messages.info(('this change %s: look at it, and press the key again'):format(why)) end
  judge(found, accepts, options.reason)
end

--- First lines of the changes shown in a buffer, ascending, 1-based.
---@param buf integer
---@return integer[]
function M.lines(buf)
  local found = {} ---@type integer[]
  for _, entry in ipairs(of_buffer(buf)) do
    for _, change in ipairs(entry.changes) do
      found[#found + 1] = (place_of(buf, change))
    end
  end
  table.sort(found)
  return found
end

--- Whether everything shown in a buffer has been there long enough to be read.
---@param buf integer
---@return boolean
function M.is_read(buf) return vim.iter(of_buffer(buf)):all(is_read) end

---@param review fileops.Review
---@return boolean whether a window of this tab page shows it
function M.is_visible(review)
  local entry = shown[review.id]
  if not entry then return false end
  return vim
    .iter(vim.api.nvim_tabpage_list_wins(0))
    :any(function(win) return vim.api.nvim_win_get_buf(win) == entry.buf end)
end

--- Go to where a review is shown.
---@param review fileops.Review
---@return boolean
function M.enter(review)
  local entry = shown[review.id]
  if not entry or not M.is_visible(review) then return false end
  if vim.api.nvim_get_current_buf() ~= entry.buf then
    vim.api.nvim_set_current_win(vim.fn.win_findbuf(entry.buf)[1])
  end
  local first = entry.changes[1]
  if first then text_keys.go((place_of(entry.buf, first))) end
  return true
end

local keys = {
  accept = function() M.decide(true, { is_key = true }) end,
  reject = function() M.decide(false, { is_key = true }) end,
}

--- Whether a review can be shown in a buffer: it needs a text and changes of it. The buffer of a notebook has JSON.
---@param review fileops.Review
---@return boolean
function M.can_show(review)
  local params = review.params
  local has_text = review.kind == 'edit' and params.original_text ~= nil and not params.by_cells
  return has_text and #params.changes > 0
end

--- Whether all of its changes can be read there: none is too long.
---@param review fileops.Review
---@return boolean
function M.is_complete(review)
  return M.can_show(review)
    and vim.iter(review.params.changes):all(function(change) return change.diff:find('\n[-+]') ~= nil end)
end

--- Show a review in the buffer of its file, again if it has changed.
---@param review fileops.Review
---@return boolean shown not if the file is not open here, or there is no text to show it in
function M.show(review)
  local params = review.params
  if not M.can_show(review) then
    M.hide(review)
    return false
  end
  local buf = buffers.buffer_of(params.file_path)
  if not buf then return false end
  local entry = shown[review.id]
  if entry and entry.buf == buf and entry.revision == params.revision then
    redraw(review)
    return true
  end
  M.hide(review)
  shown[review.id] = {
    buf = buf,
    review = review,
    revision = params.revision,
    changes = draw_afresh(review, buf),
    since_ms = vim.uv.now(),
  }
  text_keys.map(buf, 'review', keys, M.lines)
  if place_of(buf, shown[review.id].changes[1]) == 1 then virtual.reveal_above_first_line(buf) end
  return true
end

---@param review fileops.Review
function M.hide(review)
  local entry = shown[review.id]
  if not entry then return end
  erase(review)
  shown[review.id] = nil
  if #of_buffer(entry.buf) == 0 then text_keys.unmap(entry.buf, 'review') end
end

--- Another second has passed, so a review may be close to its end.
---@param is_last_minute fun(review: fileops.Review): boolean
function M.second_passed(is_last_minute)
  for _, entry in pairs(shown) do
    if is_last_minute(entry.review) then redraw(entry.review) end
  end
end

local group = vim.api.nvim_create_augroup('fileops.review.text', {})
vim.api.nvim_create_autocmd('BufReadPost', { -- opened, or read again: its marks may be anywhere now
  group = group,
  callback = function(event)
    vim.api.nvim_buf_clear_namespace(event.buf, ns, 0, -1)
    for _, review in ipairs(queue.waiting()) do
      if shown[review.id] and shown[review.id].buf == event.buf then shown[review.id] = nil end
      if review.kind == 'edit' and buffers.buffer_of(review.params.file_path) == event.buf then
        M.show(review)
      end
    end
  end,
})
vim.api.nvim_create_autocmd('BufUnload', {
  group = group,
  callback = function(event)
    for id, entry in pairs(shown) do
      if entry.buf == event.buf then shown[id] = nil end
    end
    text_keys.forget(event.buf)
  end,
})

return M
