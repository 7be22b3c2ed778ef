-- Questions to the person without a daemon, as older daemons ask them, for the specs of the review.
local t = require('harness')
local hunks = require('fileops.ui.hunks')
local questions = require('fileops.review.asked')

local M = {}

local DIFF = '@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -9 +9,2 @@\n-x\n+y\n+z\n'

M.answers = {} ---@type table[] of the questions since `fresh`, in order

---@param name? string
---@param request_id? integer|string
function M.ask(name, request_id)
  ---@type fileops.wire.ConfirmEditParams
  local params = {
    title = 'Edit',
    description = '',
    file_path = '/w/' .. (name or 'demo.py'),
    session_id = 's1',
    operation = 'modify',
    diff = DIFF,
    hunks = hunks.parse(DIFF),
    original_text = 'a\nb\nc\n',
    proposed_text = 'a\nB\nc\n',
    original_label = 'Current',
    proposed_label = 'Proposed',
  }
  local slot = #M.answers + 1
  M.answers[slot] = {}
  return questions.ask(params, { client_id = 1, request_id = request_id }, function(value, problem)
    assert(next(M.answers[slot]) == nil, 'answered twice')
    M.answers[slot] = { value = value, problem = problem }
  end)
end

function M.fresh()
  questions.reject_all()
  t.clean()
  vim.o.lines, vim.o.columns = 40, 120
  M.answers = {}
  vim.cmd.enew()
end

function M.pane_windows()
  return vim.tbl_filter(
    function(win) return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)):match('^fileops://') ~= nil end,
    vim.api.nvim_list_wins()
  )
end

function M.keys(text) vim.api.nvim_feedkeys(vim.keycode(text), 'xt', false) end

return M
