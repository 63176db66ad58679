-- Takes a record. ARGV: the id of this call, how long it can be repeated in milliseconds.
-- Returns the text, or nil if the record is absent.
local text, owner = load()
if text then
  forget(name, owner)
  redis.call('HSET', RECORD, 'taken', ARGV[1])
  if redis.call('PTTL', RECORD) > tonumber(ARGV[2]) then
    redis.call('PEXPIRE', RECORD, ARGV[2])
  end
  return text
end
-- The same call comes again if its first response was lost.
local repeated, taken = unpack(redis.call('HMGET', RECORD, 'text', 'taken'))
return taken == ARGV[1] and repeated or nil
