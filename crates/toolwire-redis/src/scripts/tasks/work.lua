#!lua flags=no-writes
-- Looks for work.
-- KEYS: all tasks by expiry, and for each tool its waiting tasks and its leased tasks. ARGV: the maximum number of each
-- kind, per tool, and the maximum number of expired tasks.
-- Returns the ids of expired tasks, and for each tool the ids of tasks whose lease has ended, and the ids of waiting tasks
-- with the times of their creation.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = { redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[2]) }
for i = 2, #KEYS, 2 do
  local ended = redis.call('ZRANGEBYSCORE', KEYS[i + 1], '-inf', now, 'LIMIT', 0, ARGV[1])
  local waiting = redis.call('ZRANGE', KEYS[i], 0, ARGV[1] - 1, 'WITHSCORES')
  found[#found + 1] = { ended, waiting }
end
return found
