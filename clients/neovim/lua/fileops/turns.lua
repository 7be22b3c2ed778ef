-- What agents did, prompt by prompt, and how to undo it: one turn, or everything that its agent or all agents have done
-- since it began. The daemon plans the undo; only what was previewed is done.
local decision = require('fileops.unkept.decision')
local messages = require('fileops.ui.messages')
local protocol = require('fileops.client.protocol')

local counted = decision.counted

local M = {}

local N_TURNS = 50

---@param turn fileops.wire.Turn
---@return string such as "14:03  Codex  fix the login test  7 edits in 4 files"
local function line_of(turn)
  local n_renames = turn.n_renames or 0
  return ('%s  %s%s  %s in %s'):format(
    os.date('%H:%M', math.floor(turn.began)),
    turn.label,
    turn.title and '  ' .. turn.title or '',
    counted(turn.n_entries - turn.n_undone - n_renames, 'edit'),
    counted(turn.n_files - n_renames, 'file')
  )
end

---@param details fileops.wire.RewindDetails
---@return string such as "7 changes in 4 files"
local function count_of(details)
  return ('%s in %s'):format(counted(details.n_changes, 'change'), counted(details.n_files, 'file'))
end

---@param details fileops.wire.RewindDetails of a preview
---@return string such as "3 changes in 2 files, 1 place left as it is, 3 edits kept: a.py +3 −1, b.py renamed to c.py"
local function size_of(details)
  local old_names = {} ---@type table<string, boolean>
  for _, file in ipairs(details.files) do
    if file.moved_from then old_names[file.moved_from] = true end
  end
  local names = {} ---@type string[]
  for _, file in ipairs(details.files) do
    local name = vim.fs.basename(file.file_path)
    if file.moved_from then
      names[#names + 1] = ('%s renamed to %s'):format(vim.fs.basename(file.moved_from), name)
    elseif not old_names[file.file_path] then
      names[#names + 1] = ('%s +%d −%d'):format(name, file.added, file.removed)
    end
  end
  local left = #details.conflicts > 0 and (', %s left as it is'):format(counted(#details.conflicts, 'place'))
    or ''
  local n_decided = details.n_decided or 0
  if n_decided > 0 then left = ('%s, %s kept'):format(left, counted(n_decided, 'edit')) end
  local named = #names > 0 and ': ' .. table.concat(names, ', ') or ''
  return count_of(details) .. left .. named
end

---@param target table of a rewind
---@param details fileops.wire.RewindDetails of its preview
local function undo(target, details)
  local params = vim.tbl_extend('force', target, { plan = details.plan })
  decision.rewind(params, 'the undo of ' .. count_of(details), function(done)
    require('fileops.unkept.changes').undone(done.rewind_id)
    messages.info(('%s undone (:Fileops redo takes that back)'):format(count_of(done)))
  end)
end

---@param turn fileops.wire.Turn
---@param with_kept? boolean also what is kept or committed
local function choose_way(turn, with_kept)
  local ways = {
    { 'Undo this turn', { turn_id = turn.turn_id } },
    { ('Undo it and all later turns of %s'):format(turn.label), { since_turn = turn.turn_id } },
    { 'Undo it and all turns of all agents since', { all_since_turn = turn.turn_id } },
  }
  local previews = {} ---@type fileops.wire.RewindDetails[]
  for _, way in ipairs(ways) do
    way[2].undecided = not with_kept or nil
  end
  local function choose()
    local is_part = vim.iter(previews):any(function(details) return (details.n_decided or 0) > 0 end)
    vim.ui.select(is_part and { 1, 2, 3, 4, 5 } or { 1, 2, 3, 5 }, {
      prompt = line_of(turn),
      kind = 'fileops.restore',
      format_item = function(n)
        if n == 4 then return 'Also what is kept or committed...' end
        return ways[n] and ('%s, %s'):format(ways[n][1], size_of(previews[n])) or 'Leave them'
      end,
    }, function(n)
      if n == 4 then return choose_way(turn, true) end
      if ways[n] then undo(ways[n][2], previews[n]) end
    end)
  end
  local function preview()
    local way = ways[#previews + 1]
    if not way then return choose() end
    decision.rewind(vim.tbl_extend('force', way[2], { dry_run = true }), 'the preview', function(details)
      table.insert(previews, details)
      preview()
    end)
  end
  preview()
end

--- Choose a turn, newest first, and how to undo it.
function M.open()
  require('fileops').request(protocol.methods.turns, { limit = N_TURNS }, function(err, result)
    if err then return messages.failure(err) end
    local open = vim.tbl_filter(function(turn) return turn.n_entries > turn.n_undone end, result.turns)
    if #open == 0 then return messages.info('no agent has changed a file in a turn') end
    vim.ui.select(open, {
      prompt = 'Undo which turn',
      kind = 'fileops.turn',
      format_item = line_of,
    }, function(turn)
      if turn then choose_way(turn) end
    end)
  end)
end

return M
