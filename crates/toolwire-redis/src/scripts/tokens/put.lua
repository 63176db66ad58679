#!lua
-- Stores a value under a lock. KEYS: the value, its lock. ARGV: the owner of the lock, the value, its retention.
-- Returns 1, or 0 if the owner has lost the lock.
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
