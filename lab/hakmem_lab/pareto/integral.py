# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory over time: samples in, MiB x seconds out.

A sample is a moment and what was there then; between two it is taken to change evenly. Before the first sample and after
the last, nothing is known, and it stays what it was.

Seconds are those of a clock: of servers the wall's, of batch programs their own CPU time, so that it costs them nothing
when others have the cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hakmem.base.errors import Refusal
from hakmem.process import samples

SECOND_NS, MS_NS = 1_000_000_000, 1_000_000
KIB_IN_MIB = 1024
MIB = 1 << 20

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Phase:
    """From one mark of CLOCK_MONOTONIC, or of a clock of its own, to the next."""

    name: str
    start_ns: float
    end_ns: float

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / SECOND_NS


@dataclass(frozen=True)
class Clock:
    """What time it is at some moments; between two it goes evenly. Without any it is the wall's."""

    ns: Numbers
    shown_ns: Numbers

    def __call__(self, ns: Numbers | float) -> Numbers:
        return np.asarray(np.interp(ns, self.ns, self.shown_ns) if len(self.ns) else ns, float)

    def during(self, phase: Phase) -> Phase:
        return Phase(phase.name, float(self(phase.start_ns)), float(self(phase.end_ns)))


WALL = Clock(np.empty(0), np.empty(0))


@dataclass(frozen=True)
class Samples:
    """What the launcher saw of a tree of processes (tools/samples.h)."""

    ns: Numbers
    resident_mib: Numbers
    anonymous_mib: Numbers
    cpu_ns: Numbers  # taken until then; never falls

    def own_clock(self, phase: Phase, cpu_seconds: float) -> Clock:
        """CPU time of a whole run: from nothing at its start to all of it at its end."""
        inner = np.clip(self.cpu_ns, 0, cpu_seconds * SECOND_NS)
        return Clock(np.concatenate(([phase.start_ns], self.ns, [phase.end_ns])),
                     np.concatenate(([0.0], inner, [cpu_seconds * SECOND_NS])))

    @property
    def peak_mib(self) -> float:
        return float(self.resident_mib.max())


def read_samples(path: Path) -> Samples:
    table = np.asarray(samples.read_samples(path), np.float64)
    if len(table) == 0:
        raise Refusal("it ended before it could be sampled")
    cpu_ns = np.maximum.accumulate(table[:, 3]) * MS_NS
    return Samples(table[:, 0], table[:, 1] / KIB_IN_MIB, (table[:, 1] - table[:, 2]) / KIB_IN_MIB, cpu_ns)


def integral(ns: Numbers, values: Numbers, start_ns: float, end_ns: float) -> float:
    """In units of the values times seconds. Where a clock stood still, what was there changed at once."""
    if end_ns <= start_ns or len(ns) == 0:
        return 0.0
    inside = (ns > start_ns) & (ns < end_ns)
    times = np.concatenate(([start_ns], ns[inside], [end_ns]))
    first, last = np.interp([start_ns], ns, values), np.interp([-end_ns], -ns[::-1], values[::-1])  # after it, before it
    at = np.concatenate((first, values[inside], last))
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
