#!lua
-- Adds a message to a mailbox, and wakes its node.
-- KEYS: the lease, the messages. ARGV: the message, the maximum number of messages and of bytes, the time after which
-- messages that no node takes expire, the length of the id at the start of the message.
-- Returns 'sent', 'absent' if no node has the number, or 'full'.
local message, max_messages, max_bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local lease = redis.call('HMGET', KEYS[1], 'channel', 'bytes', 'next', 'wake_up_bytes', 'last_id')
local channel, bytes, first, wake_up_bytes, previous_id = unpack(lease)
if not channel then
  return 'absent'
end
if redis.call('LLEN', KEYS[2]) >= max_messages or bytes + #message > max_bytes then
  return 'full'
end
local count = redis.call('RPUSH', KEYS[2], message)
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('HSET', KEYS[1], 'bytes', bytes + #message, 'last_id', message:sub(1, ARGV[5]))
local wake_up = KEYS[1]
if wake_up_bytes and #message <= tonumber(wake_up_bytes) then
  -- The node takes this message without a read if it has all messages before it, also the one with this id.
  local number = string.format('%.0f', first + count - 1)
  wake_up = table.concat({ wake_up, number, previous_id or '', message }, '\0')
end
redis.call('PUBLISH', channel, wake_up)
return 'sent'
