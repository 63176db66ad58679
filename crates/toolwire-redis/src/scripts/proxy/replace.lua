-- Replaces the text of a record if it is still the expected one. The limits of the kind do not apply.
-- ARGV: the id of this call, text, owner, lifetime and protection in milliseconds, the limit of the owner, the expected
-- text.
-- Returns 1, or 0 if the record is absent or has another text.
local call, text, owner = ARGV[1], ARGV[2], ARGV[3]
local old_text, old_owner = load()
if not old_text then
  return 0
end
if redis.call('HGET', RECORD, 'call') == call then
  -- The same call comes again if its first response was lost.
  return 1
end
if old_text ~= ARGV[7] then
  return 0
end
remove_expired()
store(call, text, owner, tonumber(ARGV[4]), tonumber(ARGV[5]), old_owner)
if owner ~= '' and count_of_owner() > tonumber(ARGV[6]) then
  local first = first_of_owner()
  if first then
    remove(first)
  end
end
return 1
