-- Agents in the editor are asked for the words of an edit that are not in the file, for their own model to correct
-- (`fileops/correctEdit`). This keeps who answers, and what is unanswered; the daemon judges the proposals.
local log = require('fileops.log')

local M = {}

local ANY_SESSION = ''
local REQUEST_CANCELLED = -32800

local correctors = {} ---@type table<string, fileops.Corrector>
local open = {} ---@type fileops.OpenQuestion[]

--- Set the function for one session, or for all that have none; a later one replaces it.
---@param corrector fileops.Corrector
---@param session_id? string
---@return fun() off
function M.register(corrector, session_id)
  local key = session_id or ANY_SESSION
  correctors[key] = corrector
  return function()
    if correctors[key] == corrector then correctors[key] = nil end
  end
end

---@param session_id string
function M.close_session(session_id) correctors[session_id] = nil end

---@param question fileops.OpenQuestion
---@param value any
---@param problem? table
local function settle(question, value, problem)
  for i, other in ipairs(open) do
    if other == question then
      table.remove(open, i)
      return question.answer(value, problem)
    end
  end
end

---@param params fileops.wire.CorrectEditParams
---@param from fileops.Asked
---@param answer fun(value: any, problem: table?)
function M.ask(params, from, answer)
  local corrector = correctors[params.session_id] or correctors[ANY_SESSION]
  if not corrector then return answer(vim.NIL) end
  local question = { from = from, answer = answer } ---@type fileops.OpenQuestion
  table.insert(open, question)
  local ok, stop = pcall(corrector, params, function(proposal) settle(question, proposal or vim.NIL) end)
  if ok then
    question.stop = type(stop) == 'function' and stop or nil
  else
    log.note('a corrector failed: ' .. tostring(stop))
    settle(question, vim.NIL)
  end
end

--- The daemon withdrew the question: it waits no longer, or the agent gave up the edit.
---@param request_id integer|string
---@param client_id integer
---@return boolean whether it was one of these
function M.cancelled(request_id, client_id)
  for _, question in ipairs(open) do
    if question.from.client_id == client_id and question.from.request_id == request_id then
      settle(question, nil, { code = REQUEST_CANCELLED, message = 'withdrawn by the daemon' })
      if question.stop then pcall(question.stop) end
      return true
    end
  end
  return false
end

--- The daemon has ended, and its questions with it.
function M.forget()
  local questions = open
  open = {}
  for _, question in ipairs(questions) do
    if question.stop then pcall(question.stop) end
  end
end

return M
