# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the programs of the corpus work on: text made on the spot, the same each time.

Each function returns the text of a file; table.py says which program reads it.
"""

from __future__ import annotations

from random import Random

SEED = 20261123


# ---- g++: templates that are instantiated a few hundred times ----

TEMPLATES_HEAD = """\
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

template <int N> struct number { static constexpr long value = number<N - 1>::value + N; };
template <> struct number<0> { static constexpr long value = 0; };

template <class... T> struct row {
  std::tuple<T...> field;
  template <class F> auto each(F f) const { return std::apply([&](const T &...t) { return (f(t) + ... + 0L); }, field); }
};
"""
TEMPLATES_PART = """
struct key{n} {{ int a; std::string b; bool operator<(const key{n} &o) const {{ return a < o.a || b < o.b; }} }};
using table{n} = std::map<key{n}, std::vector<row<int, {kinds}>>>;
using value{n} = std::variant<std::string, {kinds}, std::shared_ptr<table{n}>>;
long sum{n}(const table{n} &table) {{
  long all = number<{depth}>::value;
  std::unordered_map<std::string, std::function<long(const key{n} &)>> by;
  by["{n}"] = [](const key{n} &k) {{ return k.a + {n}; }};
  for (const auto &[key, rows] : table) {{
    auto copy = rows;
    std::sort(copy.begin(), copy.end(), [](auto &x, auto &y) {{ return std::get<0>(x.field) < std::get<0>(y.field); }});
    for (const auto &one : copy) all += one.each([](const auto &v) {{ return (long)sizeof v; }});
    all += by[key.b](key) + std::regex_match(key.b, std::regex("[a-z]+{n}"));
  }}
  return std::visit([all](const auto &v) {{ return all + (long)sizeof v; }}, value{n}{{std::string()}});
}}
"""
KINDS = ("long", "double", "float", "std::vector<int>", "std::pair<int, long>", "std::map<int, std::string>", "char")


def templates() -> str:
    """C++ that keeps cc1plus busy with instantiating."""
    random = Random(SEED)
    parts = [
        TEMPLATES_PART.format(n=n, kinds=", ".join(random.sample(KINDS, 3)), depth=300 + 10 * n) for n in range(10)
    ]
    return TEMPLATES_HEAD + "".join(parts)


# ---- python3 ----

def json_and_dicts() -> str:
    return """\
import json, random

random.seed(1)
words = ["".join(random.choices("abcdefghijklmnop", k=random.randint(3, 12))) for _ in range(5000)]

def record(n):
    return {"id": n, "name": random.choice(words), "tags": random.sample(words, 5), "place": {"x": n / 7, "y": -n},
            "text": " ".join(random.choices(words, k=random.randint(1, 30)))}

count, index = {}, {}
for turn in range(12):
    rows = [record(n) for n in range(random.choice((500, 2000, 4000)))]
    text = json.dumps(rows, indent=turn % 3 or None)
    again = json.loads(text)
    for row in again:
        for word in row["text"].split():
            count[word] = count.get(word, 0) + 1
        index.setdefault(row["name"], []).append(row["id"])
    lines = sorted(text.splitlines() or [text], key=len)
    "\\n".join(lines).encode().decode()
    packed = {key: tuple(ids) for key, ids in index.items()}
    if turn % 4 == 3:
        index = {}
print(len(count), sum(count.values()))
"""


# ---- redis-server ----

def redis_load() -> str:
    """A shell script: the server is traced, its clients are not."""
    return """\
redis-server --port 0 --unixsocket socket --save '' --appendonly no --daemonize no &
server=$!
unset LD_PRELOAD HAKMEM_TRACE_FILE
ask() { redis-cli -s socket "$@" >/dev/null 2>&1; }
load() { redis-benchmark -s socket -q -c 16 "$@" >/dev/null; }
each() { load -n 200 -r 40 "$@"; }
tries=0
until ask ping; do tries=$((tries + 1)); [ $tries -lt 100 ] || exit 1; sleep 0.1; done
set -e
for turn in 1 2 3; do
  load -t set,get,lpush -d 64 -n 20000 -r 4000 -P 16
  load -t set,get -d 100000 -n 3000 -r 300
  load -t set,get -d 3000000 -n 60 -r 8
  load -t set,get -d 20000 -n 4000 -r 500
  load -t lpush,rpush,lpop,rpop,hset,mset,lrange_100 -d 100000 -n 400 -r 100
  each setrange big:__rand_int__ 150000 end
  each append big:__rand_int__ more
  each getrange big:__rand_int__ 0 120000
  each setbit bits:__rand_int__ 2000000 1
  each bitop xor both bits:__rand_int__ bits:__rand_int__
  each dump big:__rand_int__
  each copy big:__rand_int__ copy replace
  each eval 'return #redis.call("set", KEYS[1], string.rep(ARGV[1], 9000))' 1 lua:__rand_int__ __rand_int__
  load -n 20 sort mylist alpha
  load -n 20 lrange mylist 0 200
  ask flushall sync
done
ask shutdown nosave || true  # the server hangs up instead of answering
wait $server
"""


# ---- sqlite3 ----

def tables() -> str:
    """SQL: rows, indices, sorts that do not fit a page cache, blobs."""
    return """\
pragma cache_size = -16000;
create table item(id integer primary key, kind integer, name text, price real, note text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
  insert into item select i, i * 7919 % 97, 'item ' || (i * 104729 % 60000), i * 0.37,
    substr('the quick brown fox jumps over the lazy dog again and again', i % 20, 5 + i % 37) from n;
create index by_kind on item(kind, price);
create index by_name on item(name);
select kind, count(*), avg(price), length(group_concat(name)) from item group by kind order by 3 desc limit 5;
select length(group_concat(note, '|')) from (select note from item order by note, name desc);
create table picture(id integer primary key, bytes blob);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60)
  insert into picture select i, cast(printf('%.*c', 1 + (i * 50021) % 1500000, char(65 + i)) as blob) from n;
select sum(length(bytes)), count(distinct substr(hex(bytes), 1, 2)) from picture;
update picture set bytes = zeroblob(length(bytes) / 2) where id % 3 = 0;
select a.kind, count(*) from item a join item b on a.name = b.name group by a.kind order by 2 limit 3;
select json_array_length(json_group_array(json_object('id', id, 'name', name, 'note', note))) from item;
delete from item where id % 5 <> 0;
vacuum;
select count(*), max(length(printf('%.*c', id * 20, 'x'))) from item where id % 250 = 0;
"""


# ---- ghostscript ----

def drawing() -> str:
    """PostScript: pages with curves, text, shadings and pictures of several sizes."""
    return """\
%!PS
/Random { rand 2147483647 div mul } def
/Curves { 400 { 600 Random 800 Random moveto 600 Random 800 Random 600 Random 800 Random 600 Random 800 Random curveto
  3 Random setlinewidth 1 Random 1 Random 1 Random setrgbcolor stroke } repeat } def
/Words { 60 { gsave 500 Random 780 Random moveto /Times-Roman findfont 8 40 Random add scalefont setfont
  1 Random setgray (the allocator keeps what it gives back) show grestore } repeat } def
/Picture { /n exch def gsave 400 Random 500 Random translate 200 200 scale
  n n 8 [n 0 0 n neg 0 n] { n string dup 0 1 n 1 sub { 255 Random cvi put dup } for pop } image grestore } def
/Shade { gsave 0 0 600 800 rectclip << /ShadingType 2 /ColorSpace /DeviceRGB /Coords [0 0 600 800]
  /Function << /FunctionType 2 /Domain [0 1] /C0 [1 Random 1 1] /C1 [0 1 Random 0.4] /N 1 >> /Extend [true true] >>
  shfill grestore } def
1 1 12 { /page exch def page srand Shade Curves Words page 60 mul Picture page 25 mul Picture
  40 { 600 Random 800 Random 30 0 360 arc clip newpath initclip } repeat showpage } for
"""


# ---- node ----

def buffers() -> str:
    """JavaScript: buffers, packing and JSON; what lies in V8's own heap is not seen by malloc."""
    return """\
const zlib = require('zlib'), crypto = require('crypto');
let seed = 1;
const random = (n) => { seed = (seed * 48271) % 2147483647; return seed % n; };
const kept = [];
let sum = 0;
for (let turn = 0; turn < 900; turn++) {
  const size = 1000 + random(turn % 7 === 0 ? 3000000 : 200000);
  const raw = Buffer.alloc(size, 'row ' + turn);
  for (let i = 0; i < size; i += 64) raw[i] = random(256);
  const packed = zlib.gzipSync(raw, { level: 1 + turn % 6 });
  const back = zlib.gunzipSync(packed);
  sum += crypto.createHash('sha256').update(back).digest()[0] + packed.length;
  kept.push(Buffer.concat([packed, Buffer.from(JSON.stringify({ turn, text: raw.toString('latin1', 0, 5000) }))]));
  if (kept.length > 30) kept.splice(random(20), 10);
  if (turn % 50 === 49) sum += new Map(Array.from({ length: 20000 }, (_, i) => [i, 'v' + i])).size;
}
console.log(sum);
"""


# ---- z3 ----

def puzzle() -> str:
    """SMT-LIB: pigeons that do not fit, products of bit vectors, and arrays."""
    pigeons, holes = 9, 8
    lines = ["(set-option :produce-models true)", "(push)"]
    lines += [f"(declare-const p{i}_{j} Bool)" for i in range(pigeons) for j in range(holes)]
    lines += [f"(assert (or {' '.join(f'p{i}_{j}' for j in range(holes))}))" for i in range(pigeons)]
    lines += [f"(assert (not (and p{i}_{k} p{j}_{k})))"
              for k in range(holes) for i in range(pigeons) for j in range(i)]
    lines += ["(check-sat)", "(pop)"]
    for turn, product in enumerate((64507, 1040399, 16769023)):
        lines += ["(push)", *(f"(declare-const {name} (_ BitVec 40))" for name in "xy"),
                  f"(assert (= (bvmul x y) (_ bv{product} 40)))",
                  *(f"(assert (bvult {name} (_ bv{4096 << turn} 40)))" for name in "xy"),
                  *(f"(assert (bvugt {name} (_ bv1 40)))" for name in "xy"), "(check-sat)", "(pop)"]
    lines += ["(push)", "(declare-const a0 (Array Int Int))"]
    lines += [f"(define-fun a{i + 1} () (Array Int Int) (store a{i} {i * 7 % 61} (+ {i} (select a{i} {i * 3 % 53}))))"
              for i in range(120)]
    lines += ["(assert (> (select a120 5) (select a60 6)))", "(check-sat)", "(pop)"]
    return "\n".join(lines) + "\n"
