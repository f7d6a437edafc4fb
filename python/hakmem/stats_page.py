# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the page that a process writes with HAKMEM_STATS_FILE: what it holds is told in it (src/front/stats_page.h).

    PATH.<pid>: | "HAKSTA01" | rows u32 | row bytes u32 | sequence u64 | when u64 | version[16] |
                | kind u32 | unit u32 | value u64 | name[24] | help[96] | ...

The sequence is odd while it is written; then it is read again.
"""

from __future__ import annotations

import os
import stat
import struct
import time
from pathlib import Path
from typing import NamedTuple, Optional

from hakmem.errors import Refusal
from hakmem.mapped import mapped_file, number_of

MAGIC = b"HAKSTA01"
HEADER = struct.Struct("<8sIIQQ16s")
ROW = struct.Struct("<IIQ24s96s")
ROWS_MOST = 1 << 12
TRIES, PAUSE_SECONDS = 100, 0.001
COUNTER, STATE = 0, 1
UNITS = ("", "bytes", "ns")
ASK_FOR_IT = "start it with HAKMEM_STATS_FILE=FILE"


class Row(NamedTuple):
    name: str
    kind: int
    unit: str
    value: int
    help: str


class Page(NamedTuple):
    version: str
    when: int  # ns of CLOCK_MONOTONIC
    rows: tuple[Row, ...]
    pid: Optional[int] = None  # of a live process

    def value(self, name: str) -> int:
        return next((row.value for row in self.rows if row.name == name), 0)


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


def page_of(data: bytes, name: str) -> Page:
    if not data.startswith(MAGIC[:6]):
        raise Refusal(f"{name}: not a statistics file ({ASK_FOR_IT})")
    if not data.startswith(MAGIC) or len(data) < HEADER.size:
        raise Refusal(f"{name}: a statistics file of another version ({data[6:8].decode('ascii', 'replace')})")
    _, rows, row_bytes, sequence, when, version = HEADER.unpack_from(data)
    if not 0 < rows <= ROWS_MOST or row_bytes != ROW.size:
        raise Refusal(f"{name}: a statistics file of another version ({rows} rows of {row_bytes} bytes)")
    if len(data) < HEADER.size + rows * row_bytes:
        raise Refusal(f"{name}: the statistics file is cut short")
    if sequence % 2:
        raise Torn
    found = tuple(row_of(data, HEADER.size + n * row_bytes) for n in range(rows))
    return Page(text(version), when, found)


def sequence_in(file: int) -> bytes:
    return os.pread(file, 8, 16)


def read_once(file: int, name: str) -> Page:
    before = sequence_in(file)
    page = page_of(os.pread(file, HEADER.size + ROWS_MOST * ROW.size, 0), name)
    if sequence_in(file) != before:
        raise Torn
    return page


def read_page(path: Path, name: str) -> Page:
    """`name`: for whoever reads what is wrong with it."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as failure:
        raise Refusal(f"{name}: {(failure.strerror or str(failure)).lower()}") from None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise Refusal(f"{name}: not a regular file")
        for _ in range(TRIES):
            try:
                return read_once(file, name)
            except Torn:
                time.sleep(PAUSE_SECONDS)
    finally:
        os.close(file)
    raise Refusal(f"{name}: its process ended, or was stopped, while it wrote the page")


def find_page(asked: str) -> Page:
    """Of a process, by its number, or a file."""
    pid = number_of(asked)
    if pid is None:
        return read_page(Path(asked), asked)
    file, path, _ = mapped_file(pid, MAGIC, f"process {pid} keeps no statistics: {ASK_FOR_IT}")
    return read_page(file, path)._replace(pid=pid)
