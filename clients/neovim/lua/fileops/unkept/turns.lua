-- What agents did, prompt by prompt, and the way back to before one of these turns: all that its session changed since
-- is undone, after a preview. The daemon plans it; only what was previewed is done.
local decision = require('fileops.unkept.decision')
local counted = decision.counted
local messages = require('fileops.ui.messages')
local protocol = require('fileops.client.protocol')

local M = {}

local N_TURNS = 50

---@param turn fileops.wire.Turn
---@return string such as "14:03  Codex  fix the login test  7 changes in 4 files"
local function line_of(turn)
  return ('%s  %s  %s  %s in %s'):format(
    os.date('%H:%M', math.floor(turn.began)),
    turn.label,
    turn.title or 'without a title',
    counted(turn.n_entries - turn.n_undone, 'change'),
    counted(turn.n_files, 'file')
  )
end

---@param turn fileops.wire.Turn
local function restore(turn)
  local params = { since_turn = turn.turn_id, dry_run = true }
  decision.rewind(params, 'the preview', function(preview)
    local names = vim.tbl_map(
      function(file) return ('%s +%d −%d'):format(vim.fs.basename(file.file_path), file.added, file.removed) end,
      preview.files
    )
    local left = #preview.conflicts > 0
        and (', %s left as it is'):format(counted(#preview.conflicts, 'place'))
      or ''
    local yes = ('Restore %s%s: %s'):format(counted(#names, 'file'), left, table.concat(names, ', '))
    local options =
      { prompt = 'To before: ' .. line_of(turn), kind = 'fileops.restore', format_item = tostring }
    vim.ui.select({ yes, 'Leave them' }, options, function(choice)
      if choice ~= yes then return end
      params = { since_turn = turn.turn_id, plan = preview.plan }
      decision.rewind(params, 'restoring ' .. counted(#names, 'file'), function(done)
        require('fileops.unkept.changes').undone(done.rewind_id)
        messages.info(('%s restored (:Fileops redo undoes that)'):format(counted(#done.files, 'file')))
      end)
    end)
  end)
end

--- Choose a turn, the newest first, and restore what was before it.
function M.open()
  require('fileops').request(protocol.methods.turns, { limit = N_TURNS }, function(err, result)
    if err then return messages.failure(err) end
    local open = vim.tbl_filter(function(turn) return turn.n_entries > turn.n_undone end, result.turns)
    if #open == 0 then return messages.info('no agent has changed a file in a turn') end
    vim.ui.select(open, {
      prompt = 'Restore to before this turn',
      kind = 'fileops.turn',
      format_item = line_of,
    }, function(turn)
      if turn then restore(turn) end
    end)
  end)
end

return M
