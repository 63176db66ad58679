#!lua flags=allow-oom
-- Extends a lock. KEYS: the lock. ARGV: its owner, the new duration. Returns 1, or 0 if the owner has lost the lock.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
