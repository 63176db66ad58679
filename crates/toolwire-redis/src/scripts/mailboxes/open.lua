#!lua
-- Leases a number, unless another node has it.
-- KEYS: the lease, the messages. ARGV: the owner, the channel on which it is woken, the duration of the lease, the largest
-- message that it takes from a wake-up.
-- Returns 1 if the owner has the lease, and 0 otherwise.
--
-- A lease is a hash: owner, channel, next (the number of the oldest message), bytes (of all messages), wake_up_bytes (of the
-- largest message that the owner takes from a wake-up; an older version takes none), last_id (of the newest message).
local owner = redis.call('HGET', KEYS[1], 'owner')
if owner then
  -- The same call comes again if its first response was lost.
  return owner == ARGV[1] and 1 or 0
end
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'channel', ARGV[2], 'next', 1, 'bytes', 0, 'wake_up_bytes',
  ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
