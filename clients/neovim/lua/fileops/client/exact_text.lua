-- Reports each change of a buffer to the daemon at once, so that its text of it is the buffer's, byte for byte.
-- Neovim's own synchronisation reports the same places, but copies all lines at each key, and is wrong about:
-- - Carriage returns inside lines, in a file with mixed line ends or with a CR in the middle of a line. To Neovim such
--   a CR is a character of its line; in the protocol it ends the line (LSP 3.17, "Text Documents"). So positions
--   differ. For such a buffer, the daemon is sent the whole text at each change, and its edits are applied to the text,
--   not to lines. With 'fileformat' "mac" both count the same lines.
-- - The last line end, which is not a line but 'endofline': Neovim reports no change of it, and reports changes of the
--   last line as if there were one. So a buffer without it is sent whole as well.
local sync = require('vim.lsp.sync')

local M = {}

local NO_CHANGES = 0 -- TextDocumentSyncKind.None
local LINE_ENDS = { unix = '\n', dos = '\r\n', mac = '\r' }

local open = {} ---@type table<string, fileops.OpenText?> by URI

---@param buf integer
---@return string
local function line_end(buf) return LINE_ENDS[vim.bo[buf].fileformat] end

---@param text string
---@param buf integer
---@return boolean
local function holds_returns(text, buf)
  if not text:find('\r', 1, true) or vim.bo[buf].fileformat == 'mac' then return false end
  return line_end(buf) == '\n' or text:gsub('\r\n', ''):find('\r', 1, true) ~= nil
end

--- The text as Neovim reports it to a language server.
---@param buf integer
---@return string
local function text_of(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), line_end(buf))
  return vim.bo[buf].endofline and text .. line_end(buf) or text
end

--- The place of a change as Neovim names it, and the text there. Takes note of the lines.
---@param text fileops.OpenText
---@param first integer 0-based
---@param last integer of the lines before, exclusive
---@param new_last integer of the lines now, exclusive
---@param encoding string
---@return lsp.TextDocumentContentChangeEvent
local function place_of(text, first, last, new_last, encoding)
  local buf, before = text.buf, text.lines
  local changed = vim.api.nvim_buf_get_lines(buf, first, new_last, true)
  if last == first + 1 and new_last == last then -- as at most keys: the other lines have no part in it
    local line = before[last]
    before[last] = changed[1]
    local place = sync.compute_diff({ line }, changed, 0, 1, 1, encoding, line_end(buf))
    place.range.start.line, place.range['end'].line = first, first
    return place
  end
  local lines = {} ---@type string[]
  for i = 1, first do
    lines[i] = before[i]
  end
  vim.list_extend(lines, changed)
  vim.list_extend(lines, before, last + 1)
  if #lines == 0 then lines[1] = '' end -- a buffer has at least one line
  text.lines = lines
  return sync.compute_diff(before, lines, first, last, new_last, encoding, line_end(buf))
end

---@param text fileops.OpenText
---@param version integer
---@param change lsp.TextDocumentContentChangeEvent
local function report(text, version, change)
  local params = { textDocument = { uri = text.uri, version = version }, contentChanges = { change } }
  text.client.rpc.notify('textDocument/didChange', params)
end

---@param client vim.lsp.Client
---@param uri string
---@param text string as it is opened
local function follow(client, uri, text)
  local buf = vim.uri_to_bufnr(uri)
  local encoding, is_closing = client.offset_encoding, client.rpc.is_closing
  local opened = { ---@type fileops.OpenText
    client = client,
    uri = uri,
    buf = buf,
    lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true),
    is_whole = holds_returns(text, buf),
    is_ended = vim.bo[buf].endofline,
  }
  open[uri] = opened
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, version, first, last, new_last)
      if open[uri] ~= opened or is_closing() then return true end -- it was closed, or opened anew
      local change = place_of(opened, first, last, new_last, encoding)
      local was_ended = opened.is_ended
      opened.is_whole = opened.is_whole or holds_returns(change.text, buf)
      opened.is_ended = vim.bo[buf].endofline
      local is_exact = not opened.is_whole and was_ended and opened.is_ended
      report(opened, version, is_exact and change or { text = text_of(buf) })
    end,
    on_reload = function() end, -- it stays, until Neovim opens the document anew
  })
end

--- From now on this reports the changes, and Neovim does not.
---@param client vim.lsp.Client
function M.take_over(client)
  -- a transport that the person has set is served by Neovim
  if client.rpc.together then client.server_capabilities.textDocumentSync.change = NO_CHANGES end
end

--- Take note of the documents that Neovim opens and closes.
---@param message table to the daemon
function M.note(message)
  local client = require('fileops.client.process').client()
  local document = vim.tbl_get(message, 'params', 'textDocument')
  if message.method == 'textDocument/didClose' then
    open[document.uri] = nil
  elseif message.method == 'textDocument/didOpen' then
    follow(client, document.uri, document.text)
  end
end

--- Report the last line end of a buffer if it was added or removed since the daemon was last sent the text.
---@param buf integer
function M.report_end(buf)
  local text = open[vim.uri_from_bufnr(buf)]
  if not text or text.is_ended == vim.bo[buf].endofline then return end
  text.is_ended = vim.bo[buf].endofline
  report(text, vim.lsp.util.buf_versions[buf], { text = text_of(buf) })
end

--- The byte offset of each line of the protocol, and where its content ends.
---@param text string
---@return { first: integer, last: integer }[]
local function lines_of(text)
  local lines, from = {}, 1
  while true do
    local at = text:find('[\r\n]', from)
    if not at then break end
    lines[#lines + 1] = { first = from, last = at - 1 }
    from = at + (text:sub(at, at + 1) == '\r\n' and 2 or 1)
  end
  lines[#lines + 1] = { first = from, last = #text }
  return lines
end

---@param line string
---@param character integer in units of the encoding; past the end of the line it means that end
---@param encoding string
---@return integer bytes
local function bytes_before(line, character, encoding)
  if encoding == 'utf-8' then return math.min(character, #line) end
  local utf32, utf16 = vim.str_utfindex(line)
  local is_utf16 = encoding == 'utf-16'
  return vim.str_byteindex(line, math.min(character, is_utf16 and utf16 or utf32), is_utf16)
end

--- The text after edits that the protocol gives in order and without overlap.
---@param text string
---@param edits lsp.TextEdit[]
---@param encoding string
---@return string
local function edited(text, edits, encoding)
  local lines = lines_of(text)
  local function offset(position)
    local line = lines[position.line + 1]
    if not line then return #text end
    return line.first - 1 + bytes_before(text:sub(line.first, line.last), position.character, encoding)
  end
  local parts, from = {}, 0
  for _, edit in ipairs(edits) do
    parts[#parts + 1] = text:sub(from + 1, offset(edit.range.start))
    parts[#parts + 1] = edit.newText
    from = offset(edit.range['end'])
  end
  parts[#parts + 1] = text:sub(from + 1)
  return table.concat(parts)
end

--- Apply the daemon's edits where Neovim would not do so exactly: in a buffer with carriage returns in its lines, and
--- at the end of a text, which may gain or lose its last line end. Elsewhere it does nothing and returns false.
---@param buf integer
---@param edits lsp.TextEdit[] in order and without overlap
---@param encoding string
---@return boolean
function M.apply(buf, edits, encoding)
  local text = text_of(buf)
  local is_at_end = edits[#edits].range['end'].line >= vim.api.nvim_buf_line_count(buf) - 1
  if vim.bo[buf].fileformat == 'mac' or not (is_at_end or holds_returns(text, buf)) then return false end
  text = edited(text, edits, encoding)
  local ended = text:sub(-1) == '\n'
  local lines = vim.split(ended and text:sub(1, -2) or text, '\n', { plain = true })
  if line_end(buf) == '\r\n' then
    for i, line in ipairs(lines) do
      if i < #lines or ended then lines[i] = line:gsub('\r$', '') end
    end
  end
  require('fileops.reload').splice(buf, lines)
  vim.bo[buf].endofline = ended
  M.report_end(buf)
  return true
end

return M
