# SPDX-License-Identifier: MIT OR Apache-2.0
"""redis: its own tests, from Debian's source, on Debian's server."""

from __future__ import annotations

import re
from pathlib import Path

from judging.side import Ran, Side
from judging.sources import fetched
from judging.verdicts import Verdicts, add

TITLE = "redis"
PACKAGE = "redis-server"
PART = "types, persistence, replication, scripts, memory; without defragmentation (it asks for jemalloc) and values over 4 GiB"
UNITS = """
unit/auth unit/protocol unit/keyspace unit/scan unit/info unit/type/string unit/type/incr unit/type/list unit/type/list-2
unit/type/list-3 unit/type/set unit/type/zset unit/type/hash unit/type/stream unit/type/stream-cgroups unit/sort unit/expire
unit/other unit/multi unit/quit unit/dump unit/aofrw unit/acl unit/pubsub unit/slowlog unit/scripting unit/functions unit/maxmemory
unit/introspection unit/limits unit/obuf-limits unit/bitops unit/bitfield unit/geo unit/memefficiency unit/hyperloglog
unit/lazyfree unit/querybuf unit/pendingquerybuf unit/tracking unit/client-eviction unit/replybufsize unit/shutdown
integration/aof integration/rdb integration/corrupt-dump integration/replication integration/redis-cli integration/dismiss-mem
integration/convert-zipmap-hash-on-load integration/convert-ziplist-hash-on-load integration/logging
""".split()
PROGRAMS = ("server", "cli", "benchmark", "check-rdb", "check-aof", "sentinel")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
LINE = re.compile(r"^\[(ok|err|ignore|exception|skip)\]: (.*)$", re.MULTILINE)
WORDS = {"ok": "ok", "err": "failed", "exception": "failed", "ignore": "skipped", "skip": "skipped"}
TAIL = re.compile(r"( \(\d+ ms\)| in tests/\S+\.tcl)$")
VALUE = re.compile(r"\d+(?:\.\d+)?")


def prepare(folder: Path) -> None:
    """The suite wants the programs in src/."""
    source = fetched("redis", folder)
    for name in PROGRAMS:
        link = source / "src" / f"redis-{name}"
        if not link.is_symlink():
            link.symlink_to(f"/usr/bin/redis-{name}")


def units(folder: Path) -> list[str]:
    tests = folder.parent / "sources" / "redis" / "tests"
    return [unit for unit in UNITS if (tests / f"{unit}.tcl").exists()]


def run(side: Side, folder: Path, unit: str) -> Verdicts:
    source = folder.parent / "sources" / "redis"
    ran = side.run("./runtest", "--clients", "1", "--single", unit, "--tags", "-large-memory -defrag", cwd=source)
    return verdicts_of(unit, ran)


def verdicts_of(unit: str, ran: Ran) -> Verdicts:
    """Numbers in a case's name are measured values or sizes: all such cases are one."""
    verdicts: Verdicts = {(unit, "the run"): ran.ending()}
    for word, case in LINE.findall(COLOUR.sub("", ran.text)):
        add(verdicts, unit, VALUE.sub("N", TAIL.sub("", case)), WORDS[word])
    return verdicts
