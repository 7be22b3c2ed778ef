-- A change set as a person decides on it: each file is a review like that of an edit, in any order, and all are decided
-- together. Plain functions.
local M = {}

--- The review of each file.
---@param params fileops.wire.Review of a change set
---@return fileops.wire.Review[]
function M.parts(params)
  local parts = {} ---@type fileops.wire.Review[]
  for i, file in ipairs(params.files) do
    local part = vim.tbl_extend('force', params, file)
    part.files = nil
    part.review_id = ('%s %s'):format(params.review_id, file.file_path)
    part.title = ('%s (file %d of %d)'):format(params.title, i, #params.files)
    parts[i] = part
  end
  return parts
end

--- What happens to a file besides changes of its text.
---@param params fileops.wire.Review
---@return string? such as "renamed to b.lua"
function M.operation(params)
  if params.operation == 'rename' and params.new_path then
    local is_same_folder = vim.fs.dirname(params.new_path) == vim.fs.dirname(params.file_path)
    return 'renamed to '
      .. (is_same_folder and vim.fs.basename or require('fileops.buffers').short)(params.new_path)
  end
  return params.operation == 'delete' and 'deleted' or nil
end

--- The decision about the set, made from those about its files.
---@param decided table<string, fileops.Decision> by file
---@return fileops.Decision with `files`
function M.decision(decided)
  local files, outcomes = {}, {} ---@type fileops.wire.DecidedFile[], table<string, boolean>
  local reasons, revision = {}, nil ---@type string[], integer?
  for path, decision in vim.spairs(decided) do
    outcomes[decision.outcome] = true
    reasons[#reasons + 1] = decision.reason
    revision = math.min(revision or math.huge, decision.revision or math.huge)
    if decision.outcome == 'reject' then
      table.insert(files, { file_path = path, change_ids = {} })
    elseif decision.text or decision.change_ids then
      table.insert(files, { file_path = path, text = decision.text, change_ids = decision.change_ids })
    end
  end
  revision = revision ~= math.huge and revision or nil
  local reason = require('fileops.review.queue').in_one(reasons)
  local is_partial = outcomes.accept or outcomes.accept_always or outcomes.modify
  if outcomes.reject and not is_partial then
    return { outcome = 'reject', reason = reason, revision = revision }
  end
  local outcome = (outcomes.reject or outcomes.modify) and 'modify'
    or outcomes.accept_always and 'accept_always'
    or 'accept'
  return { outcome = outcome, files = #files > 0 and files or nil, reason = reason, revision = revision }
end

return M
