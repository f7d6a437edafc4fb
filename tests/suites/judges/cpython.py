# SPDX-License-Identifier: MIT OR Apache-2.0
"""CPython: its regression tests, from Debian's package of them, every object from malloc."""

from __future__ import annotations

import re
import xml.etree.ElementTree as Tree
from pathlib import Path

from judging.side import Ran, Side
from judging.verdicts import Verdicts, add

TITLE = "CPython"
PACKAGE = "libpython3.11-testsuite"
PART = "memory, threads, processes, containers, text, C extensions; each object from malloc (`PYTHONMALLOC=malloc`)"
UNITS = """
test_gc test_weakref test_capi test_ctypes test_mmap test_memoryview test_buffer test_array test_bytes test_list test_dict
test_set test_deque test_unicode test_re test_json test_pickle test_marshal test_struct test_zlib test_bz2 test_lzma
test_hashlib test_sqlite3 test_xml_etree test_xml_etree_c test_itertools test_functools test_heapq test_threading test_thread
test_threading_local test_threadsignals test_queue test_fork1 test_posix test_exceptions test_generators test_coroutines
test_finalization test_atexit test_tracemalloc test__xxsubinterpreters test_select
""".split()
RESULT = re.compile(r"\] (test_\w+) (passed|failed|skipped|crashed|timed out|ran no tests|\w+)")


def prepare(folder: Path) -> None:
    """Nothing to make."""


def units(folder: Path) -> list[str]:
    return [unit for unit in UNITS if (Path("/usr/lib/python3.11/test") / unit).exists()
            or (Path("/usr/lib/python3.11/test") / f"{unit}.py").exists()]


def run(side: Side, folder: Path, unit: str) -> Verdicts:
    report = side.folder / "tmp" / "report.xml"
    report.unlink(missing_ok=True)
    ran = side.run("/usr/bin/python3", "-m", "test", "-j1", "--timeout", "300", "--junit-xml", str(report), unit,
                   PYTHONMALLOC="malloc", PYTHONDONTWRITEBYTECODE="1")
    return verdicts_of(unit, ran, report.read_text(encoding="utf-8") if report.is_file() else "")


def verdicts_of(unit: str, ran: Ran, report: str) -> Verdicts:
    """The unit's own verdict, and those of its cases."""
    found = RESULT.findall(ran.text)
    verdicts = {(unit, "as a whole"): found[-1][1].replace("passed", "ok") if found else f"status {ran.status}"}
    for case in Tree.fromstring(report).iter("testcase") if report else ():
        kinds = {part.tag for part in case}
        word = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "ok"
        add(verdicts, unit, case.get("name", "").removeprefix(f"test.{unit}."), word)
    return verdicts
