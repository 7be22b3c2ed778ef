-- The wire in Lua: the one place that names its methods and fields. `M.fields` is held against the server's own
-- schema by the tests; keys are snake_case, lines 1-based, times seconds since the epoch (docs/PROTOCOL.md).
local M = {}

M.PROTOCOL_VERSION = 1
M.OLDEST_DAEMON = '0.1.0'

M.methods = {
  read = 'fileops/read',
  edit = 'fileops/edit',
  multi_edit = 'fileops/multiEdit',
  write = 'fileops/write',
  tools = 'fileops/tools',
  tracked = 'fileops/tracked',
  close_session = 'fileops/closeSession',
  bash = 'fileops/bash',
  confirm_edit = 'fileops/confirmEdit',
  confirm_command = 'fileops/confirmCommand',
  correct_edit = 'fileops/correctEdit',
  history = 'fileops/history',
  undo = 'fileops/undo',
  approval_mode = 'fileops/approvalMode',
  set_approval_mode = 'fileops/setApprovalMode',
  sessions = 'fileops/sessions',
}

--- Notification → the event's name in `require('fileops').on` and the pattern of its `User` autocmd.
M.notifications = {
  ['fileops/didBecomeStale'] = { event = 'stale', autocmd = 'FileopsStale' },
  ['fileops/didRead'] = { event = 'read', autocmd = 'FileopsRead' },
  ['fileops/didEdit'] = { event = 'edit', autocmd = 'FileopsEdit' },
  ['fileops/didConflict'] = { event = 'conflict', autocmd = 'FileopsConflict' },
  ['fileops/approvalMode'] = { event = 'mode', autocmd = 'FileopsMode' },
  ['fileops/didChangeSessions'] = { event = 'sessions', autocmd = 'FileopsSessions' },
  ['fileops/watcherHealth'] = { event = 'health', autocmd = 'FileopsHealth' },
}

--- Fields of each message, required ones plain, optional ones with `?`.
M.fields = {
  HunkLine = { 'kind', 'text', 'no_newline?' },
  Hunk = { 'id', 'old_start', 'old_lines', 'new_start', 'new_lines', 'lines' },
  Stats = { 'added', 'removed' },
  UiExtra = { 'diff', 'exact', 'truncated', 'operation', 'file_path', 'hunks', 'stats', 'first_changed_line' },
  Attachment = { 'type', 'mime_type', 'data', 'width', 'height' },
  ToolError = { 'code', 'message' },
  ToolResult = { 'status', 'output', 'error?', 'ui_extra?', 'details', 'attachments?' },
  ReadParams = { 'file_path', 'offset?', 'limit?', 'raw?', 'session_id?' },
  EditParams = {
    'file_path',
    'old_string',
    'new_string',
    'replace_all?',
    'expected_replacements?',
    'strategy?',
    'dry_run?',
    'include_texts?',
    'session_id?',
  },
  EditStep = { 'old_string', 'new_string', 'replace_all?', 'strategy?' },
  MultiEditParams = { 'file_path', 'edits', 'dry_run?', 'include_texts?', 'session_id?' },
  WriteParams = { 'file_path', 'content', 'dry_run?', 'include_texts?', 'session_id?' },
  ToolDefinition = {
    'name',
    'method',
    'label',
    'description',
    'input_schema',
    'prompt_snippet',
    'prompt_guidelines',
    'icon',
  },
  TrackedFile = { 'file_path', 'state', 'reason?', 'read_at', 'mtime?', 'size_bytes?' },
  ConfirmEditParams = {
    'title',
    'description',
    'file_path',
    'session_id',
    'operation',
    'diff',
    'hunks',
    'original_text?',
    'proposed_text?',
    'original_label',
    'proposed_label',
    'rebased?',
    'session?',
  },
  ConfirmEditAnswer = { 'outcome', 'text?', 'hunk_ids?' },
  BashParams = { 'command', 'timeout_s?', 'cwd?', 'description?', 'session_id?' },
  ConfirmCommandParams = { 'command', 'cwd', 'session_id', 'description?' },
  CorrectEditParams = {
    'file_path',
    'session_id',
    'edit_index',
    'old_string',
    'new_string',
    'reason',
    'nearest?',
  },
  DidBecomeStale = { 'file_path', 'session_id', 'reason', 'source', 'timestamp' },
  DidRead = { 'file_path', 'session_id', 'timestamp', 'size', 'modified' },
  DidEdit = { 'file_path', 'session_id', 'timestamp', 'content_length', 'source', 'edit_id' },
  DidConflict = { 'file_path', 'session_id', 'last_read', 'last_modified', 'current_modified?', 'size_diff' },
  ApprovalMode = { 'session_id', 'mode' },
  HistoryEntry = {
    'edit_id',
    'file_path',
    'session_id',
    'timestamp',
    'operation',
    'summary',
    'diff',
    'stats',
    'undoable',
    'undone_by?',
    'undoes',
    'rebased?',
  },
  AskingSession = { 'session_id', 'host', 'label' },
  SessionInfo = {
    'session_id',
    'host',
    'label',
    'connected',
    'approval_mode',
    'n_reads',
    'n_edits',
    'last_seen',
  },
  WatcherHealth = { 'state', 'reason' },
}

--- What a message lacks, by name; fields that we do not know are fine (the protocol may grow).
---@param kind string a key of `M.fields`
---@param message table
---@return string[]
function M.missing(kind, message)
  local lacking = {}
  for _, field in ipairs(M.fields[kind]) do
    if not field:match('%?$') and message[field] == nil then lacking[#lacking + 1] = field end
  end
  return lacking
end

return M
