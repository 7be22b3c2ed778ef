-- How long a review will still wait. Shown in its last minute: above its changes in the text, or once in a message if
-- they are not on the screen.
local queue = require('fileops.review.queue')

local M = {}

local LAST_S = 60

local timer ---@type uv.uv_timer_t?
local told = {} ---@type table<integer, boolean> review ids

--- Seconds until the daemon ends a review.
---@param review fileops.Review
---@return integer? nil before its last minute, or if that is not known
local function left_s(review)
  local expires_at = review.params.expires_at
  if not expires_at then return nil end
  local now_s, now_us = vim.uv.gettimeofday()
  local left = math.ceil(expires_at - now_s - now_us / 1e6)
  return left <= LAST_S and math.max(left, 0) or nil
end

---@param review fileops.Review
---@return string? such as "42 s left"; nil before the last minute
function M.words(review)
  local left = left_s(review)
  return left and ('%d s left'):format(left)
end

local function tick()
  local waiting = queue.waiting()
  if #waiting == 0 and timer then
    timer:close()
    timer = nil
  end
  local view = require('fileops.review.view')
  require('fileops.review.text').second_passed(function(review) return left_s(review) ~= nil end)
  for _, review in ipairs(waiting) do
    local words = M.words(review)
    if words and not told[review.id] then
      told[review.id] = true
      view.is_about_to_end(review, words)
    end
  end
end

--- Count from now on, until nothing waits.
function M.watch()
  if timer then return end
  timer = assert(vim.uv.new_timer())
  timer:start(1000, 1000, vim.schedule_wrap(tick))
end

return M
