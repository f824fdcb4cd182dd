-- A session at one moment: {meta as a flat list, snapshot or nothing, the log's entries after the snapshot}. A snapshot only
-- saves time: without one the log is read from its beginning. Without a log or meta there is no session.
-- KEYS  1 log  2 snap  3 meta
local meta = redis.call('HGETALL', KEYS[3])
if #meta == 0 or redis.call('EXISTS', KEYS[1]) == 0 then
  return false
end
local from, snapshot = '-', redis.call('GET', KEYS[2])
if snapshot then
  for i = 1, #meta, 2 do
    if meta[i] == 'snap' then
      from = '(' .. meta[i + 1] .. '-0'
    end
  end
end
return {meta, snapshot, redis.call('XRANGE', KEYS[1], from, '+')}
