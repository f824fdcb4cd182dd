-- A session at one moment: {meta as a flat list, snapshot or nothing, the log's entries after the snapshot}.
-- KEYS  1 log  2 snap  3 meta
local meta = redis.call('HGETALL', KEYS[3])
if #meta == 0 then
  return false
end
local from = '-'
for i = 1, #meta, 2 do
  if meta[i] == 'snap' then
    from = '(' .. meta[i + 1] .. '-0'
  end
end
return {meta, redis.call('GET', KEYS[2]), redis.call('XRANGE', KEYS[1], from, '+')}
