-- Methods of the wire. Tests compare them with the server's schema, from which `wire_types.lua` is generated.
local M = {}

M.PROTOCOL_VERSION = 1
M.OLDEST_DAEMON = '1.0.0'

M.methods = {
  read = 'fileops/read',
  edit = 'fileops/edit',
  multi_edit = 'fileops/multiEdit',
  write = 'fileops/write',
  tools = 'fileops/tools',
  tracked = 'fileops/tracked',
  close_session = 'fileops/closeSession',
  bash = 'fileops/bash',
  confirm_command = 'fileops/confirmCommand',
  correct_edit = 'fileops/correctEdit',
  diagnostics = 'fileops/diagnostics',
  save_document = 'fileops/saveDocument',
  history = 'fileops/history',
  undo = 'fileops/undo',
  sessions = 'fileops/sessions',
  reviews = 'fileops/reviews',
  decide_review = 'fileops/decideReview',
  unkept = 'fileops/unkept',
  keep = 'fileops/keep',
  undo_keep = 'fileops/undoKeep',
  ask = 'fileops/ask',
  set_ask = 'fileops/setAsk',
  blame = 'fileops/blame',
  log = 'fileops/log',
  entry = 'fileops/entry',
  rewind = 'fileops/rewind',
  turns = 'fileops/turns',
  cell_texts = 'fileops/cellTexts',
}

--- Notification → the event's name in `require('fileops').on`, and the pattern of its `User` autocmd.
M.notifications = {
  ['fileops/didBecomeStale'] = { event = 'stale', autocmd = 'FileopsStale' },
  ['fileops/didRead'] = { event = 'read', autocmd = 'FileopsRead' },
  ['fileops/didEdit'] = { event = 'edit', autocmd = 'FileopsEdit' },
  ['fileops/didConflict'] = { event = 'conflict', autocmd = 'FileopsConflict' },
  ['fileops/didDiagnose'] = { event = 'problems', autocmd = 'FileopsProblems' },
  ['fileops/approvalMode'] = { event = 'mode', autocmd = 'FileopsMode' },
  ['fileops/didChangeAsk'] = { event = 'ask', autocmd = 'FileopsAsk' },
  ['fileops/didChangeReviews'] = { event = 'reviews', autocmd = 'FileopsReviews' },
  ['fileops/didChangeSessions'] = { event = 'sessions', autocmd = 'FileopsSessions' },
  ['fileops/didRecover'] = { event = 'recover', autocmd = 'FileopsRecover' },
  ['fileops/didRecord'] = { event = 'record', autocmd = 'FileopsRecord' },
  ['fileops/didChangeUnkept'] = { event = 'unkept', autocmd = 'FileopsUnkept' },
  ['fileops/watcherHealth'] = { event = 'health', autocmd = 'FileopsHealth' },
}

return M
