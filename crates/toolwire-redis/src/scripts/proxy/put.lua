-- Stores a record within the limits of its owner and of its kind.
-- ARGV: the id of this call, text, owner, lifetime and protection in milliseconds, the limit of the owner, 1 if an owner at
-- its limit loses its first record, the maximum number of records.
-- Returns 1, or 0 if the record is rejected.
local call, text, owner = ARGV[1], ARGV[2], ARGV[3]
local lifetime, protection = tonumber(ARGV[4]), tonumber(ARGV[5])
local owner_limit, removes_first, limit = tonumber(ARGV[6]), ARGV[7] == '1', tonumber(ARGV[8])
remove_expired()
local replaced, old_owner = load()
local victim = nil
if owner ~= '' and old_owner ~= owner and count_of_owner() >= owner_limit then
  if not removes_first then
    return 0
  end
  victim = first_of_owner()
end
-- The replaced record and the owner's first record free their space.
local count = redis.call('ZCOUNT', EXPIRY, '(' .. now, '+inf')
if replaced then
  count = count - 1
end
if victim then
  count = count - 1
end
local victims, position = { victim }, 0
while count >= limit do
  local other = redis.call('ZRANGE', PROTECTION, '-inf', now, 'BYSCORE', 'LIMIT', position, 1)[1]
  if not other then
    return 0
  end
  position = position + 1
  local expires = tonumber(redis.call('ZSCORE', EXPIRY, other) or 0)
  if other ~= name and other ~= victim and expires > now then
    count = count - 1
    victims[#victims + 1] = other
  end
end
for _, other in ipairs(victims) do
  remove(other)
end
store(call, text, owner, lifetime, protection, old_owner)
return 1
