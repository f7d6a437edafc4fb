# SPDX-License-Identifier: MIT OR Apache-2.0
"""What happened on the machine while a process was measured, and whether its figures should count.

The kernel's counters of CPU time tick 100 times a second, so that a short run always seems to be a tick or two off:
that much is not held against anybody.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import psutil

from hakmem_lab.bench.record import Run

OTHERS_CORES = 0.15  # other processes may use this much
STOLEN_CORES = 0.05  # and the host of a virtual machine may take away this much
FREQUENCY = 0.9  # the clock may fall to this share of the highest that was seen
HOP = 2.0  # and a cache line may take this many times as long from core to core as at best
BUSY_LOAD = 0.5  # a machine with this load before anything ran is not idle
TICK_SECONDS = 0.01
OTHERS_TICKS, STOLEN_TICKS = 2, 1


@dataclass(frozen=True)
class Snapshot:
    """Seconds since the machine started, of all cores together, and those that this command and what it ran used."""

    at: float
    busy: float
    stolen: float
    own: float


def look() -> Snapshot:
    times = psutil.cpu_times()
    busy = times.user + times.nice + times.system + getattr(times, "irq", 0) + getattr(times, "softirq", 0)
    own = psutil.Process().cpu_times()
    used = own.user + own.system + own.children_user + own.children_system
    return Snapshot(time.monotonic(), busy, getattr(times, "steal", 0), used)


def frequency() -> float | None:
    """The clock of the fastest core in MHz, where the system tells."""
    try:
        cores = [core.current for core in psutil.cpu_freq(percpu=True) if core.current]
    except (OSError, NotImplementedError, AttributeError):
        return None
    return max(cores, default=None)


def load() -> float:
    return psutil.getloadavg()[0]


@dataclass(frozen=True)
class Meanwhile:
    """What else went on during one run."""

    seconds: float
    others: float  # seconds of CPU time that other processes used
    stolen: float
    mhz: float | None
    load: float


def meanwhile(before: Snapshot, after: Snapshot, load_before: float, mhz: float | None) -> Meanwhile:
    others = max(0.0, after.busy - before.busy - (after.own - before.own))
    return Meanwhile(after.at - before.at, others, max(0.0, after.stolen - before.stolen), mhz, load_before)


class Judge:
    """Remembers the best that was seen: the shortest hop from core to core, the highest clock."""

    def __init__(self) -> None:
        self.shortest_hop: float | None = None
        self.highest_mhz: float | None = None

    def judged(self, run: Run, seen: Meanwhile) -> Run:
        """The run with what was seen, and why it should not count."""
        self.remember(run, seen)
        found = (others_text(seen), stolen_text(seen), self.clock_text(seen), self.hop_text(run))
        return replace(
            run, others_cores=round(seen.others / seen.seconds, 4), stolen_cores=round(seen.stolen / seen.seconds, 4),
            mhz=seen.mhz, load=seen.load, disturbed="; ".join(text for text in found if text),
        )

    def remember(self, run: Run, seen: Meanwhile) -> None:
        if run.hop_ns is not None:
            self.shortest_hop = min(run.hop_ns, self.shortest_hop or run.hop_ns)
        if seen.mhz is not None:
            self.highest_mhz = max(seen.mhz, self.highest_mhz or seen.mhz)

    def clock_text(self, seen: Meanwhile) -> str:
        if seen.mhz is None or self.highest_mhz is None or seen.mhz >= FREQUENCY * self.highest_mhz:
            return ""
        return f"the clock was at {seen.mhz:.0f} of {self.highest_mhz:.0f} MHz"

    def hop_text(self, run: Run) -> str:
        if run.hop_ns is None or self.shortest_hop is None or run.hop_ns <= HOP * self.shortest_hop:
            return ""
        return f"the two cores were {run.hop_ns:.0f} ns apart, at best {self.shortest_hop:.0f}"


def others_text(seen: Meanwhile) -> str:
    cores = (seen.others - OTHERS_TICKS * TICK_SECONDS) / seen.seconds
    return f"others used {seen.others / seen.seconds:.2f} cores" if cores > OTHERS_CORES else ""


def stolen_text(seen: Meanwhile) -> str:
    cores = (seen.stolen - STOLEN_TICKS * TICK_SECONDS) / seen.seconds
    return f"the host took {seen.stolen / seen.seconds:.2f} cores" if cores > STOLEN_CORES else ""
