-- Makes the caller the writer of a stream.
-- ARGV: the retention, the name, the number of the first entry, the duration of the lease or an empty text, the entry that
-- ends the stream when the lease ends.
-- Returns the fence of the writer, and the number of its next entry.
local first, lease, lease_entry = tonumber(ARGV[3]), ARGV[4], ARGV[5]
local stream = load()
local fence = next_fence(stream)
stream = stream or { first = first, last = first - 1, bytes = 0, ended = '0' }
if first > stream.last + 1 and stream.ended == '0' then
  redis.call('DEL', ENTRIES)
  stream.first, stream.last, stream.bytes = first, first - 1, 0
end
stream.fence = fence
save(stream)
redis.call('HDEL', STREAM, 'lease', 'lease_end', 'lease_entry')
if lease ~= '' then
  redis.call('HSET', STREAM, 'lease', lease, 'lease_end', number(now + tonumber(lease)), 'lease_entry', lease_entry)
end
-- Expired streams do not stay in the list of a session that is used for long.
redis.call('ZREMRANGEBYSCORE', STREAMS, '-inf', number(now))
mark_used()
return { number(stream.fence), number(stream.last + 1) }
