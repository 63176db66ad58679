#!lua flags=allow-oom
-- Removes the streams of a session, and wakes their readers.
-- KEYS: the streams of the session, and its streams and their entries. ARGV: the channel of waiting readers.
redis.call('UNLINK', unpack(KEYS))
for i = 2, #KEYS do
  redis.call('PUBLISH', ARGV[1], KEYS[i])
end
return 1
