# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory of a tree of processes over time, as `hak_launcher -s` samples it every 10 ms (tools/samples.h)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hakmem.base.errors import Refusal

FALL_NS, FALL_SHARE = 100_000_000, 0.05


class Sample(NamedTuple):
    """A line of the launcher."""

    ns: int  # CLOCK_MONOTONIC
    resident_kib: int  # of all processes
    shared_kib: int  # of that, backed by files or shared
    cpu_ms: int  # of these processes and of the children that they waited for
    processes: int


def read_samples(path: Path) -> list[Sample]:
    """None of a program that ended before the first."""
    try:
        lines = path.read_text("ascii").splitlines()
        return [Sample(*map(int, line.split())) for line in lines]
    except (OSError, TypeError, ValueError) as failure:
        raise Refusal(f"the launcher left no samples ({failure})") from None


def before_the_fall(samples: Sequence[Sample]) -> list[Sample]:
    """Of a program that ended by itself: without what it freed last, as an interpreter does that ends. That takes a
    while, as the kernel takes a GiB back in some 0.3 s: the fall goes on where within 0.1 s before, or one sample
    before, a twentieth of the peak more was there."""
    times = [sample.ns for sample in samples]
    last, least = len(samples) - 1, FALL_SHARE * max(sample.resident_kib for sample in samples)
    while last > 0:
        first = min(bisect_left(times, times[last] - FALL_NS), last - 1)
        highest = max(range(first, last), key=lambda n: (samples[n].resident_kib, n))
        if samples[highest].resident_kib - samples[last].resident_kib < least:
            break
        last = highest
    return list(samples[:last + 1])
