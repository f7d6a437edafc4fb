# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real programs of a root of Debian for arm64, under qemu-user, say the same on HAKMEM as on their own malloc.

HAK_TEST_LIBRARY names libhakmem.so for AArch64, HAK_TEST_ROOT the folder that make_root.sh filled. Each program starts
in the root (inside.sh), and its children do, too.
"""

from __future__ import annotations

import os
import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from root import BASE, HERE, ROOT, inside, seen  # noqa: E402
from served import JQ, JQ_INPUT, REDIS, SQL, Served  # noqa: E402

INPUT = HERE.parent / "real" / "input"
LIBRARY = "/usr/lib/aarch64-linux-gnu/libhakmem.so.0"
FIXED = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com",
         "GIT_AUTHOR_DATE": "2024-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2024-01-02T03:04:05Z", "GIT_CONFIG_COUNT": "2",
         "GIT_CONFIG_KEY_0": "pack.threads", "GIT_CONFIG_VALUE_0": "1", "GIT_CONFIG_KEY_1": "gc.auto", "GIT_CONFIG_VALUE_1": "0"}
GIT = """set -e
git init -q -b main .
for n in 1 2 3 4 5 6; do
  seq 1 3000 | sed "s/7$/seven $n/" >numbers; seq $n 400 >"file$n"
  git add .; git commit -q -m "round $n"
done
git checkout -q -b side HEAD~2; seq 5 >aside; git add .; git commit -q -m aside; git checkout -q main; git merge -q -m merged side
git gc -q --aggressive --prune=now; git fsck --full --strict; git log --graph --stat --format='%H %T %s'; git clone -q --no-local . copy
git -C copy count-objects -v; sha256sum .git/objects/pack/*.pack
"""
PYTHON = """
import collections, hashlib, json, multiprocessing, re, threading, zlib
words = [hashlib.sha256(str(n).encode()).hexdigest()[:n % 20 + 1] for n in range(20000)]
print(collections.Counter(w[0] for w in words).most_common())
text = json.dumps({w: words[n:n + 5] for n, w in enumerate(words)}, sort_keys=True)
print(len(json.loads(text)), zlib.crc32(zlib.compress(text.encode())), len(re.findall(r'[a-f]+[0-9]', text)))
found = [None] * 4
def work(k): found[k] = sum(len(str(i) * (i % 50)) for i in range(k * 5000, k * 5000 + 5000))
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(found)
with multiprocessing.get_context('fork').Pool(2) as pool: print(pool.map(len, words[:50]))
"""
GAWK = ("{ for (k = 1; k <= NF; k++) n[$k]++; gsub(/e/, \"E\"); line[NR] = $0 } END { c = asorti(n, by); for (k = 1; k <= c; k++) print by[k], n[by[k]];"
        " for (k = NR; k > 0; k--) print toupper(substr(line[k], 1, 30)) }")
XML = "<?xml version='1.0'?><list>" + "".join(f"<item n='{n}'><name>item {n}</name><of><a/><b k='{n * 7919 % 1009}'/></of></item>"
                                             for n in range(4000)) + "</list>"
REDIS_SHELL = """
redis-server --port 0 --unixsocket socket --save '' --enable-debug-command yes --io-threads 2 --daemonize no >log &
for n in $(seq 200); do [ -S socket ] && break; sleep 0.1; done
redis-cli -s socket; redis-benchmark -s socket -q -n 2000 -t set,lpush -d 200 >/dev/null 2>&1; redis-cli -s socket shutdown nosave; wait $!
"""
# Compiles, links and runs; what a compiler says of a mistake, too.
GCC = """set -e
for level in 0 2 3; do gcc -O$level -g -Wall -Wextra -c tables.c -o tables.o; sha256sum tables.o; done
gcc -g tables.o -o tables; ./tables; gcc -O2 -S tables.c -o - | sha256sum; ! gcc -fsyntax-only -DWRONG tables.c
"""


def setUpModule() -> None:
    shutil.copy(os.environ["HAK_TEST_LIBRARY"], f"{ROOT}{LIBRARY}")


class Programs(Served):
    library = LIBRARY
    place = str(ROOT / "tmp")
    seconds = 300

    def seen(self, path: Path) -> str:
        return seen(path)

    def base(self) -> dict[str, str]:
        return dict(BASE)

    def started(self, here: Path, variables: dict[str, str], *command: str) -> dict[str, object]:
        for file in INPUT.iterdir():
            shutil.copy(file, here)
        return {"args": inside(here, variables, *command)}

    def test_perl(self) -> None:
        self.same("perl", "-w", "work.pl", PERL_HASH_SEED="0", PERL_PERTURB_KEYS="0")

    def test_lua(self) -> None:
        self.same("lua5.4", "work.lua", "generational")

    def test_sqlite3(self) -> None:
        self.same("sqlite3", "work.db", given=SQL)

    def test_python3(self) -> None:
        self.same("python3", "-c", PYTHON, PYTHONMALLOC="malloc", PYTHONHASHSEED="0")

    def test_jq(self) -> None:
        self.same("jq", JQ, given=JQ_INPUT)

    def test_xmllint(self) -> None:
        self.same("xmllint", "--format", "--xpath", "count(//b[@k > 500]) + sum(//item/@n)", "-", given=XML)
        self.same("xmllint", "--noblanks", "--c14n", "-", given=XML)

    def test_gawk(self) -> None:
        self.same("gawk", GAWK, "tables.c", "templates.cpp", "work.php", "Work.java")

    def test_git(self) -> None:
        self.same("sh", "-c", GIT, **FIXED)

    def test_redis(self) -> None:
        self.same("sh", "-c", REDIS_SHELL, given="\n".join(REDIS), calls=20000)

    def test_ruby(self) -> None:
        self.same("ruby", "-W", "work.rb")

    def test_php(self) -> None:
        script = "$a = []; for ($i = 0; $i < 20000; $i++) $a[md5($i)] = str_repeat('x', $i % 50); ksort($a); echo md5(serialize($a)), count($a);"
        self.same("php8.2", "-r", script, USE_ZEND_ALLOC="0")

    def test_gcc(self) -> None:
        self.same("sh", "-c", GCC)


if __name__ == "__main__":
    unittest.main()
