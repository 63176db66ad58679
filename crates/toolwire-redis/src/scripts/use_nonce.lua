#!lua
-- Marks a nonce of an owner with a limit as used.
-- KEYS: the nonce, the nonces of its owner by expiry. ARGV: the id of this call, the lifetime in milliseconds, the
-- maximum number of nonces, the name of the nonce in the set.
-- Returns 1 if the nonce was unused, 0 if it was used, and -1 if the owner has too many.
local nonce, owned = KEYS[1], KEYS[2]
local call, lifetime, limit, name = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local user = redis.call('GET', nonce)
if user then
  -- The same call comes again if its first response was lost.
  return user == call and 1 or 0
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', owned, '-inf', now)
if redis.call('ZCARD', owned) >= limit then
  return -1
end
redis.call('SET', nonce, call, 'PX', lifetime)
redis.call('ZADD', owned, now + lifetime, name)
if redis.call('PTTL', owned) < lifetime then
  redis.call('PEXPIRE', owned, lifetime)
end
return 1
