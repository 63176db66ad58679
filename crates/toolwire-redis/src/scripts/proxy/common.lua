-- The beginning of all scripts that change records of one kind of an OAuth proxy.
--
-- KEYS: the record, all records by expiry, all records by the end of their protection, the records of the new owner by
-- expiry. Members of the sorted sets are the last part of the keys of records.
--
-- Scripts also remove records that they find in the sorted sets, and their entries in those of their owners. These keys are not in
-- KEYS, because they are known only then. They have the same part in braces, so they are on the same primary.
--
-- A record is a hash: text, owner (a digest, or an empty text), and call (the id of the call that wrote it). A record
-- that was taken has `taken` (the id of the call that took it) for a short time, and counts as absent.
local RECORD, EXPIRY, PROTECTION, OWNED = unpack(KEYS)

-- The maximum number of expired records that one call removes from the sorted sets.
local MAX_REMOVED = 1000

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- The beginning of the keys of this kind, which ends before the `r:` of the record, and the name of the record.
local prefix, name = RECORD:match('^(.*:)r:([^:]*)$')

-- Removes records that have expired from the sorted sets. The engine removes the records themselves.
local function remove_expired()
  local expired = redis.call('ZRANGE', EXPIRY, '-inf', now, 'BYSCORE', 'LIMIT', 0, MAX_REMOVED)
  if #expired > 0 then
    redis.call('ZREM', EXPIRY, unpack(expired))
    redis.call('ZREM', PROTECTION, unpack(expired))
  end
end

-- Removes a record from the sorted sets.
local function forget(other, owner)
  redis.call('ZREM', EXPIRY, other)
  redis.call('ZREM', PROTECTION, other)
  if owner and owner ~= '' then
    redis.call('ZREM', prefix .. 'o:' .. owner, other)
  end
end

-- Removes a record.
local function remove(other)
  local key = prefix .. 'r:' .. other
  forget(other, redis.call('HGET', key, 'owner'))
  redis.call('DEL', key)
end

-- Returns the text and the owner of the record, or nil if it is absent.
local function load()
  local text, owner, taken = unpack(redis.call('HMGET', RECORD, 'text', 'owner', 'taken'))
  if not text or taken then
    return nil
  end
  return text, owner
end

-- Returns the record of the owner that expires first, except this one.
local function first_of_owner()
  for _, other in ipairs(redis.call('ZRANGE', OWNED, 0, 1)) do
    if other ~= name then
      return other
    end
  end
  return nil
end

-- Returns the number of records of the owner.
local function count_of_owner()
  redis.call('ZREMRANGEBYSCORE', OWNED, '-inf', now)
  return redis.call('ZCARD', OWNED)
end

-- Stores the record, and replaces the former one. `old_owner` is the owner of the former one.
local function store(call, text, owner, lifetime, protection, old_owner)
  forget(name, old_owner)
  redis.call('DEL', RECORD)
  redis.call('HSET', RECORD, 'text', text, 'owner', owner, 'call', call)
  redis.call('PEXPIRE', RECORD, lifetime)
  redis.call('ZADD', EXPIRY, now + lifetime, name)
  redis.call('ZADD', PROTECTION, now + math.min(protection, lifetime), name)
  local indexes = { EXPIRY, PROTECTION }
  if owner ~= '' then
    redis.call('ZADD', OWNED, now + lifetime, name)
    indexes[3] = OWNED
  end
  for _, index in ipairs(indexes) do
    if redis.call('PTTL', index) < lifetime then
      redis.call('PEXPIRE', index, lifetime)
    end
  end
end
