#!lua
-- Returns what the node that started before has stored, and stores what this node uses.
-- KEYS: the nodes. ARGV: names and values.
local before = {}
for i = 1, #ARGV, 2 do
  before[#before + 1] = redis.call('HGET', KEYS[1], ARGV[i])
end
redis.call('HSET', KEYS[1], unpack(ARGV))
return before
