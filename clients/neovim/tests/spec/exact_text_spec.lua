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
  local told = changes_in(log)
  for i, change in ipairs(expected) do
    t.eq({ i, told[i] }, { i, change })
  end
  t.eq(#told, #expected)
  t.eq(world.text_of(buf), text)
  vim.lsp.stop_client(id)
  vim.bo[buf].modified = false
end)
