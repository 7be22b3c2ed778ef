-- Makes text fit for JSON: Neovim's strings are bytes, but a JSON-RPC peer accepts only UTF-8.
local M = {}

---@param s string
---@param i integer
---@return integer? length of the well-formed sequence at i, nil where it is not one
local function sequence_at(s, i)
  local a, b, c, d = s:byte(i, i + 3)
  local function continues(byte, low, high)
    return byte ~= nil and byte >= (low or 0x80) and byte <= (high or 0xBF)
  end
  if a >= 0xC2 and a <= 0xDF then return continues(b) and 2 or nil end
  if a >= 0xE0 and a <= 0xEF then
    local low, high = a == 0xE0 and 0xA0 or 0x80, a == 0xED and 0x9F or 0xBF -- neither overlong nor a surrogate
    return continues(b, low, high) and continues(c) and 3 or nil
  end
  if a >= 0xF0 and a <= 0xF4 then
    local low, high = a == 0xF0 and 0x90 or 0x80, a == 0xF4 and 0x8F or 0xBF
    return continues(b, low, high) and continues(c) and continues(d) and 4 or nil
  end
  return nil
end

--- Replace each byte that is not part of UTF-8 with `?`. The length in bytes stays, and with it every position.
---@param s string
---@return string
function M.scrub(s)
  local i = s:find('[\128-\255]')
  if not i then return s end
  local parts, from = {}, 1
  while i do
    local length = sequence_at(s, i)
    if not length then
      parts[#parts + 1] = s:sub(from, i - 1) .. '?'
      from = i + 1
    end
    i = s:find('[\128-\255]', i + (length or 1))
  end
  if from == 1 then return s end
  return table.concat(parts) .. s:sub(from)
end

---@param s string
---@return boolean
function M.is_valid(s) return M.scrub(s) == s end

--- JSON text may contain lone surrogates (a file name that is not UTF-8), which Neovim's decoder refuses.
---@param json string
---@return string with U+FFFD in their place
function M.without_lone_surrogates(json)
  local function scan(text)
    -- pairs first, hidden behind a byte that JSON never contains; then the rest
    text = text:gsub('\\u([dD][89aAbB]%x%x)\\u([dD][c-fC-F]%x%x)', '\1%1\1%2')
    text = text:gsub('\\u[dD][89a-fA-F]%x%x', '\\ufffd')
    return (text:gsub('\1(%x%x%x%x)\1(%x%x%x%x)', '\\u%1\\u%2'))
  end
  -- an escaped backslash before a `u` does not begin an escape
  return (scan(json:gsub('\\\\', '\2')):gsub('\2', '\\\\'))
end

return M
