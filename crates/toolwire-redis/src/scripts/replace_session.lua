#!lua
-- Replaces the record of a session. KEYS: the session. ARGV: the revision that is replaced, the new value. A value
-- starts with its revision in 8 bytes. Returns 1, or 0 if the session has another revision or does not exist.
local value = redis.call('GET', KEYS[1])
if not value or value:sub(1, 8) ~= ARGV[1] then
  -- The same call comes again if its first response was lost.
  return value == ARGV[2] and 1 or 0
end
redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
return 1
