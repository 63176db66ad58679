-- Lists a task whose lease has ended among the tasks that wait for a worker. ARGV: the id.
local task = load()
if not task then
  redis.call('ZREM', LEASED, ARGV[1])
else
  -- Its worker can still renew the lease, until another one takes the task.
  index(task)
end
return 1
