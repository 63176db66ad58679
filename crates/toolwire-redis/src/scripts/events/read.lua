-- Reads the entries after a number. If the lease of the writer has ended, the stream ends first, unless the number is beyond
-- the newest entry: the reader has seen entries that are lost, and the end must not take the number of one of them.
-- ARGV: the retention, the name, the channel of waiting readers, the number, how long the reader waits for an entry, the
-- maximum number of entries and of bytes of a stream, the maximum number of entries and of bytes to return.
-- Returns 'unknown', 'ended', 'gap' and the number of the oldest entry, 'nothing' and the time until the lease ends or
-- an empty text, or 'entries' and the entries.
local channel, after, wait = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local stream = load()
if not stream then
  return { 'unknown' }
end
mark_used()
if after > stream.last then
  return { 'unknown' }
end
if stream.lease_end and stream.lease_end <= now and stream.ended == '0' then
  stream.fence = next_fence(stream)
  push(stream, stream.lease_entry, tonumber(ARGV[6]), tonumber(ARGV[7]))
  save(stream)
  redis.call('HDEL', STREAM, 'lease', 'lease_end', 'lease_entry')
  wake(stream, channel)
  stream.lease_end = nil
end
if after == stream.last and stream.ended == '1' then
  return { 'ended' }
end
if after + 1 < stream.first then
  return { 'gap', number(stream.first) }
end
if after == stream.last then
  if wait > 0 then
    local until_time = math.max(now + wait, stream.read_until or 0)
    redis.call('HSET', STREAM, 'read_until', number(until_time))
  end
  return { 'nothing', stream.lease_end and number(stream.lease_end - now) or '' }
end
-- Entries are read one by one, because a few of them may be larger than all that may be returned.
local found, bytes = { 'entries' }, 0
local from = after + 1 - stream.first
for i = from, math.min(from + ARGV[8] - 1, stream.last - stream.first) do
  local entry = redis.call('LINDEX', ENTRIES, number(i))
  bytes = bytes + (entry and #entry or 0)
  if not entry or (i > from and bytes > tonumber(ARGV[9])) then
    break
  end
  found[#found + 1] = entry
end
return found
