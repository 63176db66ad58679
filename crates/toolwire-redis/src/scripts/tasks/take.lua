-- Gives a task that waits to a worker. ARGV: the worker, the duration of its lease, the id.
-- Returns the task, or nil if it does not wait any more.
local task = load()
if not task then
  redis.call('ZREM', WAITING, ARGV[3])
  return nil
end
if task.final == '1' or task.runnable ~= '1' or current_worker(task) ~= '' then
  return nil
end
set_lease(task, ARGV[1], ARGV[2])
index(task)
return stored(task)
