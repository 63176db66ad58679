#!lua flags=allow-oom
-- Makes all results with one of these tags outdated. KEYS: the tags of a server. ARGV: the longest lifetime of a result in
-- milliseconds, the maximum number of tags, the tag that all results have, the tags.
-- A tag has a new version after each removal: the time.
local time = redis.call('TIME')
local version = time[1] .. '.' .. time[2]
if redis.call('HLEN', KEYS[1]) + #ARGV - 3 > tonumber(ARGV[2]) then
  -- Everything is outdated, so the other tags are not needed any more.
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], ARGV[3], version)
else
  for i = 4, #ARGV do
    redis.call('HSET', KEYS[1], ARGV[i], version)
  end
end
-- Results that were stored before expire earlier than the version.
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
