-- `/old/new/g` as `:s` takes it, for trying edits by hand. Texts are literal; `\n`, `\t`, `\\` and the escaped
-- delimiter are the only escapes.
local M = {}

local escapes = { n = '\n', t = '\t', ['\\'] = '\\' }

---@param text string
---@return fileops.Substitution? parsed, string? problem
function M.parse(text)
  local delimiter = text:match('^%p')
  if not delimiter or delimiter == '\\' then return nil, 'wanted: /old/new/ or /old/new/g' end
  local parts, part, i = {}, {}, 2
  while i <= #text and #parts < 2 do
    local char = text:sub(i, i)
    if char == '\\' then
      local following = text:sub(i + 1, i + 1)
      part[#part + 1] = following == delimiter and delimiter or escapes[following] or ('\\' .. following)
      i = i + 2
    elseif char == delimiter then
      parts[#parts + 1], part = table.concat(part), {}
      i = i + 1
    else
      part[#part + 1] = char
      i = i + 1
    end
  end
  if #parts == 1 then parts[2] = table.concat(part) end
  local flags = text:sub(i)
  if #parts < 2 or (flags ~= '' and flags ~= 'g') then return nil, 'wanted: /old/new/ or /old/new/g' end
  return { old = parts[1], new = parts[2], all = flags == 'g' }
end

return M
