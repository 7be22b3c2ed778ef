-- A few words for specs; `run.lua` runs them.
local M = { n = 0, failed = 0 }

M.plugin = vim.fs.dirname(vim.fs.dirname(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')))

---@param name string
---@param body fun()
function M.it(name, body)
  M.n = M.n + 1
  local ok, problem = xpcall(body, debug.traceback)
  if not ok then M.failed = M.failed + 1 end
  io.stdout:write(('%s %d - %s: %s\n'):format(ok and 'ok' or 'not ok', M.n, M.spec, name))
  if not ok then
    local first = tostring(problem):match('^(.-)\nstack traceback') or tostring(problem)
    io.stdout:write('# ' .. first:gsub('\n', '\n# ') .. '\n')
    if vim.env.FILEOPS_TEST_FAIL_FAST then vim.cmd('cquit 1') end
  end
end

function M.eq(actual, expected)
  if vim.deep_equal(actual, expected) then return end
  error(('expected %s\n     got %s'):format(vim.inspect(expected), vim.inspect(actual)), 2)
end

---@param condition fun(): any
---@param what? string|fun(): string
function M.wait(condition, what)
  -- A bound, not a measure: each wait ends with its condition, also on a machine that is busy with something else.
  if vim.wait(tonumber(vim.env.FILEOPS_TEST_PATIENCE_MS) or 90000, condition, 5) then return end
  if type(what) == 'function' then what = what() end
  error('waited in vain for ' .. (what or 'a condition'), 2)
end

--- A new folder, gone at the end.
---@return string
function M.folder()
  local path = vim.fn.tempname()
  vim.fn.mkdir(path, 'p')
  return vim.uv.fs_realpath(path) --[[@as string]]
end

---@param path string
---@param text string
---@return string path
function M.write(path, text)
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
  return path
end

---@param path string
---@return string
function M.contents(path)
  local file = assert(io.open(path, 'rb'))
  local text = file:read('*a')
  file:close()
  return text
end

--- Everything back to one empty buffer in one window.
function M.clean() vim.cmd('silent! tabonly! | silent! only! | silent! %bwipeout!') end

--- What was said by `vim.notify` while `body` ran.
---@param body fun(said: string[])
---@return string[]
function M.said(body)
  local said, notify = {}, vim.notify
  vim.notify = function(text) said[#said + 1] = text end
  local ok, problem = pcall(body, said)
  vim.notify = notify
  if not ok then error(problem, 0) end
  return said
end

--- Run the body while each `vim.ui.select` is answered with the nth item; returns what the last one offered.
---@param n integer
---@param body fun()
---@return string[]?
function M.selecting(n, body)
  local select, offered = vim.ui.select, nil
  vim.ui.select = function(items, options, choose) -- luacheck: ignore 122
    offered = vim.tbl_map(options.format_item, items)
    choose(items[n])
  end
  local ok, problem = pcall(body)
  vim.ui.select = select -- luacheck: ignore 122
  if not ok then error(problem, 0) end
  return offered
end

--- The command of the real daemon, from `$FILEOPS_TEST_DAEMON` (a JSON list); specs that need it skip without it.
---@return string[]?
function M.daemon()
  local given = vim.env.FILEOPS_TEST_DAEMON
  return given and vim.json.decode(given) or nil
end

---@param reason string
function M.skip(reason)
  M.n = M.n + 1
  io.stdout:write(('ok %d - %s # SKIP %s\n'):format(M.n, M.spec, reason))
end

--- Run in a coroutine, where requests may be waited for; its failure is the spec's.
---@param body fun()
function M.async(body)
  local done, problem = false, nil
  coroutine.wrap(function()
    local ok, trouble = xpcall(body, debug.traceback)
    done, problem = true, not ok and trouble or nil
  end)()
  M.wait(function() return done end, 'the coroutine to end')
  if problem then error(problem, 0) end
end

return M
