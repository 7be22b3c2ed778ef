local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local fileops = require('fileops')
local world = require('world')

--- What is said until it contains some words.
---@param command string
---@param words string
---@return string
local function said_to(command, words)
  local found ---@type string?
  t.said(function(said)
    vim.cmd(command)
    t.wait(function()
      found = vim.iter(said):find(function(text) return text:find(words, 1, true) end)
      return found
    end, command)
  end)
  return assert(found)
end

if vim.env.FILEOPS_TEST_SHARED ~= '1' then
  return t.it('a daemon of this Neovim alone has no switch, and says so', function()
    world.new()
    said_to('Fileops ask never', 'only agents of a shared daemon have this switch')
  end)
end

---@return string
local function asked()
  local answer
  t.async(function() answer = fileops.request('fileops/ask', vim.empty_dict()).ask end)
  return answer
end

t.it('the switch is set by its name, which every editor of the project hears', function()
  world.new()
  local heard
  local off = fileops.on('ask', function(event) heard = event.ask end)
  local sentence = said_to('Fileops ask each_edit', 'each edit of an agent waits for you')
  assert(sentence:find('shell commands are not asked about', 1, true), sentence)
  t.eq({ asked(), heard }, { 'each_edit', 'each_edit' })
  off()
end)

t.it('without a name it is chosen, with what holds now', function()
  world.new()
  local offered
  local sentence = said_to('Fileops ask never', 'no edit waits for you')
  assert(sentence, 'set')
  local select = vim.ui.select
  vim.ui.select = function(items, options, choose) -- luacheck: ignore 122
    offered = vim.tbl_map(options.format_item, items)
    choose('protected')
  end
  said_to('Fileops ask', 'edits of protected files wait for you')
  vim.ui.select = select -- luacheck: ignore 122
  t.eq(vim.tbl_map(function(line) return line:match('^%S+ %S+ %S+ %S+') end, offered), {
    '○ each edit of',
    '○ edits of protected',
    '● no edit waits',
  })
  t.eq(asked(), 'protected')
end)
