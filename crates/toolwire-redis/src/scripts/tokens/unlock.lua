#!lua flags=allow-oom
-- Releases a lock. KEYS: the lock. ARGV: its owner. Returns 1, or 0 if the owner has lost the lock.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
