-- The beginning of all scripts that use one stream.
--
-- KEYS: the stream, its entries, the streams of its session by expiry. ARGV starts with the retention and the name of the
-- stream.
--
-- A stream is a hash: first (the number of the oldest entry), last (the number of the newest entry), bytes, ended, fence (of
-- its writer), and, if its writer has a lease, lease (its duration), lease_end and lease_entry (the entry that ends the
-- stream). `read_until` is the time until which a reader waits for an entry. Entries are a list; each starts with a letter
-- for its kind.
local STREAM, ENTRIES, STREAMS = unpack(KEYS)
local RETENTION, NAME = tonumber(ARGV[1]), ARGV[2]

-- The bytes that an entry takes besides its message.
local OVERHEAD = 64

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function number(text)
  return string.format('%.0f', text)
end

-- Returns the stream, or nil if it does not exist.
local function load()
  local fields = redis.call('HGETALL', STREAM)
  if #fields == 0 then
    return nil
  end
  local stream = {}
  for i = 1, #fields, 2 do
    stream[fields[i]] = fields[i + 1]
  end
  for _, name in ipairs({ 'first', 'last', 'bytes', 'fence', 'lease', 'lease_end', 'read_until' }) do
    stream[name] = tonumber(stream[name])
  end
  return stream
end

-- Keeps the stream for another time.
local function mark_used()
  redis.call('ZADD', STREAMS, number(now + RETENTION), NAME)
  for _, key in ipairs(KEYS) do
    redis.call('PEXPIRE', key, RETENTION)
  end
end

-- Returns a fence that is higher than all earlier ones, also than those of a removed stream with this name.
local function next_fence(stream)
  local micros = time[1] * 1000000 + time[2]
  return math.max(micros, stream and stream.fence + 1 or 0)
end

-- Appends an entry, and evicts old ones beyond the limits.
local function push(stream, entry, max_entries, max_bytes)
  redis.call('RPUSH', ENTRIES, entry)
  stream.last = stream.last + 1
  stream.bytes = stream.bytes + #entry + OVERHEAD
  local kind = entry:sub(1, 1)
  stream.ended = (kind == 'L' or kind == 'E') and '1' or '0'
  while stream.first < stream.last
    and (stream.last - stream.first + 1 > max_entries or stream.bytes > max_bytes) do
    local evicted = redis.call('LPOP', ENTRIES)
    stream.bytes = stream.bytes - #evicted - OVERHEAD
    stream.first = stream.first + 1
  end
end

-- Stores what `push` changed.
local function save(stream)
  redis.call('HSET', STREAM, 'first', number(stream.first), 'last', number(stream.last), 'bytes', number(stream.bytes),
    'ended', stream.ended, 'fence', number(stream.fence))
end

-- Wakes readers that wait on any node.
local function wake(stream, channel)
  if stream.read_until and stream.read_until > now then
    redis.call('HDEL', STREAM, 'read_until')
    redis.call('PUBLISH', channel, STREAM)
  end
end
