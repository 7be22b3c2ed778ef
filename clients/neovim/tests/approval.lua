-- Edits that wait for the person, over the real daemon, for the specs of their approval.
local t = require('harness')
local review = require('fileops.review.queue')
local world = require('world')

local M = {}

M.TEXT = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nten\neleven\nnine\nend\n'

---@param settings? table
function M.asking(settings)
  for _, each in ipairs(vim.list_slice(review.waiting())) do
    review.reject(each)
  end
  local options = vim.tbl_extend('force', { approval_mode = 'default' }, settings or {})
  return world.new(M.TEXT, { server = options })
end

--- An edit whose answer is still to come: { result?, err? }
---@param agent fileops.Session
---@param path string
---@param steps? fileops.wire.EditStep[]
---@return { result?: fileops.wire.ToolResult, err?: table }, fileops.Handle
function M.propose(agent, path, steps)
  t.async(function() world.succeeded(agent:read({ file_path = path })) end)
  local n_waiting = #review.waiting()
  local answer = {}
  steps = steps
    or { { old_string = 'two', new_string = 'TWO' }, { old_string = 'nine', new_string = 'NINE' } }
  local handle = agent:multi_edit({ file_path = path, edits = steps }, function(err, result)
    answer.err, answer.result = err, result
  end)
  t.wait(function() return #review.waiting() > n_waiting end, 'the review')
  return answer, handle
end

--- Accept the review that waits longest.
function M.accept() review.accept(review.waiting()[1]) end

---@param reason? string
function M.reject(reason) review.reject(review.waiting()[1], reason) end

---@param answer { result?: fileops.wire.ToolResult, err?: table }
function M.settled(answer)
  t.wait(function() return answer.err or answer.result end, 'the answer')
  return answer.result
end

--- A decision that does not fit the file any more: the review comes again. Returns what was said until then.
---@param decide fun()
---@return string[]
function M.asked_again(decide)
  local asked = review.waiting()[1]
  local revision = asked.params.revision
  return t.said(function(said)
    decide()
    t.wait(
      function() return review.waiting()[1] == asked and asked.params.revision > revision and #said > 0 end,
      'the review on the present file'
    )
  end)
end

--- The scene after a proposal was accepted.
---@return string path, fileops.Session agent, integer buf
function M.accepted()
  local path, agent, buf = M.asking()
  local answer = M.propose(agent, path)
  M.accept()
  t.eq(M.settled(answer).status, 'success')
  return path, agent, buf
end

return M
