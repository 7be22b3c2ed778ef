-- Agents' changes that are in the files and that no person has kept yet. The daemon's record has them; this asks for
-- those of each open buffer, has them marked there, and sends what the person keeps or undoes.
local buffers = require('fileops.buffers')
local config = require('fileops.config')
local decision = require('fileops.unkept.decision')
local events = require('fileops.client.events')
local marks = require('fileops.unkept.marks')
local messages = require('fileops.ui.messages')
local protocol = require('fileops.client.protocol')
local text_keys = require('fileops.ui.text_keys')
local typing = require('fileops.unkept.typing')

local counted = decision.counted

local M = {}

M.LEVELS = { 'change', 'file', 'turn', 'agent', 'all' }

local N_RECENT = 200 -- changes by the person, among which their last undo is looked for
local PAUSE_MS = 200 -- between two questions about one buffer
local TYPING_PAUSE_MS = 500 -- without a key, before a buffer is asked about; marks move while the person types
local LONGEST_MS = 5000 -- after which it is asked about although the person is still typing

-- Without a key, before a buffer is asked about in which only lines beside its changes were typed in. Their marks have
-- moved, and the daemon lists others only if what an agent had written was typed again. A test sets it.
M.beside_pause_ms = 5000

local MANY_FILES = 10 -- if there are more, they are named before they are kept or undone

local is_served = false -- whether the attached daemon knows what is not kept
local timers = {} ---@type table<integer, uv.uv_timer_t> buffers about which a question is due
-- By buffer, if it was typed in since it was last asked about: when the last key was typed, and when the first one that
-- may change what the daemon lists, as `vim.uv.now()` has it.
local typed = {} ---@type table<integer, { last: integer, since?: integer }>
local asked_tick = {} ---@type table<integer, integer> `changedtick` of the text that was last asked about
-- Buffers with an unanswered question; "again" if something has been reported since it was asked.
local asking = {} ---@type table<integer, 'once'|'again'>
local listed = {} ---@type table<integer, fileops.wire.UnkeptFile> what is not kept, by buffer
local had_changes = {} ---@type table<integer, boolean> buffers that have, or had, a change that is not kept
local undos, keeps = {}, {} ---@type string[], string[] ids of what was decided here, the newest last

--- Whether the daemon reports what is not kept. A daemon of this Neovim alone does not.
---@return boolean
function M.is_served() return is_served end

--- If a fold hides what a key would decide, show it, and decide nothing.
---@param act fun(level: string)
local function on_seen(act)
  return function()
    local buf, line = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1]
    for _, mark in ipairs(marks.of_buffer(buf)) do
      local first, last = marks.place_of(buf, mark)
      if first <= line and line <= last and not text_keys.are_seen(first, last) then
        return messages.info('this change was in a fold: look at it, and press the key again')
      end
    end
    act('change')
  end
end

--- Keep the change under the cursor; if there is none, all changes of the file.
local function keep_here()
  local buf = vim.api.nvim_get_current_buf()
  local is_at_change = marks.at(buf, vim.api.nvim_win_get_cursor(0)[1]) ~= nil
  M.keep(is_at_change and 'change' or 'file')
end

local keys = {
  keep = on_seen(keep_here),
  undo = on_seen(function(level) M.undo(level) end),
  beyond = function(direction) M.go_to_file(direction) end,
}

local counts = { n_changes = 0, n_files = 0 }
local counting ---@type uv.uv_timer_t?

--- Count what is to keep or undo in the project, soon, for the status line.
local function count()
  if counting or not is_served then return end
  counting = assert(vim.uv.new_timer())
  counting:start(
    PAUSE_MS,
    0,
    vim.schedule_wrap(function()
      if counting then counting:close() end
      counting = nil
      if not is_served then return end
      require('fileops').request(protocol.methods.unkept, vim.empty_dict(), function(err, result)
        if err or (counts.n_changes == result.n_changes and counts.n_files == result.n_files) then return end
        counts = { n_changes = result.n_changes, n_files = result.n_files }
        events.emit('status', {})
        vim.cmd.redrawstatus({ bang = true })
      end)
    end)
  )
end

---@param buf integer
---@param file fileops.wire.UnkeptFile?
local function draw(buf, file)
  local n_before, n_now = #(listed[buf] or { changes = {} }).changes, #(file or { changes = {} }).changes
  if n_before ~= n_now then count() end
  listed[buf] = file
  marks.draw(buf, file and file.changes or {}, file and file.undone or {})
  if file and #file.changes > 0 then
    had_changes[buf] = true
    typing.follow(buf)
  end
  if marks.has(buf) then
    require('fileops.unkept.introduction').marked()
    text_keys.map(buf, 'unkept', keys, marks.lines)
  else
    text_keys.unmap(buf, 'unkept')
    if had_changes[buf] then text_keys.map_beyond(buf, keys.beyond) end
  end
  marks.name_author(buf)
  require('fileops.unkept.diff').refresh(buf)
end

--- Whether the lines that the daemon names are those of the buffer.
---@param buf integer
---@param file fileops.wire.UnkeptFile
---@return boolean
local function is_of_this_text(buf, file)
  if file.document_version then return file.document_version == vim.lsp.util.buf_versions[buf] end
  return not vim.bo[buf].modified -- a buffer that is too large to be sent, or not reported yet
end

--- A renamed file, compared with its text under the old name; otherwise all of it would be new.
---@param file fileops.wire.UnkeptFile?
---@param act fun(file: fileops.wire.UnkeptFile?)
local function with_old_text(file, act)
  local change = file and file.moved_from and #file.changes == 1 and file.changes[1]
  if not file or not change or change.removed_text ~= '' then return act(file) end
  require('fileops').request(protocol.methods.unkept, { file_path = file.moved_from }, function(err, result)
    local old = not err and result.files[1] ---@type fileops.wire.UnkeptFile?
    if old and old.operation == 'delete' and old.changes[1] then
      change.removed_text = old.changes[1].removed_text
    end
    act(file)
  end)
end

---@param buf integer
local function stop_timer(buf)
  local timer = timers[buf]
  timers[buf] = nil
  if timer then timer:close() end
end

---@param buf integer
local function ask(buf)
  stop_timer(buf)
  typed[buf] = nil
  if not is_served or not vim.api.nvim_buf_is_loaded(buf) or not buffers.is_file(buf) then return end
  asking[buf] = asking[buf] and 'again' or 'once'
  if asking[buf] == 'again' then return end
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  asked_tick[buf] = tick
  local path = buffers.real(vim.api.nvim_buf_get_name(buf))
  require('fileops').request(protocol.methods.unkept, { file_path = path }, function(err, result)
    local is_outdated = asking[buf] == 'again'
    asking[buf] = nil
    if is_outdated then ask(buf) end
    if err then return require('fileops.log').note('what is not kept is unknown: ' .. err.message) end
    with_old_text(result.files[1], function(file)
      if not vim.api.nvim_buf_is_loaded(buf) then return end
      if vim.api.nvim_buf_get_changedtick(buf) ~= tick then return M.refresh(buf) end
      if not file or is_of_this_text(buf, file) then return draw(buf, file) end
      asked_tick[buf] = nil -- a notification follows
    end)
  end)
end

--- How long a question still waits for the person, who may have typed since it was due.
---@param buf integer
---@return integer milliseconds
local function rest_of_pause(buf)
  local stroke = typed[buf]
  if not stroke then return 0 end
  local due = stroke.last + M.beside_pause_ms
  if stroke.since then due = math.min(stroke.last + TYPING_PAUSE_MS, stroke.since + LONGEST_MS) end
  return due - vim.uv.now()
end

---@param buf integer
---@param pause_ms integer without another call
local function ask_after(buf, pause_ms)
  local timer = timers[buf] or assert(vim.uv.new_timer())
  timers[buf] = timer
  timer:start(
    pause_ms,
    0,
    vim.schedule_wrap(function()
      if timers[buf] ~= timer then return end
      local rest_ms = rest_of_pause(buf)
      if rest_ms > 0 then return ask_after(buf, rest_ms) end
      ask(buf)
    end)
  )
end

--- Whether no question about a buffer is due or without an answer.
---@param buf integer
---@return boolean
function M.is_settled(buf) return not timers[buf] and not asking[buf] end

--- Ask again about a buffer, soon.
---@param buf integer
function M.refresh(buf)
  if not is_served then return end
  if typed[buf] then typed[buf].since = typed[buf].since or vim.uv.now() end
  ask_after(buf, PAUSE_MS)
end

--- Whether the daemon may list something else after what the person has just typed.
---@param buf integer
---@return boolean
local function may_differ(buf)
  local has_marks = marks.has(buf) or #(listed[buf] or { changes = {} }).changes == 0
  return typing.take(buf) or not has_marks
end

--- Ask again about a buffer once the person has not typed in it for a while. For each key, so it only takes note of it
--- while a question is due.
---@param buf integer
local function refresh_after_typing(buf)
  if not is_served then return end
  local now = vim.uv.now()
  local stroke = typed[buf] or {}
  typed[buf], stroke.last = stroke, now
  typing.note_newest(buf)
  if may_differ(buf) and not stroke.since then
    stroke.since = now
    ask_after(buf, TYPING_PAUSE_MS)
  elseif not timers[buf] then
    ask_after(buf, M.beside_pause_ms)
  end
end

local function ask_all()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    ask(buf)
  end
end

--- What is to keep or undo in the project, as all lists count it: "11 changes in 7 files"; "" for nothing.
---@return string
function M.summary()
  if not is_served or counts.n_changes == 0 then return '' end
  return counted(counts.n_changes, 'change') .. ' in ' .. counted(counts.n_files, 'file')
end

--- The name that an agent changed.
---@param buf integer
---@return string? path
function M.old_name(buf) return listed[buf] and #listed[buf].changes > 0 and listed[buf].moved_from or nil end

--- What the daemon reports.
---@param event fileops.wire.DidChangeUnkeptParams without a path: many files
function M.changed(event)
  local buf = event.file_path and buffers.buffer_of(event.file_path)
  if buf and event.typed then -- here, and asked about when the person pauses, or already
    local is_asked = vim.bo[buf].modified and asked_tick[buf] == vim.api.nvim_buf_get_changedtick(buf)
    if timers[buf] or is_asked then return end
  end
  if buf and typed[buf] then return M.refresh(buf) end -- when the person pauses
  count()
  if not event.file_path then return ask_all() end
  if buf then ask(buf) end
end

--- A daemon has been attached.
---@param notifications string[] that it sends
function M.attached(notifications)
  is_served = vim.list_contains(notifications, 'fileops/didChangeUnkept') -- not one of this Neovim alone
  if is_served then
    ask_all()
    count()
  end
end

--- The daemon cannot be reached: what is shown stays, as the changes do.
function M.lost() is_served = false end

--- Ask for everything in this project that is not kept.
---@param act fun(result: fileops.wire.UnkeptResult)
function M.fetch(act)
  if not is_served then
    local state = require('fileops.client.process').state
    local problem = state.status == 'running' and 'this daemon keeps no record of changes'
      or state.problem
      or 'the daemon is out of reach'
    return messages.info(problem .. ' (:Fileops info)')
  end
  require('fileops').request(protocol.methods.unkept, vim.empty_dict(), function(err, result)
    if err then return messages.failure(err) end
    act(result)
  end)
end

--- Which changes a level means.
---@param level 'turn'|'agent'|'all'
---@param here fileops.wire.UnkeptChange? the change whose turn or agent is meant
---@return fun(change: fileops.wire.UnkeptChange): boolean
function M.scope(level, here)
  return function(change)
    if level == 'all' then return true end
    local is_same_agent = here and change.session_id == here.session_id and change.label == here.label
    return is_same_agent and (level == 'agent' or change.turn_id == here.turn_id) or false
  end
end

---@param files fileops.wire.UnkeptFile[]
---@param is_meant fun(change: fileops.wire.UnkeptChange): boolean
---@return fileops.UnkeptTarget
local function target_of(files, is_meant)
  local target = { ids = {}, n_changes = 0, n_files = 0 } ---@type fileops.UnkeptTarget
  local agents = {} ---@type table<string, boolean>
  local old_names = {} ---@type table<string, boolean> a rename counts as one change, of the new name
  for _, file in ipairs(files) do
    if file.moved_from and #file.changes > 0 then old_names[file.moved_from] = true end
  end
  for _, file in ipairs(files) do
    local is_old_name = file.operation == 'delete' and old_names[file.file_path]
    local meant = vim.tbl_filter(is_meant, file.changes)
    for _, change in ipairs(meant) do
      table.insert(target.ids, change.change_id)
      agents[change.label] = true
    end
    if #meant > 0 and not is_old_name then
      target.n_changes, target.n_files = target.n_changes + #meant, target.n_files + 1
    end
  end
  target.agents = vim.tbl_keys(agents)
  table.sort(target.agents)
  return target
end

--- Go to the next file with changes, or with -1 to the previous one, and to its first or last change; wraps around.
---@param direction 1|-1
function M.go_to_file(direction)
  M.fetch(function(result)
    local here = buffers.real(vim.api.nvim_buf_get_name(0))
    local files = vim.tbl_filter(
      function(file) return #file.changes > 0 and file.operation ~= 'delete' end,
      result.files
    )
    if direction == -1 then files = vim.iter(files):rev():totable() end
    local after = vim.tbl_filter(function(file)
      if direction == 1 then return file.file_path > here end
      return file.file_path < here
    end, files)
    local file = after[1] or files[1] ---@type fileops.wire.UnkeptFile?
    if not file then return messages.info('nothing to keep or undo') end
    vim.cmd("normal! m'")
    if file.file_path ~= here then vim.cmd.edit(vim.fn.fnameescape(file.file_path)) end
    local change = file.changes[direction == 1 and 1 or #file.changes]
    text_keys.put_cursor(math.max(1, change.start_line))
    messages.info(buffers.short(file.file_path))
  end)
end

--- The change under the cursor, else the first one in the buffer.
---@return fileops.wire.UnkeptChange?
function M.here()
  local buf, line = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1]
  return marks.touched(buf, line, line)[1] or (listed[buf] or { changes = {} }).changes[1]
end

---@param level string
---@param range? { first: integer, last: integer }
---@param act fun(target: fileops.UnkeptTarget)
local function with_target(level, range, act)
  if not is_served then
    return M.fetch(function() end)
  end
  local buf, line = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1]
  local here = M.here()
  if level ~= 'all' and not here then
    return messages.info('nothing to keep or undo in this file (:Fileops changes lists all)')
  end
  local all = M.scope('all')
  if level == 'file' then return act(target_of({ listed[buf] }, all)) end
  if level == 'change' then
    local found = marks.touched(buf, range and range.first or line, range and range.last or line)
    if #found == 0 then
      local key = marks.has(buf) and not range and config.get().keys.next
      local way = key and ('; %s goes to the next change'):format(key) or ''
      return messages.info('nothing to keep or undo here' .. way)
    end
    return act(target_of({ { changes = found } }, all))
  end
  M.fetch(function(result)
    local target = target_of(result.files, M.scope(level, here))
    if #target.ids == 0 then return messages.info('nothing to keep or undo') end
    act(target)
  end)
end

--- Ask for confirmation first if many files, or all changes of several agents, are decided.
---@param verb 'Keep'|'Undo'
---@param level string
---@param target fileops.UnkeptTarget
---@param act fun()
local function confirmed(verb, level, target, act)
  local is_of_several = level == 'all' and #target.agents > 1
  if target.n_files <= MANY_FILES and not is_of_several then return act() end
  local what = ('%s %s in %s, of %s'):format(
    verb,
    counted(target.n_changes, 'change'),
    counted(target.n_files, 'file'),
    table.concat(target.agents, ', ')
  )
  local options = { prompt = verb, kind = 'fileops.' .. verb:lower(), format_item = tostring }
  vim.ui.select({ what, 'Leave them' }, options, function(choice)
    if choice == what then act() end
  end)
end

--- What was decided here is done.
local function follow_up()
  ask_all()
  events.emit('unkept', {})
end

--- Keep these changes.
---@param ids string[]
---@param done? fun(keep_id: string?)
---@param n_changes? integer as lists count them
function M.keep_ids(ids, done, n_changes)
  decision.keep(ids, function(n_kept, keep_id)
    keeps[#keeps + 1] = keep_id
    follow_up()
    if done then done(keep_id) end
    if not n_kept then return end
    if n_kept == 0 then return messages.warn('nothing to keep: kept or undone already, or changed since') end
    local n_gone = #ids - n_kept
    local but = n_gone > 0 and ('; %d kept or undone already, or changed since'):format(n_gone)
      or ' (:Fileops undo keep takes that back)'
    messages.info(counted(n_gone > 0 and n_kept or n_changes or n_kept, 'change') .. ' kept' .. but)
  end)
end

--- Undo these changes. Other text stays; a change into which others wrote is left, and named.
---@param ids string[]
---@param reason? string for the agents whose changes they are
---@param n_changes? integer as lists count them
function M.undo_ids(ids, reason, n_changes)
  local params = { change_ids = ids, reason = reason }
  local what = counted(n_changes or #ids, 'change')
  decision.rewind(params, 'the undo of ' .. what, function(details)
    M.undone(details.rewind_id)
    local n_left = #(details.conflicts or {})
    if n_left > 0 then
      return messages.warn(('%d left as they are: others changed them since'):format(n_left))
    end
    local where = decision.is_elsewhere(details) and 'in the unsaved text of another editor'
      or '(:Fileops redo takes that back)'
    messages.info(('%s undone %s'):format(what, where))
  end)
end

--- Something was undone: `redo` refers to that.
---@param rewind_id? string
function M.undone(rewind_id)
  undos[#undos + 1] = rewind_id
  follow_up()
end

--- The person's newest undo in the project that is in force and is not itself a redo: made before a restart, or
--- elsewhere.
---@param act fun(rewind_id: string?)
local function find_undo(act)
  local request = require('fileops').request
  request('fileops/log', { by = 'person', limit = N_RECENT }, function(err, result)
    if err then return messages.failure(err) end
    local entries = vim.tbl_filter(
      function(entry) return entry.rewind_id and not entry.undone_by end,
      result.entries
    )
    local function look(n)
      local entry = entries[n]
      if not entry or not entry.undoes[1] then return act(entry and entry.rewind_id) end
      request('fileops/entry', { entry_id = entry.undoes[1] }, function(problem, found)
        if problem then return messages.failure(problem) end
        local is_redo = found.entry.rewind_id or #found.entry.undoes > 0
        if is_redo then return look(n + 1) end
        act(entry.rewind_id)
      end)
    end
    look(1)
  end)
end

--- Redo what the last undo undid.
function M.redo()
  decision.when_answered(function()
    local own = undos[#undos]
    if own then return M.redo_of(own) end
    if not is_served then return messages.info('nothing to redo here') end
    find_undo(function(rewind_id)
      if rewind_id then return M.redo_of(rewind_id) end
      messages.info('nothing to redo here')
    end)
  end)
end

---@param rewind_id string of an undo
function M.redo_of(rewind_id)
  decision.rewind({ rewind_id = rewind_id }, 'restoring what was undone', function()
    if undos[#undos] == rewind_id then table.remove(undos) end
    follow_up()
    messages.info('the changes were redone')
  end)
end

--- Take the last keep back.
---@param keep_id? string another one than the last
---@param done? fun()
function M.undo_keep(keep_id, done)
  decision.when_answered(function()
    local wanted = keep_id or keeps[#keeps]
    if not wanted and not is_served then return messages.info('nothing was kept here') end
    decision.undo_keep(wanted, function(n_changes)
      if not n_changes then return done and done() end
      keeps = vim.tbl_filter(function(each) return each ~= wanted end, keeps)
      follow_up()
      if done then done() end
      messages.info(counted(n_changes, 'change') .. ' to keep or undo again')
    end)
  end)
end

---@param level 'change'|'file'|'turn'|'agent'|'all'
---@param range? { first: integer, last: integer } lines, with "change"
function M.keep(level, range)
  with_target(level, range, function(target)
    confirmed('Keep', level, target, function() M.keep_ids(target.ids, nil, target.n_changes) end)
  end)
end

---@param level 'change'|'file'|'turn'|'agent'|'all'
---@param range? { first: integer, last: integer } lines, with "change"
---@param reason? string for the agents whose changes they are
function M.undo(level, range, reason)
  with_target(level, range, function(target)
    confirmed('Undo', level, target, function() M.undo_ids(target.ids, reason, target.n_changes) end)
  end)
end

local group = vim.api.nvim_create_augroup('fileops.unkept', {})
vim.api.nvim_create_autocmd(
  { 'BufReadPost', 'BufNewFile' },
  { -- a new buffer may be of a file that an agent deleted
    group = group,
    callback = function(event)
      marks.clear(event.buf)
      ask(event.buf)
    end,
  }
)
vim.api.nvim_create_autocmd({ 'CursorMoved', 'CursorMovedI', 'BufEnter' }, {
  group = group,
  callback = function(event)
    if had_changes[event.buf] then marks.name_author(event.buf) end
  end,
})
vim.api.nvim_create_autocmd('TextChanged', {
  group = group,
  callback = function(event)
    local buf = event.buf
    if not had_changes[buf] then return end
    local is_due = may_differ(buf)
    if typing.note_newest(buf) or is_due then
      typed[buf] = nil
      M.refresh(buf)
    elseif is_served and not timers[buf] then
      ask_after(buf, M.beside_pause_ms)
    end
  end,
})
vim.api.nvim_create_autocmd('TextChangedI', {
  group = group,
  callback = function(event)
    if had_changes[event.buf] then refresh_after_typing(event.buf) end
  end,
})
vim.api.nvim_create_autocmd('BufUnload', {
  group = group,
  callback = function(event)
    local buf = event.buf
    marks.clear(buf)
    stop_timer(buf)
    asking[buf], listed[buf], had_changes[buf] = nil, nil, nil
    typed[buf], asked_tick[buf] = nil, nil
  end,
})

return M
