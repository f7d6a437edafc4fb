# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real programs of musl say the same on HAKMEM as on musl's own malloc.

HAK_TEST_LIBRARY names libhakmem.so for musl, HAK_TEST_PROGRAMS the folder in which build_programs.sh put the programs.
Proof that HAKMEM served: the counters file of each process, in which it has mapped memory and counted calls.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from hakmem.process.counters import parse_counts

LIBRARY = Path(os.environ["HAK_TEST_LIBRARY"])
PROGRAMS = Path(os.environ["HAK_TEST_PROGRAMS"])
INPUT = Path(__file__).parents[1] / "real" / "input"
SERVER_SECONDS = 20

SQL = """
create table t(id integer primary key, k text, v real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
  insert into t select i, printf('key %d', i * 7919 % 30011), i * 1.5 from n;
create index by_key on t(k);
select count(*), sum(v), min(k), max(k) from t where k like 'key 1%';
create virtual table f using fts5(text);
insert into f select k || ' and ' || v from t;
select count(*) from f where f match 'key';
delete from t where id % 3 = 0;
vacuum;
select group_concat(k, '|') from (select k from t order by k limit 50);
pragma integrity_check;
"""
JQ = "[.[] | select(.n % 3 == 0) | {key: (.n | tostring), value: (.text | ascii_upcase)}] | from_entries | length, keys[0:5]"
SHELL = """
i=0; while [ $i -lt 300 ]; do echo "line $i of some text $((i * 7919 % 1009))"; i=$((i + 1)); done >lines
sort -k6 -n lines | uniq | sed 's/text/TEXT/' | awk '{ n[$6 % 7] += $2 } END { for (k = 0; k < 7; k++) print k, n[k] }'
tar -cf all.tar lines && gzip -c all.tar | gunzip | md5sum; bzip2 -c lines | bunzip2 | cmp - lines && echo same
find . -name 'l*' | xargs wc -l; grep -c 'line 1' lines; diff lines lines && vi --help 2>&1 | head -n 1; echo '2^400; sqrt(2)' | bc -l
"""
REDIS = [f"set key:{n} {'x' * (n * 37 % 5000)}" for n in range(2000)] + [f"rpush list {n}" for n in range(2000)] + [
    f"zadd sorted {n * 7919 % 1009} member:{n}" for n in range(2000)] + [f"del key:{n}" for n in range(0, 2000, 3)] + [
    "debug digest", "dbsize", "lrange list 100 110", "zrange sorted 0 10 withscores", "save", "debug reload", "debug digest"]


class Served(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def environment(self, hakmem: bool, preload: bool) -> dict[str, str]:
        # No program of glibc is found: it could not load a library of musl.
        base = {"PATH": str(self.folder / "bin"), "LANG": "C", "LC_ALL": "C"}
        if hakmem:
            base |= {"HAKMEM_COUNTERS_FILE": str(self.folder / "counters"), "HAKMEM_COUNT_CALLS": "on"}
        return base | ({"LD_PRELOAD": str(LIBRARY)} if hakmem and preload else {})

    def ran(self, hakmem: bool, *command: str, given: str = "", preload: bool = True) -> str:
        here = self.folder / "here"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        ended = subprocess.run(command, input=given, env=self.environment(hakmem, preload), cwd=here, capture_output=True,
                               text=True, timeout=100, check=False)
        return f"{ended.stdout}\n{ended.stderr}\n{ended.returncode}"

    def prove(self, calls: int) -> None:
        """By the sum over the processes."""
        files = list(self.folder.glob("counters.*"))
        self.assertTrue(files, "no process had HAKMEM in it")
        counted = sum(number for file in files for name, number in parse_counts(file.read_bytes()).items() if name.startswith("alloc_"))
        self.assertGreater(counted, calls)

    def same(self, program: str, *arguments: str, given: str = "", calls: int = 1000, preload: bool = True) -> None:
        command = [str(PROGRAMS / program), *arguments]
        on_musl, on_hakmem = (self.ran(hakmem, *command, given=given, preload=preload) for hakmem in (False, True))
        self.assertEqual(on_musl, on_hakmem)
        self.assertTrue(on_musl.endswith("\n0"), on_musl[-500:])
        self.prove(calls)


class Programs(Served):
    def test_lua(self) -> None:
        self.same("lua", str(INPUT / "work.lua"))

    def test_sqlite3(self) -> None:
        self.same("sqlite3", "work.db", given=SQL)

    def test_jq(self) -> None:
        rows = ",".join(f'{{"n": {n}, "text": "text of {n}", "list": [{n}, [{n}, null]]}}' for n in range(5000))
        self.same("jq", JQ, given=f"[{rows}]")

    def test_busybox(self) -> None:
        applets = self.folder / "bin"
        applets.mkdir()
        busybox = str(PROGRAMS / "busybox")
        for name in subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split():
            (applets / name).symlink_to(busybox)
        self.same("busybox", "sh", "-c", SHELL)


class Redis(Served):
    @contextmanager
    def server(self, hakmem: bool) -> Iterator[Path]:
        here = self.folder / f"redis-{hakmem}"
        here.mkdir()
        socket = here / "socket"
        command = [str(PROGRAMS / "redis"), "--port", "0", "--unixsocket", str(socket), "--dir", str(here), "--save", "",
                   "--enable-debug-command", "yes", "--io-threads", "2"]
        server = subprocess.Popen(command, env=self.environment(hakmem, True), stdout=subprocess.DEVNULL)
        try:
            end = monotonic() + SERVER_SECONDS
            while not socket.exists() and monotonic() < end:
                sleep(0.05)
            yield socket
        finally:
            server.terminate()
            self.assertEqual(server.wait(timeout=SERVER_SECONDS), 0)

    def asked(self, hakmem: bool) -> str:
        with self.server(hakmem) as socket:
            client = [str(PROGRAMS / "redis-cli"), "-s", str(socket)]
            answers = subprocess.run(client, input="\n".join(REDIS), capture_output=True, text=True, timeout=100, check=True)
            bench = [str(PROGRAMS / "redis-benchmark"), "-s", str(socket), "-q", "-n", "20000", "-t", "set,lpush", "-d", "200"]
            subprocess.run(bench, capture_output=True, timeout=100, check=True)
            return answers.stdout

    def test_redis(self) -> None:
        self.assertEqual(self.asked(False), self.asked(True))
        self.prove(20000)


class Static(Served):
    def test_lua(self) -> None:
        """Beside the dynamic one, which is musl's malloc."""
        script = str(INPUT / "work.lua")
        self.assertEqual(self.ran(False, str(PROGRAMS / "lua"), script), self.ran(True, str(PROGRAMS / "lua-static"), script, preload=False))
        self.prove(1000)


@unittest.skipIf(os.geteuid() != 0, "only root changes into a folder")
class Image(Served):
    """As a container: a folder with musl, busybox and the library, and nothing else."""

    def make(self) -> Path:
        root = self.folder / "root"
        for name in ("lib", "bin", "proc", "tmp"):
            (root / name).mkdir(parents=True)
        linker = Path("/lib/ld-musl-x86_64.so.1")
        shutil.copy(linker.resolve(), root / "lib" / linker.name)
        shutil.copy(LIBRARY, root / "lib" / "libhakmem.so.0")
        shutil.copy(PROGRAMS / "busybox", root / "bin" / "busybox")
        for name in ("sh", "seq", "sort", "md5sum", "awk"):
            (root / "bin" / name).symlink_to("busybox")
        return root

    def inside(self, root: Path, hakmem: bool) -> str:
        script = "seq 1 20000 | sort -r | awk '{ n[$1 % 97] = $0 } END { for (k = 0; k < 97; k++) print n[k] }' | md5sum"
        variables = {"PATH": "/bin"} | ({"LD_PRELOAD": "/lib/libhakmem.so.0", "HAKMEM_COUNTERS_FILE": "/tmp/counters",
                                         "HAKMEM_COUNT_CALLS": "on"} if hakmem else {})
        words = ["/usr/sbin/chroot", str(root), "/bin/busybox", "env", *(f"{name}={value}" for name, value in variables.items())]
        ended = subprocess.run([*words, "sh", "-c", script], env={}, capture_output=True, text=True, timeout=100, check=False)
        return f"{ended.stdout}\n{ended.stderr}\n{ended.returncode}"

    def test_busybox(self) -> None:
        root = self.make()
        self.assertEqual(self.inside(root, False), self.inside(root, True))
        for file in (root / "tmp").glob("counters.*"):
            shutil.copy(file, self.folder)
        self.prove(10000)


if __name__ == "__main__":
    unittest.main()
