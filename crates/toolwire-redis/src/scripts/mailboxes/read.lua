#!lua flags=allow-oom
-- Renews a lease, removes the messages that its node has, and returns the next ones.
-- KEYS: the lease, the messages. ARGV: the owner, the duration of the lease, the number of the first message to return, the
-- maximum number of messages and of bytes to return, the id of the last message that the node has or an empty text.
-- Returns the number of further messages that wait, and the messages, or 'lost' if the owner has lost the number or messages.
local first, max_bytes, last_id = tonumber(ARGV[3]), tonumber(ARGV[5]), ARGV[6]
local owner, next, bytes = unpack(redis.call('HMGET', KEYS[1], 'owner', 'next', 'bytes'))
if owner ~= ARGV[1] then
  return { 'lost' }
end
-- A failover can lose messages that the node has. Then other messages may have their numbers.
local removed, count = first - next, redis.call('LLEN', KEYS[2])
if removed < 0 or removed > count then
  return { 'lost' }
end
if removed > 0 and redis.call('LINDEX', KEYS[2], removed - 1):sub(1, #last_id) ~= last_id then
  return { 'lost' }
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
for _ = 1, removed do
  bytes = bytes - #redis.call('LPOP', KEYS[2])
end
redis.call('HSET', KEYS[1], 'next', first, 'bytes', bytes)
-- Messages are read one by one, because a few of them may be larger than all that may be returned.
local waiting, found_bytes = count - removed, 0
local found = { '0' }
for i = 0, waiting - 1 do
  local message = redis.call('LINDEX', KEYS[2], i)
  found_bytes = found_bytes + #message
  if i == tonumber(ARGV[4]) or (i > 0 and found_bytes > max_bytes) then
    found[1] = tostring(waiting - i)
    break
  end
  found[#found + 1] = message
end
return found
