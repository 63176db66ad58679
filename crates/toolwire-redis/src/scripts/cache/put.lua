#!lua
-- Stores a result. KEYS: the result, the tags of its server. ARGV: the text, its lifetime in milliseconds, its tags.
local current = redis.call('HMGET', KEYS[2], unpack(ARGV, 3))
for i = 1, #current do
  current[i] = current[i] or ''
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'text', ARGV[1], 'versions', table.concat(current, ' '))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
