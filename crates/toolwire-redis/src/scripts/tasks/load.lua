-- Returns a task. ARGV: the owner, or an empty text for any.
local task = load()
if task and (ARGV[1] == '' or task.owner == ARGV[1]) then
  return stored(task)
end
return nil
