#!lua flags=allow-oom
-- Gives a number back. KEYS: the lease, the messages. ARGV: the owner.
if redis.call('HGET', KEYS[1], 'owner') == ARGV[1] then
  redis.call('UNLINK', KEYS[1], KEYS[2])
end
return 1
