-- Creates a task.
-- ARGV: the id of this call, format, id, owner, principal, record, runnable, final, created, expires, worker or an empty
-- text, the duration of the lease, the maximum number of tasks, the maximum number of unfinished tasks of the owner or
-- an empty text, the tool.
-- Returns the task, or 'taken', 'full' or 'owner full'.
local worker, lease, max_tasks, max_unfinished = ARGV[11], ARGV[12], tonumber(ARGV[13]), tonumber(ARGV[14])
local task = load()
if task then
  -- The same call comes again if its first response was lost.
  return task.call == ARGV[1] and stored(task) or 'taken'
end
forget()
task = {
  call = ARGV[1], format = ARGV[2], id = ARGV[3], owner = ARGV[4], principal = ARGV[5], record = ARGV[6], revision = '1',
  runnable = ARGV[7], final = ARGV[8], tool = ARGV[15], created = ARGV[9], expires = ARGV[10],
}
local range = { '[' .. task.owner .. ':', '(' .. task.owner .. ';' }
if max_unfinished and task.final == '0' and redis.call('ZLEXCOUNT', UNFINISHED, unpack(range)) >= max_unfinished then
  return 'owner full'
end
if redis.call('ZCARD', EXPIRY) >= max_tasks then
  return 'full'
end
for field, value in pairs(task) do
  redis.call('HSET', TASK, field, value)
end
if worker ~= '' and task.final == '0' then
  set_lease(task, worker, lease)
end
index(task)
return stored(task)
