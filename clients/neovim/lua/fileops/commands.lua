-- `:Fileops` with its subcommands and their completion, and the <Plug> maps. Loaded at startup: requires nothing
-- before a command is used or a file is opened.
local M = {}

---@param module string
---@param name string
---@return fun(args: string)
local function from(module, name)
  return function(args) require('fileops.' .. module)[name](args) end
end

--- Accept or reject: the changes in the lines of a range, else what is shown.
---@param accepts boolean
---@return fun(args: string, range?: { first: integer, last: integer })
local function decide(accepts)
  return function(args, range)
    if not range then return require('fileops.review.view')[accepts and 'accept' or 'reject'](args) end
    range.reason = args ~= '' and args or nil
    require('fileops.review.text').decide(accepts, range)
  end
end

local LEVELS = { 'change', 'file', 'turn', 'session', 'all' }

---@param level string
---@return string? level nil after a message, if there is none of this name
local function checked_level(level)
  if level == '' then return 'change' end
  if vim.list_contains(LEVELS, level) then return level end
  require('fileops.ui.messages').error(('%s is none of %s'):format(level, table.concat(LEVELS, ', ')))
end

--- What marks the changes of agents: what is not kept, if the daemon knows that, else single edits.
---@return { jump: fun(direction: 1|-1) }
local function marks()
  local unkept = require('fileops.unkept.changes')
  return unkept.is_served() and unkept or require('fileops.ui.marks')
end

---@return string[]
local function sessions() return require('fileops').sessions() end

---@type table<string, fileops.Subcommand>
M.subcommands = {
  start = { run = from('client.process', 'start'), desc = 'start the daemon' },
  stop = {
    run = function() require('fileops').stop() end,
    desc = 'stop the daemon',
  },
  restart = { run = from('client.process', 'restart'), desc = 'start the daemon again' },
  status = { run = from('manual', 'status'), desc = 'the daemon, sessions, stale files' },
  health = {
    run = function() vim.cmd('checkhealth fileops') end,
    desc = ':checkhealth fileops',
  },
  log = {
    run = function() vim.cmd.tabedit(vim.fn.fnameescape(require('fileops.log').path())) end,
    desc = "the daemon's log",
  },
  read = { run = from('manual', 'read'), desc = 'read a file as an agent does', complete = 'file' },
  preview = { run = from('manual', 'preview'), desc = '/old/new/: show what an edit would do' },
  edit = { run = from('manual', 'edit'), desc = '/old/new/: edit this file as an agent does' },
  tools = { run = from('manual', 'tools'), desc = 'the tools that a model is offered' },
  tracked = { run = from('manual', 'tracked'), desc = 'what a session has read', complete = sessions },
  mode = {
    run = from('manual', 'mode'),
    desc = 'who is asked before a write; of one session, if its id follows',
    complete = function() return { 'default', 'auto_edit', 'yolo' } end,
  },
  agents = { run = from('ui.agents', 'open'), desc = 'the agents that are attached, and their modes' },
  review = {
    run = function() require('fileops.review.view').enter() end,
    desc = 'go to the waiting review',
  },
  reviews = { run = from('review.view', 'list'), desc = 'list the waiting reviews' },
  accept = { run = decide(true), desc = 'accept the review, or its changes in a range of lines' },
  always = { run = from('review.view', 'always'), desc = 'accept, and ask no more in that session' },
  reject = { run = decide(false), desc = 'the same, to reject; what follows is the reason' },
  ['accept-change'] = {
    run = function() require('fileops.review.text').decide(true) end,
    desc = 'accept the change under the cursor',
  },
  ['reject-change'] = {
    run = function(args)
      require('fileops.review.text').decide(false, { reason = args ~= '' and args or nil })
    end,
    desc = 'reject the change under the cursor; what follows is the reason',
  },
  ['accept-all'] = {
    run = from('review.view', 'accept_all'),
    desc = 'accept all files of the change set under review',
  },
  ['reject-all'] = {
    run = from('review.view', 'reject_all'),
    desc = 'reject all files of the change set; what follows is the reason',
  },
  ['accept-reviews'] = { run = from('review.view', 'accept_reviews'), desc = 'accept all edits that wait' },
  ['reject-reviews'] = {
    run = from('review.view', 'reject_reviews'),
    desc = 'reject all edits that wait; what follows is the reason',
  },
  pane = {
    run = function() require('fileops.review.view').enter(nil, true) end,
    desc = 'the waiting review in a pane below',
  },
  proposal = { run = from('review.view', 'edit'), desc = 'open the proposal, to type into it' },
  ['last-edit'] = { run = from('ui.last_edit', 'enter'), desc = "show the last agent edit's diff" },
  close = { run = from('ui.last_edit', 'close'), desc = 'close that diff' },
  keep = {
    run = function(args, range)
      local level = checked_level(args)
      if level then require('fileops.unkept.changes').keep(level, range) end
    end,
    desc = "keep agents' changes: under the cursor or in a range, or of the file, turn, session, all",
    complete = function() return LEVELS end,
  },
  redo = { run = from('unkept.changes', 'redo'), desc = 'redo the last undo' },
  ['removed-lines'] = {
    run = function() require('fileops.unkept.changes').toggle_removed() end,
    desc = 'show or hide removed lines',
  },
  turns = {
    run = from('unkept.turns', 'open'),
    desc = 'restore to before a turn: what agents did, by prompts',
  },
  changes = {
    run = from('unkept.panel', 'open'),
    desc = 'what is to keep or undo, by session, turn and file',
  },
  quickfix = {
    run = function() require('fileops.unkept.changes').quickfix() end,
    desc = 'all changes to keep or undo, as a list of places',
  },
  since = {
    run = function() require('fileops.unkept.changes').since() end,
    desc = 'show what changed since you last looked',
  },
  follow = {
    run = from('unkept.follow', 'toggle'),
    desc = 'follow an agent, or stop following',
    complete = function() return require('fileops.unkept.follow').names() end,
  },
  dismiss = {
    run = function(args)
      local buf = args ~= 'all' and vim.api.nvim_get_current_buf() or nil
      require('fileops.ui.marks').dismiss(buf)
      require('fileops.unkept.changes').dismiss(buf)
    end,
    desc = 'take the marks off this buffer, or all',
    complete = function() return { 'all' } end,
  },
  ['next-unkept'] = {
    run = function() marks().jump(1) end,
    desc = 'go to the next change to keep or undo',
  },
  ['previous-unkept'] = {
    run = function() marks().jump(-1) end,
    desc = 'go to the previous change to keep or undo',
  },
  history = {
    run = from('history', 'open'),
    desc = "agents' edits, to look at and undo",
    complete = 'file',
  },
  undo = {
    run = function(args, range)
      local word, reason = args:match('^(%S*)%s*(.*)$')
      if not range and not vim.list_contains(LEVELS, word) then
        return require('fileops.history').undo_last(args)
      end
      local level = checked_level(word)
      if level then require('fileops.unkept.changes').undo(level, range, reason ~= '' and reason or nil) end
    end,
    desc = "undo the last agent's edit of this file, or agents' changes as `keep` keeps them; a reason may follow",
    complete = function() return LEVELS end,
  },
  ['undo-session'] = {
    run = from('history', 'undo_session'),
    desc = 'undo all edits of a session',
    complete = sessions,
  },
}

-- Former names. They work as the present ones do, and are not completed.
M.former = {
  diff = 'last-edit',
  next = 'next-unkept',
  previous = 'previous-unkept',
  removed = 'removed-lines',
}

---@param line { args: string, range?: integer, line1?: integer, line2?: integer }
function M.run(line)
  local name, args = line.args:match('^%s*(%S*)%s*(.-)$')
  if name == '' then name = 'status' end
  local subcommand = M.subcommands[M.former[name] or name]
  if not subcommand then return require('fileops.ui.messages').error(('no subcommand %s'):format(name)) end
  local has_range = (line.range or 0) > 0
  subcommand.run(args, has_range and { first = line.line1, last = line.line2 } or nil)
end

---@param lead string the word at the cursor
---@param line string
---@return string[]
function M.complete(lead, line)
  local name = line:match('^%s*%S+%s+(%S+)%s')
  local candidates ---@type string[]
  if not name then
    candidates = vim.tbl_keys(M.subcommands)
    table.sort(candidates)
  else
    local complete = (M.subcommands[name] or {}).complete
    if complete == 'file' then return vim.fn.getcompletion(lead, 'file') end
    candidates = complete and complete() or {}
  end
  return vim.tbl_filter(function(candidate) return vim.startswith(candidate, lead) end, candidates)
end

M.plugs = {
  'review',
  'reviews',
  'accept',
  'always',
  'reject',
  'accept-change',
  'reject-change',
  'pane',
  'last-edit',
  'close',
  'keep',
  'removed-lines',
  'changes',
  'follow',
  'quickfix',
  'dismiss',
  'next-unkept',
  'previous-unkept',
  'history',
  'agents',
}

function M.define()
  vim.api.nvim_create_user_command('Fileops', M.run, {
    nargs = '*',
    range = true,
    complete = M.complete,
    desc = "Read and edit files through the fileops daemon; review and undo agents' edits",
  })
  for _, name in ipairs(vim.list_extend(vim.tbl_keys(M.former), M.plugs)) do
    local subcommand = M.subcommands[M.former[name] or name]
    local lhs = ('<Plug>(fileops-%s)'):format(name)
    vim.keymap.set('n', lhs, function() subcommand.run('') end, { desc = 'fileops: ' .. subcommand.desc })
  end
  local function look(buf)
    local is_file = vim.bo[buf].buftype == '' and vim.api.nvim_buf_get_name(buf) ~= ''
    local is_set = vim.g.fileops ~= nil or package.loaded['fileops.config'] ~= nil
    if is_file or is_set then require('fileops.autostart').look(buf) end
  end
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'UIEnter', 'VimEnter' }, {
    group = vim.api.nvim_create_augroup('fileops.autostart', {}),
    callback = function(event) look(event.buf) end,
  })
  -- a plugin manager may load this after the first file
  if vim.v.vim_did_enter == 1 then look(vim.api.nvim_get_current_buf()) end
end

return M
