-- What a person may set, its defaults, and what is wrong with what was set. Settings come from `vim.g.fileops`
-- (a table, or a function that returns one) and from `require('fileops').setup{…}`, the latter winning; neither is
-- needed.
local M = {}

---@type fileops.Config
M.defaults = {
  cmd = false,
  root = false,
  autostart = 'project',
  shared = true,
  server = { ask = 'protected' },
  restart = { max = 3, within_s = 60, delay_s = 0.5 },
  pane = { layout = 'inline', height = 14, diff_after_edit = false, close_after_s = 10 },
  marks = { enabled = true, deleted = true, sign = '▎' },
  documents = { max_mb = 16 },
  review = { open = 'text', notice = true },
  stale = { virtual_text = true, sign = '!' },
  keys = {
    accept = 'a',
    always = 'A',
    reject = 'r',
    reject_because = 'R',
    accept_all = 'ga',
    reject_all = 'gr',
    toggle_change = '<Space>',
    accept_change = 'do',
    reject_change = 'dr',
    accept_file = 'dO',
    reject_file = 'dR',
    keep_change = 'dy',
    undo_change = 'du',
    keep_file = 'dY',
    undo_file = 'dU',
    edit = 'e',
    layout = 's',
    next_change = ']c',
    previous_change = '[c',
    next_review = ']r',
    previous_review = '[r',
    list = 'L',
    close = 'q',
    help = 'g?',
    undo = 'u',
    undo_session = 'U',
    refresh = 'R',
    mode = 'm',
    open = '<CR>',
  },
}

local choices = {
  autostart = { 'project', true, false },
  ['pane.layout'] = { 'inline', 'side_by_side' },
  ['review.open'] = { 'text', 'pane', 'focus', 'never' },
  ['server.freshness'] = { 'mtime', 'content', 'relevant' },
  ['server.notices'] = { 'off', 'details', 'output' },
  ['server.confine'] = { 'edits', 'all', 'off' },
  ['server.approval_mode'] = { 'default', 'auto_edit', 'yolo' },
  ['server.ask'] = { 'each_edit', 'protected', 'never' },
  ['server.hints'] = { 'off', 'details', 'output' },
  ['server.record'] = { 'on', 'edits', 'off' },
  ['server.notebooks'] = { 'refuse', 'text' },
  ['server.images'] = { 'attach', 'refuse' },
  ['server.history'] = { 'memory', 'persistent' },
}

--- Of `server`, by name: what Lua type each option has.
M.server_types = {
  freshness = 'string',
  confine = 'string',
  roots = 'table',
  approval_mode = 'string',
  ask = 'string',
  record = 'string',
  record_titles = 'boolean',
  notices = 'string',
  hints = 'string',
  texts = 'table',
  approval_timeout_s = 'number',
  review_grace_s = 'number',
  fill_empty_files = 'boolean',
  notebooks = 'string',
  history = 'string',
  limits = 'table',
  images = 'string',
  correction = 'boolean',
  correction_timeout_s = 'number',
  processors = 'table',
  validators = 'table',
  unreadable = 'table',
  encodings = 'table',
  filesystems = 'table',
  bash = 'boolean',
  code_lens = 'boolean',
}

-- Former names of settings, and of their values. They work as the present ones do, which win where both are set.
local former_names = {
  keys = { next_hunk = 'next_change', previous_hunk = 'previous_change', toggle_hunk = 'toggle_change' },
  pane = { show_edits = 'diff_after_edit' },
}
local former_values = { review = { open = { none = 'never' } } }

--- The same settings by their present names.
---@param user table
---@return table
local function renamed(user)
  local result = {}
  for key, value in pairs(user) do
    local names, values = former_names[key], former_values[key]
    if (names or values) and type(value) == 'table' then
      local section = {}
      for name, inner in pairs(value) do
        local present = names and names[name]
        if not present then
          local present_values = values and values[name]
          section[name] = present_values and present_values[inner] or inner
        elseif value[present] == nil then
          section[present] = inner
        end
      end
      value = section
    end
    result[key] = value
  end
  return result
end

local given = {} ---@type table what setup() was called with
local resolved ---@type fileops.Config?

---@param path string
---@param value any
---@return string?
local function bad_choice(path, value)
  local allowed = choices[path]
  if not allowed or vim.tbl_contains(allowed, value) then return nil end
  return ('%s: %s is none of %s'):format(path, vim.inspect(value), vim.iter(allowed):map(tostring):join(', '))
end

--- Everything that is wrong with a table of settings, one sentence each.
---@param user table
---@return string[]
function M.problems(user)
  local found = {}
  local function add(...) found[#found + 1] = (...):format(select(2, ...)) end
  local function check(path, value, default)
    local wanted = type(default)
    if path == 'autostart' then
      wanted = type(value) -- of several types: the choices decide
    elseif path == 'cmd' or path == 'root' then
      wanted = path == 'cmd' and 'table' or 'string'
      if value == false then return end
    elseif path:match('^keys%.') and value == false then
      return
    end
    if type(value) ~= wanted then
      add('%s: a %s is wanted, this is a %s', path, wanted, type(value))
    else
      found[#found + 1] = bad_choice(path, value)
    end
  end
  for key, value in vim.spairs(user) do
    local default = M.defaults[key]
    if default == nil then
      add('%s: no such setting', key)
    elseif key ~= 'cmd' and type(default) == 'table' then
      if type(value) ~= 'table' then
        add('%s: a table is wanted, this is a %s', key, type(value))
      else
        for name, inner in vim.spairs(value) do
          local path = key .. '.' .. name
          if key == 'server' then
            local wanted = M.server_types[name]
            if not wanted then
              add('%s: no such setting', path)
            elseif type(inner) ~= wanted then
              add('%s: a %s is wanted, this is a %s', path, wanted, type(inner))
            else
              found[#found + 1] = bad_choice(path, inner)
            end
          elseif default[name] == nil then
            add('%s: no such setting', path)
          else
            check(path, inner, default[name])
          end
        end
      end
    else
      check(key, value, default)
    end
  end
  return found
end

---@return table
local function from_global()
  local value = vim.g.fileops
  if type(value) == 'function' then value = value() end
  return type(value) == 'table' and renamed(value) or {}
end

--- What was set, without the defaults.
---@return table
function M.user() return vim.tbl_deep_extend('force', from_global(), given) end

---@param settings table
---@return string[] problems a setting that is wrong is left at its default
function M.set(settings)
  given, resolved = renamed(settings), nil
  return M.problems(given)
end

---@param user table
---@return table without what `problems` would name
local function sane(user)
  local kept = {}
  for key, value in pairs(user) do
    if key ~= 'cmd' and type(M.defaults[key]) == 'table' and type(value) == 'table' then
      kept[key] = {}
      for name, inner in pairs(value) do
        if #M.problems({ [key] = { [name] = inner } }) == 0 then kept[key][name] = inner end
      end
    elseif #M.problems({ [key] = value }) == 0 then
      kept[key] = value
    end
  end
  return kept
end

local told ---@type string? what was said last of `vim.g.fileops`

--- Says in one notice what is wrong, if anything is.
---@param problems string[]
function M.complain(problems)
  if #problems == 0 then return end
  local more = #problems > 1 and (' (and %d more: :checkhealth fileops)'):format(#problems - 1) or ''
  require('fileops.ui.messages').warn(problems[1] .. more)
end

--- The plugin is not called when `vim.g.fileops` is set, so what is wrong in it is reported when it is first read.
local function complain_of_global()
  local problems = M.problems(from_global())
  local now = table.concat(problems, '\n')
  if now == told then return end
  told = now
  vim.schedule(function() M.complain(problems) end)
end

---@return fileops.Config
function M.get()
  if not resolved then
    resolved = vim.tbl_deep_extend('force', M.defaults, sane(M.user()))
    complain_of_global()
  end
  return resolved
end

--- Read the settings again at the next `get`.
function M.forget() resolved = nil end

return M
