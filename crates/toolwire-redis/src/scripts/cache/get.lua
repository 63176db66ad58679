#!lua flags=no-writes
-- Returns a cached result, or nil if it is absent or outdated.
-- KEYS: the result, the tags of its server. ARGV: the tags of the result.
-- A result is a hash: `text`, and `versions`, which are those of its tags when it was stored.
local text, versions = unpack(redis.call('HMGET', KEYS[1], 'text', 'versions'))
if not text then
  return nil
end
local current = redis.call('HMGET', KEYS[2], unpack(ARGV))
for i = 1, #current do
  current[i] = current[i] or ''
end
return versions == table.concat(current, ' ') and text or nil
