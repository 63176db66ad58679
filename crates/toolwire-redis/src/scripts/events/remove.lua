#!lua flags=allow-oom
-- Removes streams of a session, and wakes their readers.
-- KEYS: the streams of the session by expiry, and each removed stream followed by its entries. ARGV: the channel of waiting
-- readers, and the names of the removed streams.
for i = 2, #KEYS do
  redis.call('UNLINK', KEYS[i])
end
for i = 2, #ARGV do
  redis.call('ZREM', KEYS[1], ARGV[i])
  redis.call('PUBLISH', ARGV[1], KEYS[2 * i - 2])
end
return 1
