-- The log's end as {v, stamp}, or nothing when the session has lost its meta or its log.
-- KEYS  1 log  2 meta
if redis.call('EXISTS', KEYS[1]) == 0 then
  return false
end
local top = redis.call('HMGET', KEYS[2], 'v', 'stamp')
return top[1] and top
