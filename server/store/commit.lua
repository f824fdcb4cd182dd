-- One step of one session, all or nothing: every check comes before the first write, and the first write is the one
-- that memory limits, replica rules and read-only servers refuse.
--
-- KEYS  1 log  2 snap  3 meta  4 ids  5 text  6 seed        (all in the session's slot)
-- ARGV  1 "append" | "create"     2 channel
--       3 base_v  4 base_stamp  5 v  6 stamp  7 entry
--       8 client ("" = nobody's action)  9 n
--      10 snapshot ("" = none)  11 seed (create only)
--      12 how many of the following are meta fields and values; after those come text ids and bodies
--
-- Answers {status, v, stamp, again}. `again` is "1" when this very step (v and stamp) was there already, which is how
-- a step sent twice because its reply got lost is told from a step that lost a race.
local REMEMBERED = 64

local log, snap, meta, ids, text, seed = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local creating, channel = ARGV[1] == 'create', ARGV[2]
local base_v, base_stamp, v, stamp, entry = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local client, n = ARGV[8], ARGV[9]
local fields = tonumber(ARGV[12])

local found = redis.call('HMGET', meta, 'v', 'stamp', 'archived')
local top_v, top_stamp, archived = found[1], found[2], found[3]

if top_v and tonumber(top_v) >= tonumber(v) then
  local at = redis.call('XRANGE', log, v .. '-0', v .. '-0')
  if at[1] and at[1][2][2] == stamp then
    return {'ok', v, stamp, '1'}
  end
end

if creating then
  if top_v then
    return {'conflict', top_v, top_stamp, ''}
  end
  if redis.call('EXISTS', log) == 1 then
    return {'conflict', '0', '', ''}
  end
elseif not top_v then
  return {'missing', '0', '', ''}
end

-- Per client: "<last n> <how many acks> <n>:<v> <n>:<v> ...", oldest first.
local last, held, acks = nil, 0, ''
if client ~= '' then
  local record = redis.call('HGET', ids, client)
  if record then
    local a, b, c = string.match(record, '^(%d+) (%d+) (.*)$')
    last, held, acks = a, tonumber(b), c
    if tonumber(n) <= tonumber(last) then
      local before = string.match(' ' .. acks, ' ' .. n .. ':(%d+)')
      if before then
        return {'duplicate', before, '', ''}
      end
      return {'too_old', top_v, top_stamp, ''}
    end
  end
end

if not creating then
  if archived == '1' then
    return {'archived', top_v, top_stamp, ''}
  end
  if top_v ~= base_v or top_stamp ~= base_stamp then
    return {'conflict', top_v, top_stamp, ''}
  end
end

if creating then
  redis.call('XADD', log, v .. '-0', 's', stamp, 'e', entry)
  redis.call('SET', seed, ARGV[11])
elseif not redis.call('XADD', log, 'NOMKSTREAM', v .. '-0', 's', stamp, 'e', entry) then
  return {'missing', '0', '', ''}
end

local update = {'v', v, 'stamp', stamp}
for i = 13, 12 + fields do
  update[#update + 1] = ARGV[i]
end
if ARGV[10] ~= '' then
  redis.call('SET', snap, ARGV[10])
  update[#update + 1] = 'snap'
  update[#update + 1] = v
end
redis.call('HSET', meta, (table.unpack or unpack)(update))

if client ~= '' then
  if held >= REMEMBERED then
    acks = string.sub(acks, string.find(acks, ' ', 1, true) + 1)
  else
    held = held + 1
  end
  if acks ~= '' then
    acks = acks .. ' '
  end
  redis.call('HSET', ids, client, n .. ' ' .. string.format('%d', held) .. ' ' .. acks .. n .. ':' .. v)
end

for i = 13 + fields, #ARGV, 2 do
  redis.call('HSET', text, ARGV[i], ARGV[i + 1])
end

redis.call('PUBLISH', channel, v)
return {'ok', v, stamp, ''}
