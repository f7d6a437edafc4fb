"""Memory over time: samples in, MiB x seconds out.

A sample is a moment and what was there then; between two it is taken to change evenly. Before the first sample and after
the last, nothing is known, and it stays what it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hakmem.errors import Refusal

SECOND_NS = 1_000_000_000
KIB_IN_MIB = 1024
MIB = 1 << 20

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Phase:
    """From one mark of CLOCK_MONOTONIC to the next."""

    name: str
    start_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / SECOND_NS


@dataclass(frozen=True)
class Samples:
    """What the launcher saw of a tree of processes (tools/samples.h)."""

    ns: Numbers
    resident_mib: Numbers
    anonymous_mib: Numbers

    @property
    def peak_mib(self) -> float:
        return float(self.resident_mib.max())


def read_samples(path: Path) -> Samples:
    try:
        table = np.loadtxt(path, dtype=np.float64, ndmin=2)
    except (OSError, ValueError) as failure:
        raise Refusal(f"the launcher left no samples ({failure})") from None
    if len(table) == 0:
        raise Refusal("it ended before it could be sampled")
    return Samples(table[:, 0], table[:, 1] / KIB_IN_MIB, (table[:, 1] - table[:, 2]) / KIB_IN_MIB)


def integral(ns: Numbers, values: Numbers, start_ns: float, end_ns: float) -> float:
    """In units of the values times seconds."""
    if end_ns <= start_ns or len(ns) == 0:
        return 0.0
    inside = (ns > start_ns) & (ns < end_ns)
    times = np.concatenate(([start_ns], ns[inside], [end_ns]))
    at = np.interp(times, ns, values)
    return float(np.sum((at[1:] + at[:-1]) / 2 * np.diff(times))) / SECOND_NS


# ---- steps ----

@dataclass(frozen=True)
class Steps:
    """What stays as it is until it changes: from each moment on, its value; 0 before the first."""

    ns: Numbers
    values: Numbers

    def integral(self, start_ns: float, end_ns: float) -> float:
        if end_ns <= start_ns or len(self.ns) == 0:
            return 0.0
        times = np.clip(np.append(self.ns, np.inf), start_ns, end_ns)
        return float(np.sum(self.values * np.diff(times))) / SECOND_NS


def steps_of_means(ends_ns: Sequence[float], means: Sequence[float], start_ns: float, after: float) -> Steps:
    """Means over the time up to each end; from the last on, `after`."""
    return Steps(np.asarray([start_ns, *ends_ns], float), np.asarray([*means, after], float))
