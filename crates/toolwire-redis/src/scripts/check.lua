#!lua
-- Checks that a key can be written with an expiry, read and removed.
redis.call('SET', KEYS[1], ARGV[1], 'PX', 10000)
local value = redis.call('GET', KEYS[1])
redis.call('DEL', KEYS[1])
return value
