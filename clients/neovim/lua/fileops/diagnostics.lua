-- Tells the daemon which problems this editor's language servers find in a buffer, for agents whose edits are compared
-- (`fileops/diagnostics`). It reads Neovim's own store, and notes to which text each server's last report belongs.
-- Reports that may belong to a text other than the one asked about are not sent.
local buffers = require('fileops.buffers')

local M = {}

local QUIET_MS = 300 -- servers publish in parts
local LOOK_MS = 50
local MAX = 10000 -- in one answer

local PUBLISH, PULL = 'textDocument/publishDiagnostics', 'textDocument/diagnostic'

---@class (exact) fileops.Spoken
---@field version integer of the text that it spoke of
---@field at integer `vim.uv.now()`

local sent = {} ---@type table<integer, table<integer, { wire: integer, version: integer }>> by client and buffer
local spoken = {} ---@type table<integer, table<integer, fileops.Spoken>> by client and buffer

---@param client vim.lsp.Client
---@param buf integer
---@param version integer?
local function note(client, buf, version)
  if version then spoken[client.id][buf] = { version = version, at = vim.uv.now() } end
end

--- From now on, note each report of a language server before Neovim's handler runs.
---@param client vim.lsp.Client
local function follow(client)
  if client.name == 'fileops' or spoken[client.id] then return end
  sent[client.id], spoken[client.id] = {}, {}
  local before = client.handlers
  local function passing(method, look)
    return function(err, result, ctx, ...)
      if not err and result then look(result, ctx) end
      return (before[method] or vim.lsp.handlers[method])(err, result, ctx, ...)
    end
  end
  client.handlers = vim.tbl_extend('force', before, {
    [PUBLISH] = passing(PUBLISH, function(params)
      local buf = vim.uri_to_bufnr(params.uri)
      local last = sent[client.id][buf]
      -- a report for an earlier text than the last one sent says nothing about that
      local is_late = last and type(params.version) == 'number' and params.version < last.wire
      if not is_late then note(client, buf, last and last.version) end
    end),
    [PULL] = passing(PULL, function(_, ctx) note(client, ctx.bufnr, ctx.version) end),
  })
end

function M.start()
  local group = vim.api.nvim_create_augroup('fileops.diagnostics', {})
  vim.iter(vim.lsp.get_clients()):each(follow)
  vim.api.nvim_create_autocmd('LspAttach', {
    group = group,
    callback = function(event) follow(assert(vim.lsp.get_client_by_id(event.data.client_id))) end,
  })
  vim.api.nvim_create_autocmd('LspNotify', {
    group = group,
    callback = function(event)
      local method, of_client = event.data.method, sent[event.data.client_id]
      if not of_client or (method ~= 'textDocument/didOpen' and method ~= 'textDocument/didChange') then
        return
      end
      local document = event.data.params.textDocument
      local buf = vim.uri_to_bufnr(document.uri)
      local is_open = method == 'textDocument/didOpen' -- its version is not Neovim's
      local version = is_open and vim.lsp.util.buf_versions[buf] or document.version
      of_client[buf] = { wire = document.version, version = version }
    end,
  })
end

--- The language servers that find problems in this buffer: they can be asked for them, or have sent some.
---@param buf integer
---@return vim.lsp.Client[]
local function servers_of(buf)
  return vim.tbl_filter(function(client)
    if not spoken[client.id] then return false end
    return next(spoken[client.id]) ~= nil or client.server_capabilities.diagnosticProvider ~= nil
  end, vim.lsp.get_clients({ bufnr = buf }))
end

---@param buf integer
---@param servers vim.lsp.Client[]
---@return boolean
local function is_settled(buf, servers)
  local present, now = vim.lsp.util.buf_versions[buf], vim.uv.now()
  return vim.iter(servers):all(function(client)
    local last = spoken[client.id][buf]
    return last ~= nil and last.version == present and now - last.at >= QUIET_MS
  end)
end

---@param buf integer
---@return string
local function digest_of(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n')
  if vim.bo[buf].endofline then text = text .. '\n' end
  return vim.fn.sha256((text:gsub('\r\n', '\n'):gsub('\r', '\n')))
end

---@param buf integer
---@param row integer 0-based
---@param column integer bytes
---@param encoding string
---@return { line: integer, character: integer }
local function position(buf, row, column, encoding)
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ''
  if encoding == 'utf-8' then return { line = row, character = column } end
  local utf32, utf16 = vim.str_utfindex(line, math.min(column, #line))
  return { line = row, character = encoding == 'utf-16' and utf16 or utf32 }
end

---@param buf integer
---@param servers vim.lsp.Client[]
---@param encoding string
---@return fileops.wire.EditorDiagnosticItem[]
local function problems_of(buf, servers, encoding)
  -- Neovim has one namespace for what a server publishes, and one for each name under which it can be asked
  local parts = vim.tbl_map(
    function(server) return ('.lsp.%s.%d.'):format(server.name, server.id) end,
    servers
  )
  local function is_of_servers(namespace)
    local name = '.' .. vim.diagnostic.get_namespace(namespace).name .. '.'
    return vim.iter(parts):any(function(part) return name:find(part, 1, true) ~= nil end)
  end
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(buf)) do
    if #found < MAX and is_of_servers(each.namespace) then
      local last_row, last_column = each.end_lnum or each.lnum, each.end_col or each.col
      found[#found + 1] = {
        range = {
          start = position(buf, each.lnum, each.col, encoding),
          ['end'] = position(buf, last_row, last_column, encoding),
        },
        message = each.message,
        severity = each.severity,
        code = each.code,
        source = each.source,
      }
    end
  end
  return found
end

--- Unanswered questions, each a function that returns whether it has now been answered. All are checked in one turn: if
--- one were answered before the others, an edit that follows could change the text that they ask about.
local waiting = {} ---@type (fun(): boolean)[]

local function look_again()
  local asked = waiting
  waiting = {}
  for _, is_answered in ipairs(asked) do
    if not is_answered() then waiting[#waiting + 1] = is_answered end
  end
  if #waiting > 0 then vim.defer_fn(look_again, LOOK_MS) end
end

---@param params fileops.wire.DiagnosticsParams
---@param from fileops.Asked
---@param answer fun(value: fileops.wire.DiagnosticsAnswer)
function M.ask(params, from, answer)
  local client = assert(vim.lsp.get_client_by_id(from.client_id))
  local until_ms = vim.uv.now() + params.wait_s * 1000
  local version, digest

  ---@return fileops.wire.DiagnosticsAnswer?
  local function look()
    local buf = buffers.buffer_of(params.file_path)
    if not buf then return { state = 'unavailable' } end
    local servers = servers_of(buf)
    if #servers == 0 then return { state = 'unavailable' } end
    if is_settled(buf, servers) then
      if version ~= vim.lsp.util.buf_versions[buf] then
        version, digest = vim.lsp.util.buf_versions[buf], digest_of(buf)
      end
      if params.sha256 == vim.NIL or params.sha256 == nil or params.sha256 == digest then
        local problems = problems_of(buf, servers, client.offset_encoding)
        return { state = 'settled', sha256 = digest, diagnostics = problems }
      end
    end
    return vim.uv.now() >= until_ms and { state = 'pending' } or nil
  end

  local function is_answered()
    local found = look()
    if found then answer(found) end
    return found ~= nil
  end

  if is_answered() then return end
  waiting[#waiting + 1] = is_answered
  if #waiting == 1 then vim.defer_fn(look_again, LOOK_MS) end
end

return M
