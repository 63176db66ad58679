-- Replaces the record of a task.
-- ARGV: the id of this call, the revision that is replaced, format, record, runnable, final, expires.
-- Returns the new revision, or nil if the task has another revision or has ended.
local task = load()
if not task then
  return nil
end
local revision = tonumber(ARGV[2]) + 1
if task.call == ARGV[1] then
  -- The same call comes again if its first response was lost.
  return revision
end
if task.revision ~= ARGV[2] or task.final == '1' then
  return nil
end
task.call, task.format, task.record, task.runnable, task.final, task.expires =
  ARGV[1], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
task.revision = string.format('%.0f', revision)
redis.call('HSET', TASK, 'call', task.call, 'format', task.format, 'record', task.record, 'runnable', task.runnable,
  'final', task.final, 'expires', task.expires, 'revision', task.revision)
if task.final == '1' then
  end_lease(task)
end
index(task)
return revision
