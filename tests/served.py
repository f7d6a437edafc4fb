# SPDX-License-Identifier: MIT OR Apache-2.0
"""A program says the same on HAKMEM as on its own malloc: for tests of programs of other systems and processors.

Proof that HAKMEM served: the counters file of each process, in which it has counted calls.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from hakmem.process.counters import parse_counts

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
JQ_INPUT = "[" + ",".join(f'{{"n": {n}, "text": "text of {n}", "list": [{n}, [{n}, null]]}}' for n in range(5000)) + "]"
REDIS = [f"set key:{n} {'x' * (n * 37 % 5000)}" for n in range(2000)] + [f"rpush list {n}" for n in range(2000)] + [
    f"zadd sorted {n * 7919 % 1009} member:{n}" for n in range(2000)] + [f"del key:{n}" for n in range(0, 2000, 3)] + [
    "debug digest", "dbsize", "lrange list 100 110", "zrange sorted 0 10 withscores", "save", "debug reload", "debug digest"]


class Served(unittest.TestCase):
    library: str  # what LD_PRELOAD names
    place: str | None = None  # where the scratch folder is made
    seconds = 100

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory(dir=self.place)
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def seen(self, path: Path) -> str:
        """The path as the program sees it."""
        return str(path)

    def base(self) -> dict[str, str]:
        """The environment without HAKMEM."""
        raise NotImplementedError

    def environment(self, hakmem: bool, preload: bool = True) -> dict[str, str]:
        own = self.base()
        if hakmem:
            own |= {"HAKMEM_COUNTERS_FILE": self.seen(self.folder / "counters"), "HAKMEM_COUNT_CALLS": "on"}
        return own | ({"LD_PRELOAD": self.library} if hakmem and preload else {})

    def started(self, here: Path, variables: dict[str, str], *command: str) -> dict[str, object]:
        """How subprocess starts the command in the folder `here`."""
        return {"args": command, "env": variables, "cwd": here}

    def ran(self, hakmem: bool, *command: str, given: str = "", preload: bool = True, **more: str) -> str:
        here = self.folder / "here"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        ended = subprocess.run(**self.started(here, self.environment(hakmem, preload) | more, *command), input=given,
                               capture_output=True, text=True, timeout=self.seconds, check=False)  # type: ignore[call-overload]
        return f"{ended.stdout}\n{ended.stderr}\n{ended.returncode}"

    def prove(self, calls: int) -> None:
        """By the sum over the processes."""
        files = list(self.folder.glob("counters.*"))
        self.assertTrue(files, "no process had HAKMEM in it")
        counted = sum(number for file in files for name, number in parse_counts(file.read_bytes()).items() if name.startswith("alloc_"))
        self.assertGreater(counted, calls)

    def same(self, *command: str, given: str = "", calls: int = 1000, preload: bool = True, **more: str) -> None:
        own, on_hakmem = (self.ran(hakmem, *command, given=given, preload=preload, **more) for hakmem in (False, True))
        self.assertEqual(own, on_hakmem)
        self.assertTrue(own.endswith("\n0"), own[-500:])
        self.prove(calls)
