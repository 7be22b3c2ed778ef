-- Handles the daemon's requests and notifications. One small function per method.
local events = require('fileops.client.events')
local buffers = require('fileops.buffers')
local protocol = require('fileops.client.protocol')

local M = {}

M.CHANGED = 'it has changed in the meantime' -- why nothing was written

local BUSY_RETRY_MS = 50 -- an autocmd that waits in the main loop is rare, and ends

--- The daemon wrote a file: update its buffer. Both the answer to an edit and `fileops/didEdit` report it, and the
--- folder's watch may have been faster than both; the first one counts.
---@param path string
---@return string? why not: "modified", "taken", "gone", or "busy" (then it is tried again)
function M.file_written(path)
  local buf = buffers.buffer_of(path)
  if not buf then return nil end
  local why = require('fileops.reload').reload(buf)
  if why == 'busy' then vim.defer_fn(function() M.file_written(path) end, BUSY_RETRY_MS) end
  return why
end

local through_editor = {} ---@type table<integer, boolean> buffers that the daemon edited in place, until it says so

---@param event fileops.wire.DidEditParams
local function on_edit(event)
  require('fileops.client.outcome').follow_outside(event)
  local buf = buffers.buffer_of(event.file_path)
  if buf and through_editor[buf] then
    through_editor[buf] = nil
    return
  end
  local why = M.file_written(event.file_path)
  local name = buffers.short(event.file_path)
  if why == 'gone' then
    require('fileops.ui.messages').info(('%s was removed; its buffer stays'):format(name))
  elseif why == 'modified' then
    require('fileops.ui.messages').warn(('%s changed on disk beside your unsaved changes'):format(name))
  end
end

local on_notification = {
  ['fileops/didBecomeStale'] = function(event) require('fileops.watch').file_changed(event.file_path) end,
  ['fileops/didRead'] = function() end,
  ['fileops/didEdit'] = on_edit,
  ['fileops/didConflict'] = function(event)
    require('fileops.review.queue').was_refused(event.session_id, event.file_path, M.CHANGED)
  end,
  ['fileops/approvalMode'] = function() end,
  ['fileops/didChangeAsk'] = function(event) require('fileops.ask').changed(event) end,
  ['fileops/didChangeReviews'] = function(event) require('fileops.review.listed').changed(event) end,
  ['fileops/didChangeSessions'] = function(event) require('fileops.sessions').replace(event.sessions) end,
  ['fileops/didRecover'] = function() vim.cmd.checktime() end, -- the message comes by window/showMessage
  ['fileops/didRecord'] = function() end,
  ['fileops/didChangeUnkept'] = function(event) require('fileops.unkept.changes').changed(event) end,
  ['fileops/watcherHealth'] = function(event)
    require('fileops.client.process').state.health = event
    if event.state == 'degraded' then
      require('fileops.ui.messages').warn('changes on disk may be noticed late: ' .. event.reason)
    end
  end,
}

---@param method string
local function notification(method)
  local names = protocol.notifications[method]
  return function(_, params)
    on_notification[method](params)
    events.emit(names.event, params, names.autocmd)
  end
end

---@param uri string
---@param version any
---@return integer? buf, string? refusal
local function editable(uri, version)
  local buf = vim.uri_to_bufnr(uri)
  if not vim.api.nvim_buf_is_loaded(buf) then return nil, 'the document is not open' end
  if not vim.bo[buf].modifiable then return nil, 'the document cannot be changed' end
  if type(version) == 'number' and vim.lsp.util.buf_versions[buf] ~= version then
    return nil, 'the document moved on to another version'
  end
  return buf
end

--- Neovim's own handler answers "applied" even if it skipped an edit because its version had changed. Here, either all
--- of it is applied, or nothing is, and the answer says why.
---@param params lsp.ApplyWorkspaceEditParams
---@param ctx lsp.HandlerContext
---@return lsp.ApplyWorkspaceEditResult
function M.apply_edit(_, params, ctx)
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  local todo = {} ---@type { buf: integer, edits: lsp.TextEdit[] }[]
  local function plan(uri, version, edits)
    local buf, refusal = editable(uri, version)
    -- without their annotations, which Neovim lists in a message that waits for a key
    local bare = vim.tbl_map(function(edit) return { range = edit.range, newText = edit.newText } end, edits)
    if buf then table.insert(todo, { buf = buf, edits = bare }) end
    return refusal
  end
  local refusal
  for _, change in ipairs(params.edit.documentChanges or {}) do
    if change.kind then return vim.lsp.handlers['workspace/applyEdit'](nil, params, ctx) end
    refusal = refusal or plan(change.textDocument.uri, change.textDocument.version, change.edits)
  end
  if not params.edit.documentChanges then
    for uri, edits in pairs(params.edit.changes or {}) do
      refusal = refusal or plan(uri, nil, edits)
    end
  end
  if refusal then return { applied = false, failureReason = refusal } end
  for _, each in ipairs(todo) do
    local encoding = client.offset_encoding
    require('fileops.client.sync').as_one_change(each.buf, function()
      if require('fileops.client.exact_text').apply(each.buf, each.edits, encoding) then return end
      vim.lsp.util.apply_text_edits(each.edits, each.buf, encoding)
    end)
    through_editor[each.buf] = true
    require('fileops.unkept.changes').refresh(each.buf)
  end
  return { applied = true }
end

--- Wrap a handler that waits for its answer, without blocking the editor.
---@param ask fun(params: table, from: fileops.Asked, answer: fun(value: any, problem: table?))
---@return lsp.Handler
local function asking(ask)
  return function(_, params, ctx)
    local co = assert(coroutine.running())
    local from = { client_id = ctx.client_id, request_id = require('fileops.client.rpc').serving_id() }
    local done, answer, err = false, nil, nil
    local yielded = false
    ask(params, from, function(value, problem)
      done, answer, err = true, value, problem
      -- now: what Neovim defers while it is exiting is never done, and the answer would not be sent
      if yielded then coroutine.resume(co) end
    end)
    if not done then
      yielded = true
      coroutine.yield()
    end
    return answer, err
  end
end

--- Show a sentence from the daemon, such as why it serves this editor alone. Neovim's own handler may show several
--- lines, which wait for a key.
---@param params lsp.ShowMessageParams
local function show_message(_, params)
  local types = vim.lsp.protocol.MessageType
  local levels = { [types.Error] = 'error', [types.Warning] = 'warn' }
  require('fileops.ui.messages')[levels[params.type] or 'info'](params.message)
end

---@return table<string, lsp.Handler>
function M.all()
  local handlers = {
    ['fileops/confirmCommand'] = asking(require('fileops.review.questions').ask_command),
    ['fileops/correctEdit'] = asking(require('fileops.corrections').ask),
    ['fileops/diagnostics'] = asking(require('fileops.diagnostics').ask),
    ['fileops/saveDocument'] = function(_, params) return require('fileops.saving').save(params) end,
    ['workspace/applyEdit'] = M.apply_edit,
    ['window/showMessage'] = show_message,
    ['$/cancelRequest'] = function(_, params, ctx)
      if require('fileops.corrections').cancelled(params.id, ctx.client_id) then return end
      require('fileops.review.questions').cancelled(params.id, ctx.client_id)
    end,
  }
  for method in pairs(protocol.notifications) do
    handlers[method] = notification(method)
  end
  return handlers
end

return M
