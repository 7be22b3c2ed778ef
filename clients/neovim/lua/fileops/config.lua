-- A person's settings, their defaults, and what is wrong with them. They come from `vim.g.fileops` (a table, or a
-- function that returns one) and from `require("fileops").setup{…}`, which takes precedence; neither is needed. Options
-- of the daemon are in `server`; the daemon checks them.
local M = {}

---@type fileops.Config
M.defaults = {
  cmd = false,
  root = false,
  autostart = 'project',
  shared = true,
  server = {},
  max_mb = 16,
  marks = true,
  sign = '▎',
  notice = true,
  unsaved = 'keep',
  keys = {
    accept = 'do',
    reject = 'dr',
    keep = 'dy',
    undo = 'du',
    next = ']c',
    previous = '[c',
  },
}

-- Types of the settings that are not of the type of their default.
local types = {
  cmd = { 'table', 'boolean' },
  root = { 'string', 'boolean' },
  autostart = { 'string', 'boolean' },
}

local choices = {
  cmd = { false },
  root = { false },
  autostart = { 'project', true, false },
  unsaved = { 'keep', 'save' },
}

local given = {} ---@type table what setup() was called with
local resolved ---@type fileops.Config?

---@param path string
---@param value any
---@param wanted string[] Lua types
---@return string? what is wrong with it
local function type_problem(path, value, wanted)
  if vim.list_contains(wanted, type(value)) then return nil end
  return ('%s: a %s is wanted, this is a %s'):format(path, table.concat(wanted, ' or '), type(value))
end

---@param name string
---@param value any
---@return string? what is wrong with it
local function choice_problem(name, value)
  local allowed = choices[name]
  local is_free = (name == 'cmd' or name == 'root') and type(value) ~= 'boolean'
  if not allowed or is_free or vim.list_contains(allowed, value) then return nil end
  return ('%s: %s is none of %s'):format(
    name,
    vim.inspect(value),
    table.concat(vim.tbl_map(tostring, allowed), ', ')
  )
end

---@param keys table
---@return string[]
local function key_problems(keys)
  local found = {} ---@type string[]
  for name, key in vim.spairs(keys) do
    local path = 'keys.' .. name
    if M.defaults.keys[name] == nil then
      found[#found + 1] = path .. ': no such setting'
    elseif key ~= false then
      found[#found + 1] = type_problem(path, key, { 'string' })
    end
  end
  return found
end

--- Everything that is wrong with a table of settings, one sentence each.
---@param user table
---@return string[]
function M.problems(user)
  local found = {} ---@type string[]
  for name, value in vim.spairs(user) do
    local default = M.defaults[name]
    local problem
    if default == nil then
      problem = name .. ': no such setting'
    else
      problem = type_problem(name, value, types[name] or { type(default) }) or choice_problem(name, value)
    end
    found[#found + 1] = problem
    if name == 'keys' and not problem then vim.list_extend(found, key_problems(value)) end
  end
  return found
end

---@return table
local function from_global()
  local value = vim.g.fileops
  if type(value) == 'function' then value = value() end
  return type(value) == 'table' and value or {}
end

--- What was set, without the defaults.
---@return table
function M.user() return vim.tbl_deep_extend('force', from_global(), given) end

---@param settings table
---@return string[] problems a setting that is wrong is left at its default
function M.set(settings)
  given, resolved = settings, nil
  return M.problems(given)
end

---@param user table
---@return table without what `problems` would name
local function sane(user)
  local kept = {}
  for name, value in pairs(user) do
    if name == 'keys' and type(value) == 'table' then
      kept.keys = {}
      for key_name, key in pairs(value) do
        if #key_problems({ [key_name] = key }) == 0 then kept.keys[key_name] = key end
      end
    elseif #M.problems({ [name] = value }) == 0 then
      kept[name] = value
    end
  end
  return kept
end

local told ---@type string? what was said last of `vim.g.fileops`

--- Report in one notice what is wrong, if anything.
---@param problems string[]
function M.complain(problems)
  if #problems == 0 then return end
  local more = #problems > 1 and (' (and %d more: :checkhealth fileops)'):format(#problems - 1) or ''
  require('fileops.ui.messages').warn(problems[1] .. more)
end

--- Setting `vim.g.fileops` does not call the plugin, so faults in it are reported when it is first read.
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
