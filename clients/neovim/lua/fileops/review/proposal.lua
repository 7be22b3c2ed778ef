-- A tab page with the original text and the proposed one, where the person changes the proposal before accepting it.
local queue = require('fileops.review.queue')
local winbar = require('fileops.ui.winbar')

local M = {}

local editors = {} ---@type table<integer, integer> review id → tab page where its text is edited

--- The tab page where a proposal is edited. What the person is typing into must not be taken from under their hands:
--- it stays, and says that it is of no use any more.
---@param review fileops.Review
---@param why? string it was withdrawn
function M.close(review, why)
  local tab = editors[review.id]
  if not tab or not vim.api.nvim_tabpage_is_valid(tab) then return end
  if why and tab == vim.api.nvim_get_current_tabpage() then
    local bar = ' %#FileopsStale#' .. winbar.escape(why) .. '%* · what you write here is not used'
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(tab)) do
      local is_proposal = vim.bo[vim.api.nvim_win_get_buf(win)].buftype == 'acwrite'
      if is_proposal then vim.api.nvim_set_option_value('winbar', bar, { scope = 'local', win = win }) end
    end
    return
  end
  editors[review.id] = nil
  if #vim.api.nvim_list_tabpages() > 1 then vim.cmd('tabclose! ' .. vim.api.nvim_tabpage_get_number(tab)) end
end

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

---@param win integer
---@param review fileops.Review
---@param side 'original'|'proposed'
---@param text string
---@return integer buf
local function fill_side(win, review, side, text)
  local buf = vim.api.nvim_create_buf(false, true)
  local content = editable(text)
  vim.bo[buf].buftype = side == 'proposed' and 'acwrite' or 'nofile'
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].swapfile = false
  local name = vim.fs.basename(review.params.file_path)
  vim.api.nvim_buf_set_name(buf, ('fileops://review/%d/%s/%s'):format(review.id, side, name))
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, content.lines)
  vim.bo[buf].fixendofline = false
  vim.bo[buf].endofline = content.final_newline
  vim.bo[buf].modifiable = side == 'proposed'
  vim.bo[buf].modified = false
  vim.api.nvim_win_set_buf(win, buf)
  vim.bo[buf].syntax = vim.filetype.match({ filename = review.params.file_path, buf = buf }) or ''
  vim.api.nvim_win_call(win, vim.cmd.diffthis)
  return buf
end

--- Both texts in a tab page, the proposed one to be changed: writing it accepts it, closing it goes back.
---@param review fileops.Review
function M.open(review)
  local params = review.params
  if not params.proposed_text then
    return require('fileops.ui.messages').warn('the text is too large to be edited here')
  end
  local tab = editors[review.id]
  if tab and vim.api.nvim_tabpage_is_valid(tab) then return vim.api.nvim_set_current_tabpage(tab) end
  vim.cmd('tabnew')
  local right = vim.api.nvim_get_current_win()
  local scratch = vim.api.nvim_get_current_buf()
  editors[review.id] = vim.api.nvim_get_current_tabpage()
  local buf = fill_side(right, review, 'proposed', params.proposed_text)
  if vim.api.nvim_buf_is_valid(scratch) and vim.api.nvim_buf_get_name(scratch) == '' then
    vim.api.nvim_buf_delete(scratch, { force = true })
  end
  vim.cmd('leftabove vnew')
  local left, empty = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  fill_side(left, review, 'original', params.original_text or '')
  if vim.api.nvim_buf_is_valid(empty) then vim.api.nvim_buf_delete(empty, { force = true }) end
  local function bar(win, text) vim.api.nvim_set_option_value('winbar', text, { scope = 'local', win = win }) end
  bar(left, ' %#FileopsTitle#original%* ' .. winbar.escape(vim.fs.basename(params.file_path)))
  local keys = { { ':w', 'accept' }, { ':tabclose', 'back' } }
  local name = ' %#FileopsTitle#proposed%* %='
  bar(right, name .. winbar.hints(keys, vim.api.nvim_win_get_width(right) - #' proposed '))
  vim.api.nvim_set_current_win(right)
  vim.cmd('silent! normal! ]c')
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buf,
    callback = function()
      if not vim.tbl_contains(queue.waiting(), review) then
        return require('fileops.ui.messages').warn('the review is gone; this text is not used')
      end
      if queue.stale_reason(review) then
        local name_of_file = vim.fs.basename(params.file_path)
        return require('fileops.ui.messages').warn(
          name_of_file .. ' changed: nothing can be written; your text stays here'
        )
      end
      vim.bo[buf].modified = false
      local text = text_of(buf)
      vim.schedule(function() queue.modify(review, text) end)
    end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buf,
    callback = function()
      local page = editors[review.id]
      editors[review.id] = nil
      vim.schedule(function() -- the original beside it goes too
        if page and vim.api.nvim_tabpage_is_valid(page) and #vim.api.nvim_list_tabpages() > 1 then
          vim.cmd('tabclose! ' .. vim.api.nvim_tabpage_get_number(page))
        end
      end)
    end,
  })
end

return M
