-- The beginning of all scripts that use one task.
--
-- KEYS: the task, all tasks by owner, the unfinished tasks by owner, all tasks by expiry, the waiting tasks of the tool
-- by creation, the leased tasks of the tool by the end of the lease.
--
-- A task is a hash: format, id, owner (a digest), principal, tool, record, revision, runnable, final, created, expires,
-- and, until a worker releases it or another one takes it, worker and lease (the end of its lease). `call` is the id of
-- the call that wrote the record.
local TASK, OWNED, UNFINISHED, EXPIRY, WAITING, LEASED = unpack(KEYS)

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Returns the task, or nil if it does not exist or has expired.
local function load()
  local fields = redis.call('HGETALL', TASK)
  if #fields == 0 then
    return nil
  end
  local task = {}
  for i = 1, #fields, 2 do
    task[fields[i]] = fields[i + 1]
  end
  if task.expires ~= '' and tonumber(task.expires) <= now then
    return nil
  end
  return task
end

-- Returns the worker whose lease lasts, or an empty text.
local function current_worker(task)
  if task.worker and tonumber(task.lease) > now then
    return task.worker
  end
  return ''
end

-- Returns what a store returns of a task.
local function stored(task)
  return { task.format, task.id, task.principal, task.record, task.revision, current_worker(task) }
end

-- Brings the sorted sets up to date with a task.
local function index(task)
  local member = task.owner .. ':' .. task.id
  redis.call('ZADD', OWNED, 0, member)
  redis.call('ZADD', EXPIRY, task.expires == '' and '+inf' or task.expires, task.id)
  redis.call('ZREM', WAITING, task.id)
  redis.call('ZREM', LEASED, task.id)
  if task.final == '1' then
    redis.call('ZREM', UNFINISHED, member)
    return
  end
  redis.call('ZADD', UNFINISHED, 0, member)
  if task.runnable == '1' then
    if current_worker(task) ~= '' then
      redis.call('ZADD', LEASED, task.lease, task.id)
    else
      redis.call('ZADD', WAITING, task.created, task.id)
    end
  end
end

-- Ends the lease of a task.
local function end_lease(task)
  redis.call('HDEL', TASK, 'worker', 'lease')
  task.worker, task.lease = nil, nil
end

-- Gives a task to a worker for a time.
local function set_lease(task, worker, duration)
  task.worker, task.lease = worker, string.format('%.0f', now + tonumber(duration))
  redis.call('HSET', TASK, 'worker', task.worker, 'lease', task.lease)
end

-- Removes a task that exists, also if it has expired.
local function forget()
  local id, owner = unpack(redis.call('HMGET', TASK, 'id', 'owner'))
  if not id then
    return
  end
  local member = owner .. ':' .. id
  redis.call('DEL', TASK)
  redis.call('ZREM', OWNED, member)
  redis.call('ZREM', UNFINISHED, member)
  redis.call('ZREM', EXPIRY, id)
  redis.call('ZREM', WAITING, id)
  redis.call('ZREM', LEASED, id)
end
