#!lua
-- Adds a session to those of its principal, unless there are too many. The oldest come first.
-- KEYS: the sessions of the principal. ARGV: the id, the maximum number of sessions, how long the list is stored.
-- Returns 1, or 0 if there are too many.
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) and not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  return 0
end
redis.call('ZADD', KEYS[1], redis.call('TIME')[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
