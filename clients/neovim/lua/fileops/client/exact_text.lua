-- Corrects Neovim's own synchronisation, so that the daemon's text of a buffer is the buffer's, byte for byte:
-- - Carriage returns inside lines, in a file with mixed line ends or with a CR in the middle of a line. To Neovim such
--   a CR is a character of its line; in the protocol it ends the line (LSP 3.17, "Text Documents"). So positions
--   differ. For such a buffer, the daemon is sent the whole text at each change, and its edits are applied to the text,
--   not to lines. With 'fileformat' "mac" both count the same lines.
-- - The last line end, which is not a line but 'endofline': Neovim reports no change of it, and reports changes of the
--   last line as if there were one. So a buffer without it is sent whole as well.
local M = {}

local is_sent_whole = {} ---@type table<string, boolean?> by URI
local is_ended = {} ---@type table<string, boolean?> by URI: 'endofline' as last reported

---@param buf integer
---@return string
local function line_end(buf) return vim.bo[buf].fileformat == 'dos' and '\r\n' or '\n' end

---@param text string
---@param buf integer
---@return boolean
local function holds_returns(text, buf)
  if vim.bo[buf].fileformat == 'mac' or not text:find('\r', 1, true) then return false end
  return line_end(buf) == '\n' or text:gsub('\r\n', ''):find('\r', 1, true) ~= nil
end

--- The text as Neovim reports it to a language server.
---@param buf integer
---@return string
local function text_of(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), line_end(buf))
  return vim.bo[buf].endofline and text .. line_end(buf) or text
end

--- A message to the daemon as it must be sent: a change that Neovim reports wrongly is replaced by the whole text.
---@param message table
---@return table
function M.outgoing(message)
  local document = vim.tbl_get(message, 'params', 'textDocument')
  local uri = document and document.uri
  if message.method == 'textDocument/didClose' then
    is_sent_whole[uri], is_ended[uri] = nil, nil
  elseif message.method == 'textDocument/didOpen' then
    local buf = vim.uri_to_bufnr(uri)
    is_sent_whole[uri] = holds_returns(document.text, buf) or nil
    is_ended[uri] = vim.bo[buf].endofline
  elseif message.method == 'textDocument/didChange' then
    local buf = vim.uri_to_bufnr(uri)
    for _, change in ipairs(message.params.contentChanges) do
      if holds_returns(change.text, buf) then is_sent_whole[uri] = true end
    end
    local was_ended = is_ended[uri]
    is_ended[uri] = vim.bo[buf].endofline
    if is_sent_whole[uri] or not (was_ended and is_ended[uri]) then
      local params = { textDocument = document, contentChanges = { { text = text_of(buf) } } }
      return vim.tbl_extend('force', message, { params = params })
    end
  end
  return message
end

--- Report the last line end of a buffer if it was added or removed since the daemon was last sent the text.
---@param buf integer
function M.report_end(buf)
  local client = vim.lsp.get_clients({ name = 'fileops', bufnr = buf })[1]
  local uri = vim.uri_from_bufnr(buf)
  if not client or is_ended[uri] == nil or is_ended[uri] == vim.bo[buf].endofline then return end
  local document = { uri = uri, version = vim.lsp.util.buf_versions[buf] }
  client.rpc.notify('textDocument/didChange', { textDocument = document, contentChanges = {} })
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
