-- Removes a task. ARGV: the id, and 'always', or 'expired' to keep a task that has not expired.
-- Returns 1 if the task existed and had not expired, else 0.
local task = load()
if task and ARGV[2] == 'expired' then
  return 0
end
forget()
redis.call('ZREM', EXPIRY, ARGV[1])
return task and 1 or 0
