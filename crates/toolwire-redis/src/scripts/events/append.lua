-- Appends the entries of a writer that are not stored yet, and renews its lease.
-- ARGV: the retention, the name, the channel of waiting readers, the fence of the writer, the number of its first entry,
-- the maximum number of entries and of bytes, the entries.
-- Returns 'stored', 'fenced', 'ended', or 'lost' and the number of the newest entry.
local channel, fence, next = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local max_entries, max_bytes = tonumber(ARGV[6]), tonumber(ARGV[7])
local stream = load()
if not stream then
  return { 'lost', '0' }
end
if fence < stream.fence then
  return { 'fenced' }
end
if next > stream.last + 1 then
  return { 'lost', number(stream.last) }
end
local new = 8 + stream.last + 1 - next
if stream.ended == '1' and new <= #ARGV then
  return { 'ended' }
end
stream.fence = fence
for i = new, #ARGV do
  push(stream, ARGV[i], max_entries, max_bytes)
  if stream.ended == '1' then
    break
  end
end
save(stream)
if stream.lease then
  redis.call('HSET', STREAM, 'lease_end', number(now + stream.lease))
end
if new <= #ARGV then
  wake(stream, channel)
end
mark_used()
return { 'stored' }
