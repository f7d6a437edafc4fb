# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory of a tree of processes over time, as `hak_launcher -s` samples it every 10 ms (tools/samples.h)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from hakmem.base.errors import Refusal


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
