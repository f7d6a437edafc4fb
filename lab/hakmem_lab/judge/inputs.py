# SPDX-License-Identifier: MIT OR Apache-2.0
"""Texts that the programs of table.py read, the same each time. Each function returns the text of one file."""

from __future__ import annotations

import json
from functools import cache
from random import Random

SEED = 20261128
WORDS = "amber basalt cedar delta ember fjord granite harbor iris juniper kelp lichen maple nectar onyx pebble".split()


def phrase(random: Random, words: int) -> str:
    return " ".join(random.choice(WORDS) for _ in range(words))


# ---- documents ----

@cache
def orders(count: int) -> list[dict[str, object]]:
    random = Random(SEED)
    return [{
        "id": f"order-{number:08d}",
        "customer": {"name": phrase(random, 2), "street": phrase(random, 3), "code": random.randrange(99999)},
        "lines": [{"article": phrase(random, 2), "price": round(random.uniform(1, 500), 2),
                   "pieces": random.randrange(1, 20), "tags": [phrase(random, 1) for _ in range(random.randrange(1, 5))]}
                  for _ in range(random.randrange(2, 16))],
        "note": phrase(random, random.randrange(60)) if random.random() < 0.3 else None,
    } for number in range(count)]


@cache
def orders_json() -> str:
    """16 MB, one line for each order."""
    return "[" + ",\n".join(json.dumps(one) for one in orders(20000)) + "]\n"


@cache
def orders_xml() -> str:
    """12 MB of elements with attributes and text."""
    return "<orders>\n" + "".join(xml_of(one) for one in orders(13000)) + "</orders>\n"


def xml_of(order: dict[str, object]) -> str:
    customer, lines = order["customer"], order["lines"]
    assert isinstance(customer, dict) and isinstance(lines, list)
    parts = "".join(f'<line article="{line["article"]}" pieces="{line["pieces"]}"><price>{line["price"]}</price>'
                    + "".join(f"<tag>{tag}</tag>" for tag in line["tags"]) + "</line>\n" for line in lines)
    return (f'<order id="{order["id"]}"><customer code="{customer["code"]}">{customer["name"]}</customer>\n{parts}'
            f"<note>{order['note'] or ''}</note></order>\n")


@cache
def lines_of_words() -> str:
    """8 MB: 200,000 lines of a key and words."""
    random = Random(SEED)
    return "".join(f"key{random.randrange(90000)} {phrase(random, 1 + random.randrange(10))}\n" for _ in range(200000))


# ---- scripts, each with `rounds` of building and dropping ----

def lua(rounds: int) -> str:
    return f"""\
local function tree(depth)
  if depth == 0 then return {{ x = depth, name = "leaf" .. depth }} end
  return {{ left = tree(depth - 1), right = tree(depth - 1), name = "node" .. depth, at = {{ depth, depth + 1 }} }}
end
local sum = 0
for round = 1, {rounds} do
  local rows = {{}}
  for i = 1, 150000 do rows[i] = {{ id = i, name = "row " .. (i * 7919 % 100003), tags = {{ i % 7, i % 11 }} }} end
  local grown = tree(15)
  local text = {{}}
  for i = 1, 60000 do text[i] = rows[i].name .. rows[i].tags[1] end
  sum = sum + #table.concat(text, ",") + #grown.name
  rows, grown, text = nil, nil, nil
  collectgarbage()
end
print(sum)
"""


def perl(rounds: int) -> str:
    return f"""\
use strict; use warnings;
my $sum = 0;
for my $round (1 .. {rounds}) {{
    my (%by, @rows);
    for my $i (1 .. 120000) {{
        push @rows, {{ id => $i, name => "row " . ($i * 7919 % 100003), tags => [$i % 7, $i % 11, "tag$i"] }};
        push @{{ $by{{ $i * 31 % 20011 }} }}, $rows[-1]{{name}};
    }}
    my $text = join ',', map {{ $_->{{name}} }} @rows;
    my @parts = sort {{ $a cmp $b }} split /,/, $text;
    $sum += length($text) + @parts + keys %by;
}}
print "$sum\\n";
"""


def python(rounds: int) -> str:
    return f"""\
import json, random
random.seed(1)
words = ["".join(random.choices("abcdefghijklmnop", k=random.randint(3, 12))) for _ in range(5000)]
total = 0
for turn in range({rounds}):
    rows = [{{"id": n, "name": words[n % 5000], "tags": words[n % 90:n % 90 + 5], "place": {{"x": n / 7, "y": -n}},
             "text": " ".join(words[n % 800:n % 800 + 12])}} for n in range(60000)]
    again = json.loads(json.dumps(rows))
    count = {{}}
    for row in again:
        for word in row["text"].split():
            count[word] = count.get(word, 0) + 1
    total += len(count) + sum(count.values())
    del rows, again, count
print(total)
"""


def ruby() -> str:
    return """\
sum = 0
3.times do
  rows = (1..120000).map { |i| { id: i, name: "row #{i * 7919 % 100003}", tags: [i % 7, "tag#{i}"] } }
  by = rows.group_by { |row| row[:id] % 2003 }
  text = rows.map { |row| row[:name] }.join(",")
  sum += text.split(",").sort.uniq.size + by.size + text.gsub(/row (\\d)/) { "r" + $1 }.size
end
puts sum
"""


def php() -> str:
    return """\
<?php
ini_set('memory_limit', '-1');
$sum = 0;
for ($round = 0; $round < 1; $round++) {
    $rows = [];
    for ($i = 0; $i < 150000; $i++)
        $rows[] = ['id' => $i, 'name' => 'row ' . ($i * 7919 % 100003), 'tags' => [$i % 7, "tag$i"]];
    $again = json_decode(json_encode($rows), true);
    usort($again, fn($a, $b) => strcmp($a['name'], $b['name']));
    $sum += count(array_unique(array_column($again, 'name'))) + strlen(serialize($rows));
}
echo $sum, "\\n";
"""


def node() -> str:
    return """\
const zlib = require('zlib');
let sum = 0;
const kept = [];
for (let turn = 0; turn < 6; turn++) {
  const rows = Array.from({ length: 60000 }, (_, i) => ({ id: i, name: 'row ' + i * 7919 % 100003, tags: [i % 7, 'tag' + i] }));
  const text = JSON.stringify(rows);
  const again = JSON.parse(text);
  const packed = zlib.gzipSync(Buffer.from(text), { level: 1 });
  kept.push(Buffer.concat([packed, Buffer.alloc(1000000 + turn)]));
  sum += again.length + zlib.gunzipSync(packed).length;
}
console.log(sum, kept.length);
"""


AWK = "{ count[$1]++; text[$1] = text[$1] \" \" $NF; for (i = 2; i <= NF; i++) seen[$i, $1 % 97]++ } \
END { for (key in text) sum += length(text[key]) * count[key]; print sum, length(seen) }"


# ---- SQL and C++ ----

def sql() -> str:
    return """\
create table item(id integer primary key, kind integer, name text, price real, note text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)
  insert into item select i, i * 7919 % 97, 'item ' || (i * 104729 % 60000), i * 0.37,
    substr('the quick brown fox jumps over the lazy dog again and again', i % 20, 5 + i % 37) from n;
create index by_kind on item(kind, price);
create index by_name on item(name);
select kind, count(*), avg(price), length(group_concat(name)) from item group by kind order by 3 desc limit 5;
select length(group_concat(note, '|')) from (select note from item order by note, name desc);
select a.kind, count(*) from item a join item b on a.name = b.name group by a.kind order by 2 limit 3;
select json_array_length(json_group_array(json_object('id', id, 'name', name, 'note', note))) from item;
delete from item where id % 5 <> 0;
select count(*), max(length(name)) from item;
"""
