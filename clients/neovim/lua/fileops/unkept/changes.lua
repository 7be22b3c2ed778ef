-- Changes of agents that are in the files and that no person has kept yet. The daemon's record has them; this asks for
-- those of each open buffer, has them marked there, and hands in what the person keeps or undoes.
local buffers = require('fileops.buffers')
local decision = require('fileops.unkept.decision')
local events = require('fileops.client.events')
local marks = require('fileops.unkept.marks')
local messages = require('fileops.ui.messages')
local protocol = require('fileops.client.protocol')
local text_keys = require('fileops.ui.text_keys')

local M = {}

local PAUSE_MS = 200 -- between two questions about one buffer; who types gets marks that move, and the answer after it

local is_served = false -- whether the daemon that is attached knows what is not kept
local timers = {} ---@type table<integer, uv.uv_timer_t> buffers about which a question is due
local asking = {} ---@type table<integer, boolean> buffers about which a question is on its way
local had_changes = {} ---@type table<integer, boolean> buffers that have, or had, a change that is not kept
local dismissed = {} ---@type table<integer, boolean> buffers whose marks the person took off
local last_undo ---@type string? the rewind that `redo` would undo

--- Whether the daemon reports what is not kept: then these marks are shown, in place of those of single edits.
---@return boolean
function M.is_served() return is_served end

local keys = {
  keep_change = function() M.keep('change') end,
  undo_change = function() M.undo('change') end,
  keep_file = function() M.keep('file') end,
  undo_file = function() M.undo('file') end,
  next_change = function() M.jump(1) end,
  previous_change = function() M.jump(-1) end,
}

---@param buf integer
---@param file fileops.wire.UnkeptFile?
local function draw(buf, file)
  local changes = file and file.changes or {}
  marks.draw(buf, dismissed[buf] and {} or changes, file and not dismissed[buf] and file.undone or {})
  if #changes > 0 then had_changes[buf] = true end
  if marks.has(buf) then
    text_keys.map(buf, 'unkept', keys)
  else
    text_keys.unmap(buf, 'unkept')
  end
end

--- Whether the lines that the daemon names are those of the buffer.
---@param buf integer
---@param file fileops.wire.UnkeptFile
---@return boolean
local function is_of_this_text(buf, file)
  if file.document_version then return file.document_version == vim.lsp.util.buf_versions[buf] end
  return not vim.bo[buf].modified -- one that is too large to be sent, or not reported yet
end

---@param buf integer
local function ask(buf)
  if not is_served or asking[buf] or not vim.api.nvim_buf_is_loaded(buf) or not buffers.is_file(buf) then
    return
  end
  asking[buf] = true
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local path = buffers.real(vim.api.nvim_buf_get_name(buf))
  require('fileops').request(protocol.methods.unkept, { file_path = path }, function(err, result)
    asking[buf] = nil
    if err then return require('fileops.log').note('what is not kept is unknown: ' .. err.message) end
    if not vim.api.nvim_buf_is_loaded(buf) then return end
    local file = result.files[1] ---@type fileops.wire.UnkeptFile?
    if vim.api.nvim_buf_get_changedtick(buf) ~= tick then return M.refresh(buf) end
    if not file or is_of_this_text(buf, file) then draw(buf, file) end -- else a notification follows
  end)
end

--- Ask again about a buffer, soon.
---@param buf integer
function M.refresh(buf)
  if not is_served then return end
  local timer = timers[buf] or assert(vim.uv.new_timer())
  timers[buf] = timer
  timer:start(
    PAUSE_MS,
    0,
    vim.schedule_wrap(function()
      if timers[buf] ~= timer then return end
      timers[buf] = nil
      timer:close()
      ask(buf)
    end)
  )
end

local function ask_all()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    ask(buf)
  end
end

--- What the daemon reports.
---@param event { file_path?: string } without a path: many files
function M.changed(event)
  if not event.file_path then return ask_all() end
  local buf = buffers.buffer_of(event.file_path)
  if not buf then return end
  dismissed[buf] = nil
  ask(buf)
end

--- A daemon has been attached.
---@param notifications string[] that it sends
function M.attached(notifications)
  is_served = vim.list_contains(notifications, 'fileops/didChangeUnkept') -- not one of this Neovim alone
  if is_served then ask_all() end
end

--- The daemon is out of reach: what is shown stays, as the changes do.
function M.lost() is_served = false end

---@param direction 1|-1
function M.jump(direction) text_keys.jump(marks.lines(vim.api.nvim_get_current_buf()), direction) end

--- Take the marks off, until something changes there.
---@param buf? integer all buffers without it
function M.dismiss(buf)
  for _, each in ipairs(buf and { buf } or vim.api.nvim_list_bufs()) do
    dismissed[each] = true
    draw(each, nil)
  end
end

function M.not_served() messages.info('this daemon does not know what is kept (:Fileops status)') end

---@param level string
---@param range? { first: integer, last: integer }
---@param act fun(ids: string[], n_files: integer)
local function with_changes(level, range, act)
  if not is_served then return M.not_served() end
  local buf = vim.api.nvim_get_current_buf()
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local function ids(changes)
    return vim.tbl_map(function(change) return change.change_id end, changes)
  end
  if level == 'change' or level == 'file' then
    local found = level == 'file' and marks.touched(buf)
      or marks.touched(buf, range and range.first or line, range and range.last or line)
    if #found == 0 then return messages.info('nothing to keep or undo here') end
    return act(ids(found), 1)
  end
  local here = marks.touched(buf, line, line)[1] or marks.touched(buf)[1]
  if level ~= 'all' and not here then return messages.info('nothing to keep or undo here') end
  require('fileops').request(protocol.methods.unkept, vim.empty_dict(), function(err, result)
    if err then return messages.failure(err) end
    local all, files = {}, {} ---@type string[], table<string, boolean>
    for _, session in ipairs(result.sessions) do
      local is_session = level ~= 'session' or session.session_id == here.session_id
      for _, turn in ipairs(is_session and session.turns or {}) do
        local is_turn = level ~= 'turn' or turn.turn_id == here.turn_id
        for _, file in ipairs(is_turn and turn.files or {}) do
          vim.list_extend(all, file.change_ids)
          files[file.file_path] = true
        end
      end
    end
    if #all == 0 then return messages.info('nothing to keep or undo') end
    act(all, vim.tbl_count(files))
  end)
end

--- What was decided here is done.
local function follow_up()
  ask_all()
  events.emit('unkept', {})
end

--- Keep these changes.
---@param ids string[]
function M.keep_ids(ids)
  decision.keep(ids, function(n_gone)
    follow_up()
    if n_gone == #ids then
      return messages.warn('nothing to keep: kept or undone already, or changed since')
    end
    local but = n_gone > 0 and ('; %d kept or undone already, or changed since'):format(n_gone) or ''
    messages.info(decision.counted(#ids - n_gone, 'change') .. ' kept' .. but)
  end)
end

---@param params table of a rewind
---@param what string for a message
---@param done fun(details: fileops.wire.RewindDetails)
local function rewind(params, what, done)
  decision.rewind(params, what, function(details)
    done(details)
    follow_up()
  end)
end

--- Undo these changes. Other text stays; what others wrote into a change leaves it as it is, and is named.
---@param ids string[]
---@param reason? string for the agents whose changes they are
function M.undo_ids(ids, reason)
  local what = 'the undo of ' .. decision.counted(#ids, 'change')
  rewind({ change_ids = ids, reason = reason }, what, function(details)
    last_undo = details.rewind_id or last_undo
    local n_left = #(details.conflicts or {})
    if n_left > 0 then
      return messages.warn(('%d left as they are: others changed them since'):format(n_left))
    end
    local where = decision.is_elsewhere(details) and 'in the unsaved text of another editor'
      or '(:Fileops redo takes that back)'
    messages.info(('%s undone %s'):format(decision.counted(#ids, 'change'), where))
  end)
end

--- Something was undone as a whole: `redo` is about that.
---@param rewind_id? string
function M.undone(rewind_id)
  last_undo = rewind_id or last_undo
  follow_up()
end

--- Undo these changes, after a question if they are in several files.
---@param ids string[]
---@param n_files? integer nil: not known
---@param reason? string for the agents whose changes they are
function M.undo_asked(ids, n_files, reason)
  if n_files == 1 and #ids == 1 then return M.undo_ids(ids, reason) end
  local where = n_files and (' in %d %s'):format(n_files, n_files == 1 and 'file' or 'files') or ''
  local what = ('Undo %s%s'):format(decision.counted(#ids, 'change'), where)
  local options = { prompt = 'Undo', kind = 'fileops.undo', format_item = tostring }
  vim.ui.select({ what, 'Leave them' }, options, function(choice)
    if choice == what then M.undo_ids(ids, reason) end
  end)
end

--- Redo what the last undo undid.
function M.redo()
  if not last_undo then return messages.info('nothing to redo here') end
  rewind({ rewind_id = last_undo }, 'restoring what was undone', function()
    last_undo = nil
    messages.info('the changes are there again')
  end)
end

---@param level 'change'|'file'|'turn'|'session'|'all'
---@param range? { first: integer, last: integer } lines, with "change"
function M.keep(level, range)
  with_changes(level, range, function(ids) M.keep_ids(ids) end)
end

---@param level 'change'|'file'|'turn'|'session'|'all'
---@param range? { first: integer, last: integer } lines, with "change"
---@param reason? string for the agents whose changes they are
function M.undo(level, range, reason)
  with_changes(level, range, function(ids, n_files)
    if level == 'change' or level == 'file' then return M.undo_ids(ids, reason) end
    M.undo_asked(ids, n_files, reason)
  end)
end

--- All that is not kept, as one line of the quickfix list for each change.
---@param since_s? integer seconds since the epoch: only what is newer
function M.quickfix(since_s)
  if not is_served then return M.not_served() end
  require('fileops').request(protocol.methods.unkept, vim.empty_dict(), function(err, result)
    if err then return messages.failure(err) end
    local items = {}
    for _, file in ipairs(result.files) do
      for _, change in ipairs(file.changes) do
        if not since_s or change.time >= since_s then
          items[#items + 1] = {
            filename = file.file_path,
            lnum = math.max(1, change.start_line),
            end_lnum = math.max(1, change.start_line, change.end_line),
            text = ('%s +%d −%d'):format(change.label, change.added, change.removed),
          }
        end
      end
    end
    if #items == 0 then
      return messages.info(since_s and 'nothing changed since you last looked' or 'nothing to keep or undo')
    end
    vim.fn.setqflist({}, ' ', { title = 'Changes to keep or undo', items = items })
    vim.cmd('copen')
  end)
end

--- What agents changed since the person last looked.
function M.since() M.quickfix(require('fileops.ui.notice').last_looked()) end

M.toggle_removed = marks.toggle_removed

local group = vim.api.nvim_create_augroup('fileops.unkept', {})
vim.api.nvim_create_autocmd('BufReadPost', {
  group = group,
  callback = function(event)
    marks.clear(event.buf)
    dismissed[event.buf] = nil
    ask(event.buf)
  end,
})
vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI' }, {
  group = group,
  callback = function(event)
    if had_changes[event.buf] then M.refresh(event.buf) end -- an undo, or a redo
  end,
})
vim.api.nvim_create_autocmd('BufUnload', {
  group = group,
  callback = function(event)
    marks.clear(event.buf)
    asking[event.buf], dismissed[event.buf], had_changes[event.buf] = nil, nil, nil
  end,
})

return M
