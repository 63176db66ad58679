#!lua
-- Adds a message to a mailbox, and wakes its node.
-- KEYS: the lease, the messages. ARGV: the message, the maximum number of messages and of bytes, the time after which
-- messages that no node takes expire.
-- Returns 'sent', 'absent' if no node has the number, or 'full'.
local message, max_messages, max_bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local channel, bytes = unpack(redis.call('HMGET', KEYS[1], 'channel', 'bytes'))
if not channel then
  return 'absent'
end
if redis.call('LLEN', KEYS[2]) >= max_messages or bytes + #message > max_bytes then
  return 'full'
end
redis.call('RPUSH', KEYS[2], message)
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('HINCRBY', KEYS[1], 'bytes', #message)
redis.call('PUBLISH', channel, KEYS[1])
return 'sent'
