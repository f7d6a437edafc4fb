-- SPDX-License-Identifier: MIT OR Apache-2.0
-- Allocation-heavy Lua: growing tables, strings, closures, coroutines, weak tables and finalizers under one
-- collector mode. Never prints in pairs() order of string keys: Lua's hash seed differs from run to run.
collectgarbage(arg[1])

local state = 2024
local function next_number(bound)
  state = (state * 1103515245 + 12345) % 2147483648
  return (state >> 16) % bound
end

local function word()
  local letters = {}
  for i = 1, 1 + next_number(12) do letters[i] = string.char(97 + next_number(26)) end
  return table.concat(letters)
end

local words, count = {}, {}
for i = 1, 40000 do
  words[i] = word()
  count[words[i]] = (count[words[i]] or 0) + 1
end
local keys = {}
for key in pairs(count) do keys[#keys + 1] = key end
table.sort(keys, function(a, b)
  if count[a] ~= count[b] then return count[a] > count[b] end
  return a < b
end)
print(#keys .. " different words, most frequent:")
for i = 1, 12 do print(keys[i], count[keys[i]]) end

local text = table.concat(words, " ")
local swapped, n = text:gsub("([aeiou])([^aeiou ])", "%2%1")
print("gsub", n, #swapped, swapped:sub(1, 60))

local function tree(depth)
  if depth == 0 then return { 1 } end
  return { tree(depth - 1), tree(depth - 1), word() }
end
local function weight(node)
  if node[2] == nil then return node[1] end
  return weight(node[1]) + weight(node[2])
end
for round = 1, 6 do print("tree", round, weight(tree(13))) end

local function permutations(list, size)
  if size == 0 then coroutine.yield(table.concat(list)) end
  for i = 1, size do
    list[i], list[size] = list[size], list[i]
    permutations(list, size - 1)
    list[i], list[size] = list[size], list[i]
  end
end
local seen, last = 0, nil
for p in coroutine.wrap(function() permutations({ "a", "b", "c", "d", "e", "f", "g" }, 7) end) do
  seen, last = seen + 1, p
end
print("coroutine", seen, last)

local finalized = 0
for i = 1, 5000 do setmetatable({ i }, { __gc = function() finalized = finalized + 1 end }) end
local weak = setmetatable({}, { __mode = "v" })
for i = 1, 5000 do weak[i] = { i } end
collectgarbage()
collectgarbage()
local left = 0
for _ in pairs(weak) do left = left + 1 end
print("finalized", finalized, "weak left", left)

local big = {}
for i = 1, 300 do big[i] = string.rep(string.char(65 + i % 26), i * 997) end
local bytes = 0
for i = 300, 1, -1 do bytes = bytes + #big[i]; big[i] = nil end
print("strings", bytes)
