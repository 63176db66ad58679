-- Renews or ends the lease of the worker that has the task.
-- ARGV: the worker, the new duration of its lease or an empty text to end it.
-- Returns 1, or 0 if the worker does not have the task.
local task = load()
if not task or task.final == '1' or task.worker ~= ARGV[1] then
  return 0
end
if ARGV[2] ~= '' then
  -- A lease that has ended is renewed, too, if no other worker took the task.
  set_lease(task, ARGV[1], ARGV[2])
elseif current_worker(task) ~= '' then
  end_lease(task)
else
  return 0
end
index(task)
return 1
