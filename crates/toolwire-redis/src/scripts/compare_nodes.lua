#!lua
-- Notes what a node uses, and returns what the node that started before it uses.
-- KEYS: the nodes. ARGV: the format of the keys, a value that the node has sealed or an empty text.
local before = redis.call('HMGET', KEYS[1], 'format', 'sealed')
redis.call('HSET', KEYS[1], 'format', ARGV[1], 'sealed', ARGV[2])
return before
