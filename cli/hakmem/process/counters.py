# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads what HAKMEM counted in a run with HAKMEM_COUNT_CALLS=on and HAKMEM_COUNTERS_FILE."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from hakmem.process.proof import Record

MAGIC = b"HAKCNT01"
HEADER = struct.Struct("<8sII")
ROW = struct.Struct("<24sQ")

ROUTES = ("magazine", "depot", "slab", "large", "big", "in_place", "failed", "null")
ALLOC_ROUTES = tuple(f"alloc_{route}" for route in ROUTES if route != "null")
FREE_ROUTES = tuple(f"free_{route}" for route in ROUTES if route not in ("in_place", "failed"))

# Counter values of one process, by name.
Counts = Counter[str]


@dataclass(frozen=True)
class Calls:
    allocs: int
    frees: int

    @property
    def total(self) -> int:
        return self.allocs + self.frees


def parse_counts(data: bytes) -> Counts:
    """Empty for anything that is not a whole counters file."""
    if len(data) < HEADER.size:
        return Counter()
    magic, rows, row_bytes = HEADER.unpack_from(data)
    if magic != MAGIC or row_bytes < ROW.size or len(data) < HEADER.size + rows * row_bytes:
        return Counter()
    starts = range(HEADER.size, HEADER.size + rows * row_bytes, row_bytes)
    pairs = (ROW.unpack_from(data, start) for start in starts)
    return Counter({name.rstrip(b"\0").decode("ascii", "replace"): value for name, value in pairs})


def read_counts(stem: Path) -> dict[int, Counts]:
    """Per process id; STEM.<pid>.<n> is of another process of that number."""
    counts: dict[int, Counts] = {}
    for path in stem.parent.glob(stem.name + ".*"):
        pid, _, again = path.name[len(stem.name) + 1 :].partition(".")
        if pid.isdecimal() and (not again or again.isdecimal()):
            counts[int(pid)] = counts.get(int(pid), Counter()) + parse_counts(path.read_bytes())
    return counts


def calls_of(counts: Counts) -> Calls:
    return Calls(sum(counts[name] for name in ALLOC_ROUTES), sum(counts[name] for name in FREE_ROUTES))


def probed_calls(records: list[Record]) -> dict[int, Calls]:
    """Per process id; the records of programs that ran in one process are added up, as HAKMEM's counters are."""
    sums: dict[int, Calls] = {}
    for record in records:
        before = sums.get(record.pid, Calls(0, 0))
        sums[record.pid] = Calls(before.allocs + record.allocs, before.frees + record.frees)
    return sums


@dataclass(frozen=True)
class Comparison:
    """The probe's counts beside HAKMEM's, over all processes of one run."""

    probed: int
    unserved: int
    unseen: int  # calls HAKMEM counted and the probe did not: made by names the probe does not wrap
    routes: Counts


def compare(records: list[Record], counts: dict[int, Counts]) -> Comparison:
    """Process by process and kind by kind, so that one cannot make up for another."""
    probed = probed_calls(records)
    pairs = [(calls, calls_of(counts.get(pid, Counter()))) for pid, calls in probed.items()]
    gaps = [gap for seen, own in pairs for gap in (seen.allocs - own.allocs, seen.frees - own.frees)]
    return Comparison(
        probed=sum(calls.total for calls in probed.values()),
        unserved=sum(gap for gap in gaps if gap > 0),
        unseen=-sum(gap for gap in gaps if gap < 0),
        routes=sum(counts.values(), Counter()),
    )
