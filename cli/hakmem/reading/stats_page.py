# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the page that a process writes with HAKMEM_STATS_FILE: what it holds is told in it (src/observe/stats_page.h).

    PATH.<pid>: | "HAKSTA02" | rows u32 | row bytes u32 | sequence u64 | when u64 | version[16] |
                | extents u32 | extent bytes u32 | left out u64 |
                | kind u32 | unit u32 | value u64 | name[24] | help[96] | ...
                | address u64 | bytes u64 | kind u64 | ...

The sequence is odd while it is written; then it is read again.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import time
from pathlib import Path
from typing import NamedTuple, Optional

from hakmem.base.errors import Refusal, readable

MAGIC = b"HAKSTA02"
HEADER = struct.Struct("<8sIIQQ16sIIQ")
ROW = struct.Struct("<IIQ24s96s")
EXTENT = struct.Struct("<QQQ")
ROWS_MOST, EXTENTS_MOST = 1 << 12, 1 << 16
BYTES_MOST = HEADER.size + ROWS_MOST * ROW.size + EXTENTS_MOST * EXTENT.size
TRIES, PAUSE_SECONDS = 100, 0.001
COUNTER, STATE = 0, 1
UNITS = ("", "bytes", "ns")
RUNS, BIG, KEPT, EMPTY, METADATA = range(5)  # src/tables/extents.h
NAME, VERSION = re.compile(r"[a-z][a-z0-9_]*"), re.compile(r"[0-9A-Za-z.+~-]*")  # as they go into Prometheus's text
ROUTES = ("alloc_", "free_")  # how counters of calls begin: they are counted while the row `counted` says so
LEARNING = ("fetched_bytes", "asked_long", "asked_lasting")  # are counted in the modes that learn
BASELINE = 1  # the last mode that does not
ASK_FOR_IT = "start it with hakmem exec --set stats_file=FILE"


class Row(NamedTuple):
    name: str
    kind: int
    unit: str
    value: int
    help: str


class Extent(NamedTuple):
    """Where memory of HAKMEM's lies."""

    address: int
    bytes: int
    kind: int


class Page(NamedTuple):
    version: str
    when: int  # ns of CLOCK_MONOTONIC
    rows: tuple[Row, ...]
    pid: Optional[int] = None  # of a live process
    extents: tuple[Extent, ...] = ()
    left_out: int = 0  # bytes of extents that had no room
    in_memory: bool = False  # read from the process's memory, as it keeps no page

    def value(self, name: str) -> int:
        return next((row.value for row in self.rows if row.name == name), 0)

    def is_told(self, row: Row) -> bool:
        """Not so the zero of what is not counted."""
        if row.kind != COUNTER or row.value:
            return True
        if row.name.startswith(ROUTES):
            return self.value("counted") != 0
        return row.name not in LEARNING or self.value("mode") > BASELINE

    def told(self) -> tuple[Row, ...]:
        return tuple(filter(self.is_told, self.rows))


def age_ns(page: Page) -> int:
    """Of a page that another boot left, nothing can be said: 0."""
    return max(0, time.clock_gettime_ns(time.CLOCK_MONOTONIC) - page.when)


class Torn(Exception):
    """It was written meanwhile."""


def text(padded: bytes) -> str:
    return padded.partition(b"\0")[0].decode("ascii", "replace")


def unit_of(unit: int, name: str) -> str:
    """Counters have theirs in the name."""
    if unit < len(UNITS) and UNITS[unit]:
        return UNITS[unit]
    return next((each for each in UNITS[1:] if name.endswith(f"_{each}")), "")


def row_of(data: bytes, at: int) -> Row:
    kind, unit, value, name, help_ = ROW.unpack_from(data, at)
    return Row(text(name), kind, unit_of(unit, text(name)), value, text(help_))


def is_sound(page: Page) -> bool:
    """What is said by them goes to terminals, and to who collects."""
    return VERSION.fullmatch(page.version) is not None and all(
        NAME.fullmatch(row.name) and row.help.isprintable() for row in page.rows
    )


def page_of(data: bytes, name: str) -> Page:
    if not data.startswith(MAGIC[:6]):
        raise Refusal(f"{name}: not a statistics file ({ASK_FOR_IT})")
    if not data.startswith(MAGIC) or len(data) < HEADER.size:
        raise Refusal(f"{name}: a statistics file of another version ({data[6:8].decode('ascii', 'replace')})")
    _, rows, row_bytes, sequence, when, version, extents, extent_bytes, left_out = HEADER.unpack_from(data)
    if not 0 < rows <= ROWS_MOST or row_bytes != ROW.size:
        raise Refusal(f"{name}: a statistics file of another version ({rows} rows of {row_bytes} bytes)")
    if extents > EXTENTS_MOST or extent_bytes != EXTENT.size:
        raise Refusal(f"{name}: a statistics file of another version ({extents} extents of {extent_bytes} bytes)")
    behind = HEADER.size + rows * row_bytes
    if len(data) < behind + extents * extent_bytes:
        raise Refusal(f"{name}: the statistics file is cut short")
    if sequence % 2:
        raise Torn
    found = tuple(row_of(data, HEADER.size + n * row_bytes) for n in range(rows))
    where = tuple(Extent(*EXTENT.unpack_from(data, behind + n * extent_bytes)) for n in range(extents))
    page = Page(text(version), when, found, None, where, left_out)
    if not is_sound(page):
        raise Refusal(f"{name}: the statistics file is damaged")
    return page


def sequence_in(file: int) -> bytes:
    return os.pread(file, 8, 16)


def read_once(file: int, name: str) -> Page:
    before = sequence_in(file)
    page = page_of(os.pread(file, BYTES_MOST, 0), name)
    if sequence_in(file) != before:
        raise Torn
    return page


def read_whole(file: int, name: str) -> Page:
    for _ in range(TRIES):
        try:
            return read_once(file, name)
        except Torn:
            time.sleep(PAUSE_SECONDS)
    raise Refusal(f"{name}: its process ended, or was stopped, while it wrote the page")


def read_page(path: Path, name: str) -> Page:
    """`name`: for whoever reads what is wrong with it."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as failure:
        raise Refusal(f"{name}: {(failure.strerror or str(failure)).lower()}") from None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise Refusal(f"{name}: not a regular file")
        with readable(name):
            return read_whole(file, name)
    finally:
        os.close(file)
