# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads what the probe libraries wrote: per process, the library that serves malloc and free, and call counts.

The layout is that of tools/proof.h. Beside it, the launcher's list of the programs that were executed shows which of
them wrote nothing.
"""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"HAKPRF01"
HEADER = struct.Struct("<8sIIQQQQQ")
RECORD_BYTES = 65536
USED_BYTES = 8192
FORKED_AT, FORKED_LISTED = 1024, 1024
EXE_AT, MALLOC_AT, FREE_AT, PATH_BYTES = 5120, 6144, 7168, 1024


@dataclass(frozen=True)
class Record:
    """One executed program."""

    pid: int
    allocs: int
    frees: int
    forks: int
    owned: bool
    forked_pids: frozenset[int]
    exe: str
    malloc_path: str
    free_path: str

    def served_by(self, library: Path) -> bool:
        wanted = os.path.realpath(library)
        return os.path.realpath(self.malloc_path) == wanted == os.path.realpath(self.free_path)

    @property
    def server(self) -> str:
        """For messages: who serves it."""
        if self.malloc_path == self.free_path:
            return self.malloc_path or "nothing"
        return f"{self.malloc_path or 'nothing'} (malloc) and {self.free_path or 'nothing'} (free)"


def parse_record(data: bytes) -> Record | None:
    """None for a record that was never finished."""
    magic, _record_bytes, _mode, pid, allocs, frees, forks, owned = HEADER.unpack_from(data)
    if magic != MAGIC:
        return None
    listed = struct.unpack_from(f"<{min(forks, FORKED_LISTED)}I", data, FORKED_AT)
    return Record(
        pid, allocs, frees, forks, bool(owned), frozenset(listed),
        path_at(data, EXE_AT), path_at(data, MALLOC_AT), path_at(data, FREE_AT),
    )


def path_at(data: bytes, start: int) -> str:
    return os.fsdecode(data[start : start + PATH_BYTES].split(b"\0", 1)[0])


def read_records(stem: Path) -> list[Record]:
    """All records of all processes that were given HAKPROBE_FILE=stem."""
    found = [record for path in stem.parent.glob(stem.name + ".*") for record in records_of_file(path)]
    return sorted(found, key=lambda record: record.pid)


def records_of_file(path: Path) -> Iterator[Record]:
    with path.open("rb") as file:
        for start in range(0, path.stat().st_size, RECORD_BYTES):
            file.seek(start)
            data = file.read(USED_BYTES)
            record = parse_record(data) if len(data) == USED_BYTES else None
            if record:
                yield record


# ---- programs that wrote nothing ----

@dataclass(frozen=True)
class Executed:
    pid: int
    exe: str


def read_executed(path: Path) -> list[Executed] | None:
    """The launcher's list, in order; None when it could not trace."""
    data = path.read_bytes() if path.is_file() else b""
    entries = [entry.partition(b" ") for entry in data.split(b"\0") if entry]
    return [Executed(int(pid), os.fsdecode(exe)) for pid, _, exe in entries] or None


def without_record(executed: list[Executed], records: list[Record]) -> list[Executed]:
    """Of a program that its user may not read the kernel tells the launcher no path: the process alone is compared."""
    unnamed = {program.pid for program in executed if not program.exe}
    written = (Executed(record.pid, "" if record.pid in unnamed else record.exe) for record in records)
    wanted = [Executed(program.pid, "") if program.pid in unnamed else program for program in executed]
    missing = Counter(wanted) - Counter(written)
    return [program for program, key in zip(executed, wanted) if missing[key] > 0]


def count_children(records: list[Record], main_pid: int) -> int:
    """Processes besides the main one: forked, started, or both, each counted once."""
    pids = {record.pid for record in records}.union(*(record.forked_pids for record in records))
    not_listed = sum(max(0, record.forks - FORKED_LISTED) for record in records)
    return len(pids - {main_pid}) + not_listed
