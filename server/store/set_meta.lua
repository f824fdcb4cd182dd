-- Set meta fields of a session that exists; a session that is gone stays gone. Answers 1 or 0.
-- KEYS  1 meta        ARGV  field, value, ...
if redis.call('HEXISTS', KEYS[1], 'v') == 0 then
  return 0
end
redis.call('HSET', KEYS[1], (table.unpack or unpack)(ARGV))
return 1
