-- `:Fileops` with its subcommands and their completion, and the <Plug> maps. Loaded at startup: requires nothing
-- before a command is used or a file is opened.
local M = {}

---@param module string
---@param name string
---@return fun(args: string)
local function from(module, name)
  return function(args) require('fileops.' .. module)[name](args) end
end

---@return table
local function changes() return require('fileops.unkept.changes') end

---@param levels string[]
---@param args string "LEVEL REASON", both optional
---@return string? level nil after a message, if there is none of this name
---@return string? reason
local function level_of(levels, args)
  local level, reason = args:match('^(%S*)%s*(.*)$')
  if level == '' then return 'change' end
  if vim.list_contains(levels, level) then return level, reason ~= '' and reason or nil end
  local sentence = '%s is none of %s; a reason comes after one of these'
  require('fileops.ui.messages').error(sentence:format(level, table.concat(levels, ', ')))
end

---@param accepts boolean
---@return fun(args: string, range?: { first: integer, last: integer })
local function decide(accepts)
  return function(args, range)
    local view = require('fileops.review.view')
    if accepts and args == 'always' then return view.accept_always() end
    local level, reason = level_of(view.LEVELS, args)
    if level then view.decide(accepts, level, reason, range) end
  end
end

---@return string[]
local function review_levels() return require('fileops.review.view').LEVELS end

---@return string[]
local function levels() return changes().LEVELS end

---@type table<string, fileops.Subcommand>
M.subcommands = {
  keep = {
    run = function(args, range)
      local level = level_of(levels(), args)
      if level then changes().keep(level, range) end
    end,
    desc = 'keep changes of agents: under the cursor, in a range, of the file, turn, agent, or all',
    complete = levels,
  },
  undo = {
    run = function(args, range)
      if args == 'keep' then return changes().undo_keep() end
      local level, reason = level_of(levels(), args)
      if level then changes().undo(level, range, reason) end
    end,
    desc = 'undo them, with a reason for the agent if one follows; `undo keep` takes the last keep back',
    complete = function() return vim.list_extend({ 'keep' }, levels()) end,
  },
  redo = { run = from('unkept.changes', 'redo'), desc = 'redo the last undo' },
  diff = {
    run = function(args)
      local level = args == '' and 'file' or level_of({ 'file', 'turn', 'agent', 'all' }, args)
      if level then require('fileops.list').diff(level) end
    end,
    desc = "the text without agents' changes beside the file: diff mode keeps and undoes",
    complete = function() return { 'file', 'turn', 'agent', 'all' } end,
  },
  changes = { run = from('list', 'open'), desc = 'list what waits, and all changes to keep or undo' },
  review = {
    run = function() require('fileops.review.view').enter() end,
    desc = 'go to the waiting review; from its text, file and proposal in diff mode',
  },
  accept = {
    run = decide(true),
    desc = 'accept the proposed change under the cursor, in a range, the file, all of its agent, or all',
    complete = function() return vim.list_extend({ 'always' }, review_levels()) end,
  },
  reject = {
    run = decide(false),
    desc = 'reject them, with a reason if one follows',
    complete = review_levels,
  },
  ask = {
    run = from('ask', 'choose'),
    desc = 'when edits of agents wait for you: each edit, protected files, never',
    complete = function() return require('fileops.ask').CHOICES end,
  },
  agents = { run = from('agents', 'open'), desc = 'the agents of this project' },
  history = {
    run = function(args, range) require('fileops.history').open(args, nil, range) end,
    desc = 'what was changed, to look at and undo; with a range: who wrote these lines',
    complete = 'file',
  },
  turns = { run = from('turns', 'open'), desc = 'what agents did, prompt by prompt, to undo' },
  follow = {
    run = from('follow', 'toggle'),
    desc = 'follow an agent, or stop following',
    complete = function() return require('fileops.follow').names() end,
  },
  restart = { run = from('client.process', 'restart'), desc = 'start the daemon, or start it again' },
  log = {
    run = function() vim.cmd.tabedit(vim.fn.fnameescape(require('fileops.log').path())) end,
    desc = "the daemon's log",
  },
  info = {
    run = function() vim.cmd('checkhealth fileops') end,
    desc = ':checkhealth fileops: the daemon, this project, what waits',
  },
}

--- The name that has most pairs of letters with a word in common; nil if less than half of them.
---@param names string[]
---@param word string
---@return string?
function M.nearest(names, word)
  local best, best_share = nil, 0.5
  for _, name in ipairs(names) do
    local n_common = 0
    for i = 1, #word - 1 do
      if name:find(word:sub(i, i + 1), 1, true) then n_common = n_common + 1 end
    end
    local share = n_common / math.max(1, #word - 1, #name - 1)
    if share >= best_share then
      best, best_share = name, share
    end
  end
  return best
end

---@param line { args: string, range?: integer, line1?: integer, line2?: integer }
function M.run(line)
  local name, args = line.args:match('^%s*(%S*)%s*(.-)%s*$')
  local subcommand = M.subcommands[name]
  if not subcommand then
    local names = vim.tbl_keys(M.subcommands)
    table.sort(names)
    local near = name ~= '' and vim.fn.matchfuzzy(names, name)[1] or M.nearest(names, name)
    local sentence = near and ('there is no :Fileops %s. Did you mean %s?'):format(name, near)
      or (name == '' and ':Fileops needs one of ' or name .. ' is none of ') .. table.concat(names, ', ')
    return require('fileops.ui.messages').error(sentence)
  end
  local has_range = (line.range or 0) > 0
  subcommand.run(args, has_range and { first = line.line1, last = line.line2 } or nil)
end

---@param lead string the word at the cursor
---@param line string
---@return string[]
function M.complete(lead, line)
  local name = line:match('Fileops%s+(%S+)%s')
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

-- <Plug>(fileops-…): the command line of each.
M.plugs = {
  ['keep-file'] = 'keep file',
  ['undo-file'] = 'undo file',
  ['accept-file'] = 'accept file',
  ['reject-file'] = 'reject file',
  review = 'review',
  changes = 'changes',
  diff = 'diff',
  redo = 'redo',
  author = 'history', -- of the line
}

function M.define()
  vim.api.nvim_create_user_command('Fileops', M.run, {
    nargs = '*',
    range = true,
    complete = M.complete,
    desc = "Decide on agents' edits: accept and reject before they are written, keep and undo after",
  })
  for name, line in pairs(M.plugs) do
    local lhs = ('<Plug>(fileops-%s)'):format(name)
    local function run()
      local here = vim.api.nvim_win_get_cursor(0)[1]
      M.run({ args = line, range = name == 'author' and 1 or 0, line1 = here, line2 = here })
    end
    vim.keymap.set(
      'n',
      lhs,
      run,
      { desc = 'fileops: ' .. (name == 'author' and 'who wrote this line' or line) }
    )
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
