local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local daemon = require('fileops.client.process')
local rpc = require('fileops.client.rpc')
local world = require('world')

local N_ROUNDS = 60

--- A language server inside Neovim: what Neovim's own synchronisation reports.
---@param heard table[] the changes
---@return integer client_id
local function listener(heard)
  return assert(vim.lsp.start({
    name = 'listener',
    root_dir = vim.fn.getcwd(),
    cmd = function()
      local capabilities = {
        positionEncoding = daemon.client().offset_encoding,
        textDocumentSync = { openClose = true, change = 2 },
      }
      local answers = { initialize = { capabilities = capabilities } }
      return {
        request = function(method, _, callback)
          vim.schedule(function() callback(nil, answers[method]) end)
          return true, 1
        end,
        notify = function(method, params)
          if method == 'textDocument/didChange' then vim.list_extend(heard, params.contentChanges) end
          return true
        end,
        is_closing = function() return false end,
        terminate = function() end,
      }
    end,
    flags = { debounce_text_changes = 0 },
  }))
end

---@param log string what `tee` has heard
---@return table[] changes
local function changes_in(log)
  local told = {} ---@type table[]
  rpc.framing(function(body)
    local message = vim.json.decode(body)
    if message.method == 'textDocument/didChange' then
      vim.list_extend(told, message.params.contentChanges)
    end
  end)(t.contents(log))
  return told
end

-- stylua: ignore
local KEYS = {
  'x', 'dd', '2dd', 'yyp', 'J', 'ggJ', 'GJ', '~', 'xp', '>>', '<<', 'D', 'gUU', 'u', '2u', '<C-r>', 'P', 'p',
  'ddP', 'ia<Esc>', 'Aend<Esc>', 'oä€𐐀<Esc>', 'O<Esc>', 'i<CR><Esc>', 'ccnew<Esc>', 'cw𐐀a<Esc>', 'ggdG',
  'Gdd', 'ggO1<CR>2<Esc>', '<C-v>jIv<Esc>', '<C-v>jd', 'vjd', 'Vjd', 'rä', 'R€€<Esc>', '.', '5x',
  'A<BS><BS><Esc>', 'I<C-u><Esc>', 'gg', 'G', '3G', 'w', 'l', '$', ':silent! s/e/E/ge<CR>',
  ':silent! %s/n/\\r/ge<CR>', ':silent! m0<CR>', ':silent! m$<CR>', ':silent! t.<CR>', ':silent! g/e/m0<CR>',
  ':silent! g/n/d<CR>', ':silent! sort<CR>', ':silent! normal! yyPj<CR>',
}

t.it('each change is reported as Neovim does it to other language servers', function()
  local log = t.folder() .. '/heard'
  local heard = vim.list_extend({ 'sh', '-c', 'tee "$0" | "$@"', log }, assert(t.daemon()))
  local path, agent, buf = world.new('one\ntwo\nthree\n', { cmd = heard })
  local expected = {} ---@type table[]
  local id = listener(expected)
  t.wait(
    function() return vim.lsp.buf_is_attached(buf, id) and vim.lsp.get_client_by_id(id).initialized end,
    'it'
  )
  vim.o.showmode = false
  math.randomseed(20260101)
  for _ = 1, N_ROUNDS do
    for _ = 1, 10 do
      local keys = KEYS[math.random(#KEYS)]
      vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, true, true), 'xt', false)
    end
    vim.api.nvim_buf_set_text(buf, 0, 0, 0, 0, { 'A', 'b' })
  end
  assert(#expected > N_ROUNDS, #expected)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n') .. '\n'
  t.async(function()
    local read = world.succeeded(agent:read({ file_path = path })) -- comes after the changes, over the same pipe
    t.eq(read.details.source, 'buffer')
  end)
  -- `tee` writes its file after the daemon has heard, and answered
  t.wait(function() return #changes_in(log) >= #expected end, 'all changes are in the file')
  local told = changes_in(log)
  for i, change in ipairs(expected) do
    t.eq({ i, told[i] }, { i, change })
  end
  t.eq(#told, #expected)
  t.eq(world.text_of(buf), text)
  vim.lsp.stop_client(id)
  vim.bo[buf].modified = false
end)

--- The text of a document as the daemon was last sent all of it.
---@param log string what `tee` has heard
---@return string? text
local function text_in(log)
  local sent ---@type string?
  rpc.framing(function(body)
    local message = vim.json.decode(body)
    if message.method == 'textDocument/didOpen' then sent = message.params.textDocument.text end
    if message.method == 'textDocument/didChange' then sent = message.params.contentChanges[1].text end
  end)(t.contents(log))
  return sent
end

t.it('lines that end with CR, but for the last one, are sent and written as they are', function()
  local log = t.folder() .. '/heard'
  local heard = vim.list_extend({ 'sh', '-c', 'tee "$0" | "$@"', log }, assert(t.daemon()))
  local formats = vim.o.fileformats
  vim.o.fileformats = 'mac'
  local path, agent, buf = world.new('one\rtwo\rthree\rfour', { cmd = heard })
  vim.o.fileformats = formats
  t.eq({ vim.bo[buf].fileformat, vim.bo[buf].endofline }, { 'mac', false })

  --- Let the agent edit, and look at the text of the daemon before, and at what it has become.
  ---@param lines string[] before
  ---@param old string
  ---@param new string
  ---@param expected string[]
  local function edited(lines, old, new, expected)
    t.eq(vim.api.nvim_buf_get_lines(buf, 0, -1, true), lines)
    t.async(function()
      world.succeeded(agent:read({ file_path = path })) -- comes after the changes, over the same pipe
    end)
    t.wait(
      function() return text_in(log) == table.concat(lines, '\r') end,
      function() return 'the daemon hears it: ' .. vim.inspect(text_in(log)) end
    )
    t.async(
      function() world.succeeded(agent:edit({ file_path = path, old_string = old, new_string = new })) end
    )
    t.wait(
      function() return vim.deep_equal(vim.api.nvim_buf_get_lines(buf, 0, -1, true), expected) end,
      function() return 'the edit: ' .. vim.inspect(vim.api.nvim_buf_get_lines(buf, 0, -1, true)) end
    )
    t.eq({ vim.bo[buf].fileformat, vim.bo[buf].endofline }, { 'mac', false })
    if not vim.bo[buf].modified then t.eq(t.contents(path), table.concat(expected, '\r')) end
  end

  edited({ 'one', 'two', 'three', 'four' }, 'two', 'TWO', { 'one', 'TWO', 'three', 'four' })
  edited({ 'one', 'TWO', 'three', 'four' }, 'four', 'FOUR\rfive', { 'one', 'TWO', 'three', 'FOUR', 'five' })
  t.eq(vim.bo[buf].modified, false)

  -- the same beside what the person types
  vim.api.nvim_feedkeys('ggOzero', 'xt', false)
  local lines = { 'zero', 'one', 'TWO', 'THREE', 'and more', 'FOUR', 'five' }
  edited({ 'zero', 'one', 'TWO', 'three', 'FOUR', 'five' }, 'three', 'THREE\rand more', lines)
  edited(lines, 'five', 'FIVE', { 'zero', 'one', 'TWO', 'THREE', 'and more', 'FOUR', 'FIVE' })
  lines[7] = 'FIVE'
  t.eq({ vim.bo[buf].modified, t.contents(path) }, { true, 'one\rTWO\rthree\rFOUR\rfive' })
  vim.bo[buf].fixendofline = false
  vim.cmd.write()
  t.eq(t.contents(path), table.concat(lines, '\r'))
  edited(lines, 'zero', 'ZERO', { 'ZERO', 'one', 'TWO', 'THREE', 'and more', 'FOUR', 'FIVE' })
end)
