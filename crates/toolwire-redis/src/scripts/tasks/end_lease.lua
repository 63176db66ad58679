-- Lists a task whose lease has ended among the tasks that wait for a worker. ARGV: the id.
local task = load()
if not task then
  redis.call('ZREM', LEASED, ARGV[1])
elseif current_worker(task) == '' then
  end_lease(task)
  index(task)
end
return 1
