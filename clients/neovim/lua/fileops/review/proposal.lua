-- The original and the proposed text in diff mode, for an edit of a file that is not open, or to change the proposal
-- before accepting it: `:write` accepts what is there. What the person has typed stays until it is written or they
-- close it.
local buffers = require('fileops.buffers')
local changes = require('fileops.review.changes')
local messages = require('fileops.ui.messages')
local queue = require('fileops.review.queue')

local M = {}

local editors = {} ---@type table<integer, fileops.ProposalEditor> by review id

---@param text string
---@return fileops.Editable
local function editable(text)
  text = text:gsub('\r\n', '\n') -- the daemon gives each line the line end that the file needs
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
---@return fileops.ProposalEditor?
local function editor_of(review)
  local editor = editors[review.id]
  return editor and vim.api.nvim_buf_is_valid(editor.proposed) and editor or nil
end

---@param editor fileops.ProposalEditor
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

--- What the person starts with: what they have typed before, else the proposal without the changes that they dropped.
---@param review fileops.Review
---@return string? nil if the texts are too large to be sent
local function starting_text(review)
  return review.typed or changes.text_without(review.params, review.rejected)
end

---@param editor fileops.ProposalEditor
---@param review fileops.Review
local function fill(editor, review)
  local text = starting_text(review)
  editor.revision = review.params.revision
  if not text then
    put(editor.proposed, review.params.diff)
    vim.bo[editor.proposed].modifiable = false
  else
    put(editor.proposed, text)
  end
  editor.filled = not review.typed and text_of(editor.proposed)
  if review.typed then vim.bo[editor.proposed].modified = true end
end

---@param editor fileops.ProposalEditor
local function dismantle(editor)
  if editor.finish then editor.finish() end
  local tab = editor.tab
  if tab and vim.api.nvim_tabpage_is_valid(tab) and #vim.api.nvim_list_tabpages() > 1 then
    return vim.cmd('tabclose! ' .. vim.api.nvim_tabpage_get_number(tab))
  end
  for _, win in ipairs(vim.fn.win_findbuf(editor.original or -1)) do
    pcall(vim.api.nvim_win_close, win, true)
  end
  if vim.api.nvim_buf_is_valid(editor.proposed) then
    for _, win in ipairs(vim.fn.win_findbuf(editor.proposed)) do
      vim.api.nvim_win_call(win, function() vim.cmd('diffoff') end)
    end
    vim.api.nvim_buf_delete(editor.proposed, { force = true })
  end
end

--- Close the texts of a review. If it disappears without the person's doing, their text stays in front of them, and a
--- message says why it can no longer be used.
---@param review fileops.Review
---@param why? string it is gone
function M.close(review, why)
  local editor = editor_of(review)
  if not editor then return end
  local is_current = vim.api.nvim_get_current_buf() == editor.proposed
  if why and (is_current or is_typed(editor)) then
    vim.bo[editor.proposed].modified = is_typed(editor)
    return messages.warn(
      ('%s: %s; this text is not used'):format(vim.fs.basename(review.params.file_path), why)
    )
  end
  editors[review.id] = nil
  dismantle(editor)
end

--- The review waits again, perhaps for another content of its file: what was typed stays, beside the present text.
---@param review fileops.Review
function M.asked_on(review)
  local editor = editor_of(review)
  if not editor then return end
  if editor.original then put(editor.original, review.params.original_text or '') end
  if is_typed(editor) then
    vim.bo[editor.proposed].modified = true
    editor.revision, review.text_offered = review.params.revision, true
  else
    fill(editor, review)
  end
  local win = vim.fn.win_findbuf(editor.proposed)[1]
  if win then vim.api.nvim_win_call(win, function() vim.cmd('diffupdate') end) end
end

---@param editor fileops.ProposalEditor
---@param review fileops.Review
local function write(editor, review)
  if not queue.is_waiting(review) then return messages.warn('the review has ended; this text is not used') end
  local text, was_typed = text_of(editor.proposed), is_typed(editor)
  vim.bo[editor.proposed].modified = false
  vim.schedule(function() -- `:wq` closes the window first
    local is_impossible = #review.change_ids == 0 and not review.set -- only another text can be written
    if was_typed or is_impossible then
      queue.modify(review, text, editor.revision)
    else
      queue.accept(review)
    end
    if not queue.is_waiting(review) then require('fileops.review.view').go_on() end
  end)
end

--- Accept what the person sees, if the current buffer is a proposal.
---@param review fileops.Review
---@return boolean
function M.accept(review)
  local editor = editor_of(review)
  if not editor or editor.proposed ~= vim.api.nvim_get_current_buf() then return false end
  write(editor, review)
  return true
end

--- The edit whose proposal, or original text, a buffer shows.
---@param buf integer
---@return fileops.Review?
function M.in_buffer(buf)
  return vim.iter(queue.waiting()):find(function(review)
    local editor = editors[review.id]
    return editor ~= nil and (editor.proposed == buf or editor.original == buf)
  end)
end

---@param review fileops.Review
---@return string name of the buffer with the proposal
function M.name(review)
  return ('fileops://review/%d/%s'):format(review.id, vim.fs.basename(review.params.file_path))
end

---@param buf integer
---@param buftype 'acwrite'|'nofile'
---@param params fileops.wire.Review
local function dress(buf, buftype, params)
  local path = params.by_cells and buffers.as_cells(params.file_path) or params.file_path
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = buftype, 'wipe', false
  vim.bo[buf].syntax = vim.filetype.match({ filename = path, buf = buf }) or ''
end

--- The text before, beside the proposal.
---@param editor fileops.ProposalEditor
---@param review fileops.Review
---@param win integer of the proposal
local function open_original(editor, review, win)
  local path = review.params.file_path
  local original = vim.api.nvim_create_buf(false, true)
  editor.original = original
  vim.api.nvim_buf_set_name(original, ('fileops://original/%d/%s'):format(review.id, vim.fs.basename(path)))
  dress(original, 'nofile', review.params)
  put(original, review.params.original_text or '')
  vim.bo[original].modifiable = false
  editor.finish = require('fileops.ui.whole_hunks').begin()
  local left = vim.api.nvim_open_win(original, false, { split = 'left', win = win })
  for _, each in ipairs({ left, win }) do
    vim.api.nvim_win_call(each, vim.cmd.diffthis)
  end
  vim.api.nvim_win_call(win, function() vim.cmd('silent! normal! gg]c') end)
end

--- What the person must know before they decide.
---@param review fileops.Review
local function announce(review)
  local notes = { review.note } ---@type string[]
  notes[#notes + 1] = require('fileops.review.set').operation(review.params)
  if review.params.rebased then
    notes[#notes + 1] = require('fileops.sessions').rebased(review.params.rebased)
  end
  if #notes > 0 then return messages.info(table.concat(notes, ' · ') .. '  (:w accepts)') end
  messages.info(require('fileops.review.view').summary(review) .. '  (:w accepts, :Fileops reject)')
end

--- A buffer of such a name was opened.
---@param buf integer
---@param review fileops.Review
local function show(buf, review)
  local editor = editors[review.id] or { proposed = buf, filled = false }
  editor.proposed = buf
  editors[review.id] = editor
  if review.typed then review.text_offered = true end
  dress(buf, 'acwrite', review.params)
  fill(editor, review)
  vim.api.nvim_clear_autocmds({ event = { 'BufWriteCmd', 'BufWipeout' }, buffer = buf })
  vim.api.nvim_create_autocmd(
    'BufWriteCmd',
    { buffer = buf, callback = function() write(editor, review) end }
  )
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buf,
    callback = function()
      if editors[review.id] == editor then editors[review.id] = nil end
      vim.schedule(function() dismantle(editor) end) -- the text beside it is closed, too
    end,
  })
  vim.schedule(function()
    local win = vim.fn.win_findbuf(buf)[1]
    if not win or (editor.original and vim.api.nvim_buf_is_valid(editor.original)) then return end
    if starting_text(review) then
      open_original(editor, review, win)
    else
      vim.bo[buf].syntax = 'diff'
    end
    announce(review)
  end)
end

--- Show both texts in a tab page. The proposed one can be changed: writing it accepts it, closing it goes back.
---@param review fileops.Review
function M.open(review)
  local editor = editor_of(review)
  local win = editor and vim.fn.win_findbuf(editor.proposed)[1]
  if editor and win then
    if review.typed then review.text_offered = true end
    if not is_typed(editor) then fill(editor, review) end
    return vim.api.nvim_set_current_win(win)
  end
  vim.cmd('tabnew')
  local scratch = vim.api.nvim_get_current_buf()
  editors[review.id] = { proposed = -1, filled = false, tab = vim.api.nvim_get_current_tabpage() }
  vim.cmd('silent keepalt edit ' .. vim.fn.fnameescape(M.name(review)))
  local is_unused = vim.api.nvim_buf_is_valid(scratch) and vim.api.nvim_buf_get_name(scratch) == ''
  if is_unused and scratch ~= vim.api.nvim_get_current_buf() then
    vim.api.nvim_buf_delete(scratch, { force = true })
  end
end

--- Before an edit is accepted as proposed: show the person a text of theirs that would not be written. They can write
--- it, or accept once more.
---@param review fileops.Review
---@return boolean shown
function M.offer(review)
  local editor = editor_of(review)
  if editor and is_typed(editor) then
    M.open(review)
    messages.info('you have changed the proposal here: :w accepts your text, :tabclose! leaves it out')
    return true
  end
  if review.typed and not review.text_offered then
    M.open(review)
    messages.info('this is the text as it was decided before: :w accepts it, :tabclose! goes back')
    return true
  end
  if #review.change_ids == 0 and not review.set and not editor then
    M.open(review)
    messages.info('the proposed edit can no longer be made: :w accepts what you write here')
    return true
  end
  return false
end

vim.api.nvim_create_autocmd('BufReadCmd', {
  group = vim.api.nvim_create_augroup('fileops.review.proposal', {}),
  pattern = 'fileops://review/*',
  callback = function(event)
    local review = queue.get(tonumber(event.file:match('^fileops://review/(%d+)')) --[[@as integer]])
    if review and review.kind == 'command' then
      return require('fileops.review.command').fill(review, event.buf)
    end
    if review then return show(event.buf, review) end
    vim.bo[event.buf].buftype, vim.bo[event.buf].bufhidden = 'nofile', 'wipe'
    vim.api.nvim_buf_set_lines(event.buf, 0, -1, false, { 'This review was decided or withdrawn.' })
  end,
})

return M
