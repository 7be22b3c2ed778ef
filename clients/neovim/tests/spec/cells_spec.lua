-- Notebooks for the person: proposals, agents' changes and the history show texts of cells, not JSON.
local t = require('harness')
if not t.daemon() then return t.skip('FILEOPS_TEST_DAEMON names no daemon') end

local fileops = require('fileops')
local review = require('fileops.review.queue')
local world = require('world')

local OUTPUT = { output_type = 'stream', name = 'stdout', text = { '1\n' } }

---@param source string
---@return string
local function notebook(source)
  local code = { cell_type = 'code', id = 'c1', metadata = vim.empty_dict(), source = source }
  code.outputs, code.execution_count = { OUTPUT }, 1
  local intro = { cell_type = 'markdown', id = 'intro', metadata = vim.empty_dict(), source = '# Title' }
  return vim.json.encode({
    cells = { intro, code },
    metadata = vim.empty_dict(),
    nbformat = 4,
    nbformat_minor = 5,
  })
end

---@param source string
---@return string
local function cells(source)
  return '# %% intro · markdown\n# Title\n\n# %% c1 · code · 1 output\n' .. source .. '\n\n'
end

---@param settings? table
---@return string path, string session_id
local function opened(settings)
  local demo = world.new(nil, settings)
  local path = t.write(vim.fs.dirname(demo) .. '/study.ipynb', notebook('x = 1\nprint(x)'))
  vim.cmd.edit(path)
  return path, 'of-' .. vim.fs.basename(vim.fs.dirname(path))
end

---@param method string
---@param params table
---@return { result?: table, err?: table }
local function begin(method, params)
  local answer = {}
  fileops.request(method, params, function(err, result)
    answer.err, answer.result = err, result
  end)
  return answer
end

---@param answer { result?: table, err?: table }
---@return table
local function done(answer)
  t.wait(function() return answer.err or answer.result end, 'the answer')
  t.eq(answer.err, nil)
  return answer.result
end

---@param path string
---@param session_id string
---@return { result?: table, err?: table } of an edit of c1
local function propose(path, session_id)
  done(begin('fileops/read', { file_path = path, session_id = session_id }))
  local step = { kind = 'edit', cell_id = 'c1', old_string = 'x = 1', new_string = 'x = 2' }
  return begin('fileops/editNotebook', { file_path = path, session_id = session_id, cells = { step } })
end

---@param path string
---@return string, integer the source of c1, and the number of its outputs
local function written(path)
  local cell = vim.json.decode(t.contents(path)).cells[2]
  return type(cell.source) == 'string' and cell.source or table.concat(cell.source), #cell.outputs
end

t.it('a proposal is shown as texts of cells, and what is typed there is written into the cells', function()
  local path, session_id = opened({ server = { approval_mode = 'default' } })
  local answer = propose(path, session_id)
  t.wait(function() return #review.waiting() == 1 end, 'the review')
  local summary = require('fileops.review.view').summary(review.waiting()[1])
  t.eq(summary:match('study%.ipynb.*'), 'study.ipynb in cell c1 +1 −1')
  vim.cmd('Fileops review')
  t.eq(world.text_of(vim.api.nvim_get_current_buf()), cells('x = 2\nprint(x)'))
  local line = vim.fn.search('^x = 2$', 'w')
  vim.api.nvim_buf_set_lines(0, line - 1, line, true, { 'x = 3' })
  vim.cmd.write()
  local result = done(answer)
  t.eq({ result.status, result.details.modified_by_user }, { 'success', true })
  t.eq({ written(path) }, { 'x = 3\nprint(x)', 1 })
end)

if vim.env.FILEOPS_TEST_SHARED ~= '1' then return end

t.it('changes of an agent are compared by cells in a tab page, which goes with the same command', function()
  local path, session_id = opened()
  local buf = vim.api.nvim_get_current_buf()
  t.eq(done(propose(path, session_id)).status, 'success')
  t.wait(function() return require('fileops.unkept.marks').has(buf) end, 'the marks')
  vim.cmd('Fileops diff')
  t.wait(function() return #vim.api.nvim_list_tabpages() == 2 and #world.own_windows() == 2 end, 'the page')
  local texts = vim.tbl_map(
    function(win) return world.text_of(vim.api.nvim_win_get_buf(win)) end,
    vim.api.nvim_tabpage_list_wins(0)
  )
  t.eq(texts, { cells('x = 1\nprint(x)'), cells('x = 2\nprint(x)') })
  t.eq(vim.wo.diff, true)
  vim.cmd('Fileops diff')
  t.eq({ #vim.api.nvim_list_tabpages(), vim.api.nvim_get_current_buf() }, { 1, buf })
end)
