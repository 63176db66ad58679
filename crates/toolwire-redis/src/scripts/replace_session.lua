#!lua
-- Replaces the record of a session, and publishes a message about it.
-- KEYS: the session. ARGV: the revision that is replaced, the new value, and if a message is published, its channel and the
-- message. A value starts with its revision in 8 bytes.
-- Returns 1, or 0 if the session has another revision or does not exist. Then no message is published.
local value = redis.call('GET', KEYS[1])
if not value or (value:sub(1, 8) ~= ARGV[1] and value ~= ARGV[2]) then
  return 0
end
-- With the new value already, the first response was lost, or another call has stored the same. The message is published in
-- both cases: a call that returns 1 uses the number of its message, and other nodes would miss it.
if value ~= ARGV[2] then
  redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
end
if ARGV[3] then
  redis.call('PUBLISH', ARGV[3], ARGV[4])
end
return 1
