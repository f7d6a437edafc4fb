-- SPDX-License-Identifier: MIT OR Apache-2.0
-- tables.lua: what the benchmark gives lua5.4: tables that grow and die, strings, closures.
--
-- Nothing depends on the order of pairs(), which differs from run to run.
local state = 2026
local function below(bound)
  state = (state * 1103515245 + 12345) % 2147483648
  return (state >> 16) % bound
end

local function word()
  local letters = {}
  for i = 1, 2 + below(10) do letters[i] = string.char(97 + below(26)) end
  return table.concat(letters)
end

local function point(depth)
  if depth == 0 then return { x = below(100), y = below(100) } end
  return { left = point(depth - 1), right = point(depth - 1), name = word() }
end

local function weight(node)
  if node.x then return node.x + node.y end
  return weight(node.left) + weight(node.right) + #node.name
end

local function counted_words(how_many)
  local count, keys = {}, {}
  for _ = 1, how_many do
    local one = word()
    if not count[one] then keys[#keys + 1] = one end
    count[one] = (count[one] or 0) + 1
  end
  table.sort(keys)
  return keys, count
end

local function queue_of_closures(how_many)
  local queue, sum = {}, 0
  for i = 1, how_many do
    queue[#queue + 1] = function() return i * below(7) end
    if #queue > 64 then sum = sum + table.remove(queue, 1)() end
  end
  return sum
end

local sum = 0
for round = 1, 12 do
  local keys, count = counted_words(7000)
  local text = table.concat(keys, " ")
  local swapped, swaps = text:gsub("([aeiou])([^aeiou ])", "%2%1")
  sum = sum + weight(point(11)) + queue_of_closures(10000) + swaps + #swapped + count[keys[1]]
  print(round, #keys, keys[1], keys[#keys], sum)
end
