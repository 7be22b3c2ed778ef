-- Everything that an agent does, done by a person from the command line: read, preview, edit, look at the state.
local buffers = require('fileops.buffers')
local float = require('fileops.ui.float').open
local messages = require('fileops.ui.messages')

local M = {}

M.SESSION = 'by-hand'

---@return fileops.Session
local function session() return require('fileops').session(M.SESSION) end

---@param path? string
---@return string?
local function target(path)
  if path and path ~= '' then return buffers.absolute(path) end
  local name = vim.api.nvim_buf_get_name(0)
  if not buffers.is_file(0) or name == '' then
    messages.error('this buffer is no file; name one')
    return nil
  end
  return name
end

--- Why a tool failed, with what to do where that is a matter of the editor.
---@param problem { code: string, message: string }
---@return string
function M.reason(problem)
  if problem.code ~= 'outside_roots' then return problem.message end
  local root = vim.fn.fnamemodify(require('fileops.client.process').state.root or '', ':~')
  return ('outside of %s; `:cd` to its project, then :Fileops restart'):format(root)
end

--- Calls on with the result of a success; says what went wrong otherwise.
---@param done fun(result: fileops.wire.ToolResult)
---@return fileops.Callback
local function succeeding(done)
  return function(err, result)
    if err then return messages.failure(err) end
    if result.status == 'error' then return messages.error(M.reason(result.error)) end
    done(result)
  end
end

--- The file as an agent reads it.
---@param path? string
function M.read(path)
  local file_path = target(path)
  if not file_path then return end
  session():read(
    { file_path = file_path },
    succeeding(function(result)
      local lines = vim.split(result.output, '\n', { plain = true })
      local details = result.details
      local of = details.source == 'buffer' and 'the open buffer' or 'disk'
      local call = { method = 'fileops/read', arguments = { file_path = file_path } }
      require('fileops').request('fileops/render', call, function(err, view)
        local name = err and buffers.short(file_path) or view.call:gsub('^read ', '')
        float(('%s · %s lines from %s'):format(name, details.total_lines or 'many', of), lines)
      end)
    end)
  )
end

---@param text string
---@param done fun(substitution: fileops.Substitution)
local function ask_for(text, done)
  if text ~= '' then
    local parsed, problem = require('fileops.substitute').parse(text)
    if not parsed then
      return messages.error(problem --[[@as string]])
    end
    return done(parsed)
  end
  vim.ui.input({ prompt = 'Replace: ' }, function(old)
    if not old then return end
    vim.ui.input({ prompt = 'With: ', default = old }, function(new)
      if new then done({ old = old, new = new, all = false }) end
    end)
  end)
end

--- An agent must have read what it edits; by hand that is done on the way.
---@param text string
---@param dry_run boolean
---@param done fun(result: fileops.wire.ToolResult)
local function edit(text, dry_run, done)
  local file_path = target()
  if not file_path then return end
  ask_for(text, function(substitution)
    local params = {
      file_path = file_path,
      old_string = substitution.old,
      new_string = substitution.new,
      replace_all = substitution.all,
      dry_run = dry_run,
    }
    session():read(
      { file_path = file_path, limit = 1 },
      succeeding(function() session():edit(params, succeeding(done)) end)
    )
  end)
end

---@param text string `/old/new/` or nothing to be asked
function M.preview(text)
  edit(text, true, function(result)
    if result.ui_extra then require('fileops.ui.last_edit').show(result.ui_extra, 'Preview') end
  end)
end

---@param text string
function M.edit(text)
  edit(text, false, function(result)
    if result.ui_extra then
      messages.info(
        ('%s %s'):format(
          buffers.short(result.ui_extra.file_path),
          require('fileops.ui.hunks').summary(result.ui_extra.stats)
        )
      )
    end
  end)
end

function M.tools()
  require('fileops').tools(function(err, result)
    if err then return messages.failure(err) end
    local lines = {}
    for _, tool in ipairs(result.tools) do
      vim.list_extend(lines, { tool.name .. '  (' .. tool.method .. ')' })
      vim.list_extend(lines, vim.split(tool.description, '\n', { plain = true }))
      lines[#lines + 1] = ''
    end
    float('tools', lines)
  end)
end

---@param state fileops.State
---@return string
local function shared_state(state)
  if state.shared then return ('yes, by %s'):format(state.shared.socket) end
  return state.private_reason and 'no: ' .. state.private_reason or 'no'
end

--- What is known of the daemon, the sessions and the files they have read.
function M.status()
  local daemon = require('fileops.client.process')
  local state = daemon.state
  local server = state.server
  local names = require('fileops').sessions()
  for _, entry in ipairs(require('fileops.sessions').list()) do
    local name = require('fileops.sessions').label(entry)
    if entry.connected and not vim.list_contains(names, name) then table.insert(names, name) end
  end
  local lines = {
    ('daemon    %s%s'):format(state.status, state.problem and ': ' .. state.problem or ''),
    ('command   %s'):format(
      state.cmd and ('%s (%s)'):format(table.concat(state.cmd, ' '), state.from) or '–'
    ),
    ('version   %s'):format(server and ('%s %s'):format(server.name, server.version or '') or '–'),
    ('shared    %s'):format(shared_state(state)),
    ('root      %s'):format(state.root or daemon.root()),
    ('watching  %s'):format(state.health and state.health.state or 'ok'),
    ('reviews   %d waiting'):format(#require('fileops.review.queue').waiting()),
    ('sessions  %s'):format(#names > 0 and table.concat(names, ', ') or '–'),
  }
  local stale = require('fileops.ui.stale').all()
  for path, sentence in vim.spairs(stale) do
    lines[#lines + 1] = ('stale     %s: %s'):format(buffers.short(path), sentence)
  end
  float('fileops', lines)
end

--- What a session has read, and whether it still knows it.
---@param id? string
function M.tracked(id)
  local params = { session_id = id and id ~= '' and id or M.SESSION }
  require('fileops').tracked(params, function(err, result)
    if err then return messages.failure(err) end
    local lines = vim.tbl_map(
      function(file)
        return ('%-6s %s%s'):format(
          file.state,
          buffers.short(file.file_path),
          file.reason and '  ' .. file.reason or ''
        )
      end,
      result.files
    )
    float(
      'read by ' .. require('fileops.sessions').name(params.session_id),
      #lines > 0 and lines or { 'nothing yet' }
    )
  end)
end

--- The sessions whose edits may have to wait: those that are open here, the person's, and that of who names none.
---@return string[]
local function all_sessions()
  local ids = { M.SESSION, 'default' }
  for _, id in ipairs(require('fileops').sessions()) do
    if not vim.list_contains(ids, id) then table.insert(ids, id) end
  end
  return ids
end

---@param modes table<string, string> by session
local function say_modes(modes)
  local ids = vim.tbl_keys(modes)
  table.sort(ids)
  local name = require('fileops.sessions').name
  local each = vim.tbl_map(function(id) return ('%s (%s)'):format(modes[id], name(id)) end, ids)
  local are_all_one = #ids > 1 and vim.iter(ids):all(function(id) return modes[id] == modes[ids[1]] end)
  messages.info('approval mode: ' .. (are_all_one and modes[ids[1]] or table.concat(each, ', ')))
end

--- Of one session, or of all that are open here.
---@param args string "" to show the modes, else a mode and perhaps a session's id
function M.mode(args)
  local mode, session_id = args:match('^(%S*)%s*(.*)$')
  M.set_mode(session_id ~= '' and session_id or nil, mode)
end

---@param session_id? string without it, all that are open here
---@param mode string "" to show the modes
function M.set_mode(session_id, mode)
  local names = require('fileops.client.protocol').methods
  local ids, modes, problem, n_answers = session_id and { session_id } or all_sessions(), {}, nil, 0
  for _, id in ipairs(ids) do
    local method = mode == '' and names.approval_mode or names.set_approval_mode
    local params = { session_id = id, mode = mode ~= '' and mode or nil }
    require('fileops').request(method, params, function(err, result)
      n_answers = n_answers + 1
      if err then
        problem = err.message
      else
        modes[id] = result.mode
      end
      if n_answers < #ids then return end
      if problem then return messages.error(problem) end
      say_modes(modes)
    end)
  end
end

return M
