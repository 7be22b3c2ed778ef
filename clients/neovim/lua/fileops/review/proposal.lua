-- A tab page with the original text and the proposed one, where the person changes the proposal before accepting it.
-- What they have typed stays until it is written or they close it.
local changes = require('fileops.review.changes')
local queue = require('fileops.review.queue')
local winbar = require('fileops.ui.winbar')

local M = {}

local editors = {} ---@type table<integer, fileops.ProposalTab> by review id

---@return table messages
local function messages() return require('fileops.ui.messages') end

---@param text string
---@return fileops.Editable
local function editable(text)
  text = text:gsub('\r\n', '\n') -- the daemon gives each line the end that the file wants
  local final_newline = text:sub(-1) == '\n' or text == ''
  if text:sub(-1) == '\n' then text = text:sub(1, -2) end
  return { lines = vim.split(text, '\n', { plain = true }), final_newline = final_newline }
end

---@param buf integer
---@return string
local function text_of(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  if #lines == 1 and lines[1] == '' then return '' end
  return table.concat(lines, '\n') .. (vim.bo[buf].endofline and '\n' or '')
end

---@param review fileops.Review
---@return fileops.ProposalTab?
local function editor_of(review)
  local editor = editors[review.id]
  return editor and vim.api.nvim_tabpage_is_valid(editor.tab) and editor or nil
end

---@param editor fileops.ProposalTab
---@return boolean
local function is_typed(editor) return text_of(editor.proposed) ~= editor.filled end

---@param buf integer
---@param text string
local function put(buf, text)
  local content, is_modifiable = editable(text), vim.bo[buf].modifiable
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, content.lines)
  vim.bo[buf].fixendofline = false
  vim.bo[buf].endofline = content.final_newline
  vim.bo[buf].modifiable = is_modifiable
  vim.bo[buf].modified = false
end

--- What the person begins with: what they have typed before, else the proposal without the changes that they dropped.
---@param review fileops.Review
---@return string? text, string? problem
local function starting_text(review)
  local text = review.typed or changes.text_without(review.params, review.rejected)
  if not text then return nil, 'the text is too large to be edited here' end
  return text
end

---@param editor fileops.ProposalTab
---@param review fileops.Review
local function fill(editor, review)
  local text = starting_text(review)
  if not text then return end
  put(editor.proposed, text)
  editor.revision = review.params.revision
  editor.filled = not review.typed and text_of(editor.proposed)
  if review.typed then vim.bo[editor.proposed].modified = true end
end

---@param buf integer
---@param text string a winbar expression
local function set_bar(buf, text)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    vim.api.nvim_set_option_value('winbar', text, { scope = 'local', win = win })
  end
end

---@param editor fileops.ProposalTab
---@param review fileops.Review
local function draw_bars(editor, review)
  local name = vim.fs.basename(review.params.file_path)
  set_bar(editor.original, ' %#FileopsTitle#original%* ' .. winbar.escape(name))
  local keys = { { ':w', 'accept' }, { ':tabclose', 'back' } }
  local title = ' %#FileopsTitle#proposed%* '
  if review.note then title = title .. '%#FileopsStale#' .. winbar.escape(review.note) .. '%* ' end
  for _, win in ipairs(vim.fn.win_findbuf(editor.proposed)) do
    local room = vim.api.nvim_win_get_width(win) - winbar.width(title)
    vim.api.nvim_set_option_value(
      'winbar',
      title .. '%=' .. winbar.hints(keys, room),
      { scope = 'local', win = win }
    )
  end
end

--- Close the tab page where a proposal is edited. If the review is gone without the person's doing, what they have
--- typed is not taken from them, nor the tab page from under their hands: it stays, and says why it is of no use.
---@param review fileops.Review
---@param why? string it is gone
function M.close(review, why)
  local editor = editor_of(review)
  if not editor then return end
  if why and (editor.tab == vim.api.nvim_get_current_tabpage() or is_typed(editor)) then
    vim.bo[editor.proposed].modified = is_typed(editor)
    local bar = ' %#FileopsStale#' .. winbar.escape(why) .. '%* · what you write here is not used'
    return set_bar(editor.proposed, bar)
  end
  editors[review.id] = nil
  if #vim.api.nvim_list_tabpages() > 1 then
    vim.cmd('tabclose! ' .. vim.api.nvim_tabpage_get_number(editor.tab))
  end
end

--- The review waits on, perhaps on another content of its file: what was typed stays, beside the present text.
---@param review fileops.Review
function M.asked_on(review)
  local editor = editor_of(review)
  if not editor then return end
  put(editor.original, review.params.original_text or '')
  if is_typed(editor) then
    vim.bo[editor.proposed].modified = true
    editor.revision, review.text_offered = review.params.revision, true
  else
    fill(editor, review)
  end
  draw_bars(editor, review)
  vim.api.nvim_win_call(vim.fn.win_findbuf(editor.proposed)[1], function() vim.cmd('diffupdate') end)
end

---@param win integer
---@param review fileops.Review
---@param side 'original'|'proposed'
---@return integer buf
local function new_side(win, review, side)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].buftype = side == 'proposed' and 'acwrite' or 'nofile'
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].swapfile = false
  local name = vim.fs.basename(review.params.file_path)
  vim.api.nvim_buf_set_name(buf, ('fileops://review/%d/%s/%s'):format(review.id, side, name))
  vim.bo[buf].modifiable = side == 'proposed'
  vim.api.nvim_win_set_buf(win, buf)
  vim.bo[buf].syntax = vim.filetype.match({ filename = review.params.file_path, buf = buf }) or ''
  return buf
end

---@param editor fileops.ProposalTab
---@param review fileops.Review
local function write(editor, review)
  if not queue.is_waiting(review) then return messages().warn('the review is gone; this text is not used') end
  if queue.stale_reason(review) then
    local name_of_file = vim.fs.basename(review.params.file_path)
    return messages().warn(name_of_file .. ' changed: nothing can be written; your text stays here')
  end
  vim.bo[editor.proposed].modified = false
  local text, revision = text_of(editor.proposed), editor.revision
  vim.schedule(function() queue.modify(review, text, revision) end)
end

---@param editor fileops.ProposalTab
---@param review fileops.Review
local function watch(editor, review)
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = editor.proposed,
    callback = function() write(editor, review) end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = editor.proposed,
    callback = function()
      editors[review.id] = nil
      vim.schedule(function() -- the original beside it goes too
        if vim.api.nvim_tabpage_is_valid(editor.tab) and #vim.api.nvim_list_tabpages() > 1 then
          vim.cmd('tabclose! ' .. vim.api.nvim_tabpage_get_number(editor.tab))
        end
      end)
    end,
  })
end

--- Both texts in a tab page, the proposed one to be changed: writing it accepts it, closing it goes back.
---@param review fileops.Review
function M.open(review)
  local _, problem = starting_text(review)
  if problem then return messages().warn(problem) end
  if review.typed then review.text_offered = true end
  local editor = editor_of(review)
  if editor then
    if not is_typed(editor) then fill(editor, review) end
    return vim.api.nvim_set_current_tabpage(editor.tab)
  end
  vim.cmd('tabnew')
  local right = vim.api.nvim_get_current_win()
  local scratch = vim.api.nvim_get_current_buf()
  local tab = vim.api.nvim_get_current_tabpage()
  local proposed = new_side(right, review, 'proposed')
  if vim.api.nvim_buf_is_valid(scratch) and vim.api.nvim_buf_get_name(scratch) == '' then
    vim.api.nvim_buf_delete(scratch, { force = true })
  end
  vim.cmd('leftabove vnew')
  local left, empty = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  local original = new_side(left, review, 'original')
  if vim.api.nvim_buf_is_valid(empty) then vim.api.nvim_buf_delete(empty, { force = true }) end
  editor = { tab = tab, original = original, proposed = proposed, filled = false }
  editors[review.id] = editor
  put(original, review.params.original_text or '')
  fill(editor, review)
  draw_bars(editor, review)
  for _, win in ipairs({ left, right }) do
    vim.api.nvim_win_call(win, vim.cmd.diffthis)
  end
  vim.api.nvim_set_current_win(right)
  vim.cmd('silent! normal! ]c')
  watch(editor, review)
end

--- Before an edit is accepted as it is proposed: a text of the person's that would not be written then is shown. They
--- can write it, or accept once more.
---@param review fileops.Review
---@return boolean shown
function M.offer(review)
  local editor = editor_of(review)
  if editor and is_typed(editor) then
    M.open(review)
    messages().info('you have changed the proposal here: :w accepts your text, :tabclose! drops it')
    return true
  end
  if review.typed and not review.text_offered then
    M.open(review)
    messages().info('this is the text as it was decided before: :w accepts it, :tabclose! goes back')
    return true
  end
  if review.review_id and #review.change_ids == 0 then
    M.open(review)
    messages().info('the proposed edit cannot be made any more: :w accepts what you write here')
    return true
  end
  return false
end

return M
