#!lua
-- Notes the format of the keys that a node uses, and returns that of the node that started before it.
-- KEYS: the nodes. ARGV: the format.
local before = redis.call('HGET', KEYS[1], 'format')
redis.call('HSET', KEYS[1], 'format', ARGV[1])
return before
