#!lua
-- Returns a session, extends its life, and marks a new session as initialized. A new session has the first revision, and
-- the record that it has after that. So only the revision changes, also if the record is sealed.
-- KEYS: the session. ARGV: the time to live, the first revision, the next one. Returns the value of the session, or nil.
local value = redis.call('GETEX', KEYS[1], 'PX', ARGV[1])
if not value or value:sub(1, #ARGV[2]) ~= ARGV[2] then
  return value
end
redis.call('SETRANGE', KEYS[1], 0, ARGV[3])
return ARGV[3] .. value:sub(#ARGV[3] + 1)
