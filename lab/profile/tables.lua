-- SPDX-License-Identifier: MIT OR Apache-2.0
-- Small tables and strings: a list of records is built, filtered and joined, ten times.
local total = 0
for round = 1, 10 do
  local rows = {}
  for n = 1, 12000 do rows[n] = {id = n, name = "name " .. n * round, list = {n, n + 1}} end
  local names = {}
  for _, row in ipairs(rows) do if row.id % 3 == 0 then names[#names + 1] = row.name end end
  total = total + #table.concat(names, ",")
end
print(total)
