# SPDX-License-Identifier: MIT OR Apache-2.0
"""What follows from the rows: excess memory, HAKMEM's front over its prices, and what is to be shown of it.

    excess of a run        sum over its phases of (mean memory - floor of the phase) x how long the phase lasts     MiB x s
    HAKMEM's front         the least excess within a CPU time, the least CPU time within an excess: its points, straight lines
                           between neighbouring prices, and whatever is worse than those in both
    at equal CPU time      HAKMEM's excess within 1.01 of the peer's CPU time / the peer's excess          <= 0.7
    at equal memory        HAKMEM's CPU time within the peer's excess / the peer's CPU time                <= 1

A phase of a server lasts as long as in the median of all runs of it, on whatever: what others did on the machine, and
clients that wait, would else be memory. A batch program has its own CPU time.

The best peer is the one that is hardest to meet: the worst of the ratios over all peers counts. A peer that is quicker than
HAKMEM at any price, or leaner, has no equal on its front, and the row is not met.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from hakmem.base.errors import Refusal
from hakmem.process.peers import HAKMEM
from hakmem_lab.bench.statistics import Ratio, ratio_of_medians
from hakmem_lab.pareto.configurations import BALANCED, BASELINE, EVOLVING, LEARNER, MODE, PRICE
from hakmem_lab.pareto.programs import SERVER
from hakmem_lab.pareto.rows import FLOOR, Row
from hakmem_lab.simulate.results import price_of

EQUAL = 1.01
MEMORY_GOAL, TIME_GOAL = 0.7, 1.0
WORSE, BETTER = 1.02, 0.97
ROWS_BETTER = 3
LEAST_EXCESS = 1e-9  # MiB x s: what lies at the floor or below it is at it
CPU, MEMORY, COST = "CPU time", "memory", "cost"


@dataclass(frozen=True)
class Point:
    cpu_s: float
    excess_mib_s: float


# ---- fronts ----

def least_memory(front: Sequence[Point], cpu_s: float) -> float | None:
    """Within a CPU time; None where no point is as quick."""
    return least([(point.cpu_s, point.excess_mib_s) for point in front], cpu_s)


def least_time(front: Sequence[Point], excess_mib_s: float) -> float | None:
    """Within an excess; None where no point is as lean."""
    return least([(point.excess_mib_s, point.cpu_s) for point in front], excess_mib_s)


def least(points: list[tuple[float, float]], most: float) -> float | None:
    """The least second figure where the first is at most `most`: of points, and of lines between neighbours where they
    cross it."""
    found = [second for first, second in points if first <= most]
    for (first0, second0), (first1, second1) in pairwise(points):
        if (first0 - most) * (first1 - most) < 0:
            found.append(second0 + (second1 - second0) * (most - first0) / (first1 - first0))
    return min(found, default=None)


def memory_ratio(front: Sequence[Point], peer: Point) -> float | None:
    memory = least_memory(front, peer.cpu_s * EQUAL)
    return None if memory is None else quotient(memory, peer.excess_mib_s)


def time_ratio(front: Sequence[Point], peer: Point) -> float | None:
    time = least_time(front, peer.excess_mib_s)
    return None if time is None else time / peer.cpu_s


def quotient(ours: float, theirs: float) -> float:
    """Where the peer is at the floor, HAKMEM must be, too."""
    ours, theirs = max(ours, LEAST_EXCESS), max(theirs, LEAST_EXCESS)
    return ours / theirs


def worst(ratios: Mapping[str, float | None]) -> tuple[str, float | None]:
    """The peer that is hardest to meet: one without an equal before all others."""
    return max(ratios.items(), key=lambda item: float("inf") if item[1] is None else item[1])


# ---- one program ----

@dataclass
class Runs:
    """Of one configuration, by round."""

    settings: dict[str, str]
    allocator: str
    cpu_s: dict[int, float] = field(default_factory=dict)
    excess: dict[int, float] = field(default_factory=dict)  # MiB x s
    memory: dict[int, float] = field(default_factory=dict)  # the floor, too
    rss: dict[int, float] = field(default_factory=dict)  # pages of files, too
    peak_mib: dict[int, float] = field(default_factory=dict)
    wall_s: dict[int, float] = field(default_factory=dict)

    @property
    def point(self) -> Point:
        return Point(median(self.cpu_s), median(self.excess))

    def cost(self, number: int, ns: float) -> float:
        """Seconds: CPU time, and rent of the excess."""
        return self.cpu_s[number] + self.excess[number] * ns / 1e9

    @property
    def price(self) -> str | None:
        """Of a point of what is learnt by all learners."""
        learns = self.settings.get(MODE) == EVOLVING and not any(name.startswith(LEARNER) for name in self.settings)
        return self.settings.get(PRICE, BALANCED) if learns and set(self.settings) <= {MODE, PRICE} else None


def median(values: Mapping[int, float]) -> float:
    return float(np.median(list(values.values())))


@dataclass
class Program:
    name: str
    kind: str
    floor_mib: dict[str, float]  # by phase
    runs: dict[str, Runs]

    @property
    def front(self) -> dict[str, Point]:
        """HAKMEM's points by configuration, from the cheapest memory to the dearest."""
        known = [(price_of(runs.price), name, runs.point) for name, runs in self.runs.items() if runs.price is not None]
        return {name: point for _, name, point in sorted(known, key=lambda one: one[0])}

    @property
    def peers(self) -> dict[str, Point]:
        return {name: runs.point for name, runs in self.runs.items() if runs.allocator != HAKMEM}

    def memory_ratios(self) -> dict[str, float | None]:
        front = list(self.front.values())
        return {name: memory_ratio(front, peer) for name, peer in self.peers.items()} if front else {}

    def time_ratios(self) -> dict[str, float | None]:
        front = list(self.front.values())
        return {name: time_ratio(front, peer) for name, peer in self.peers.items()} if front else {}

    def meets_front(self) -> bool:
        ratios, times = self.memory_ratios(), self.time_ratios()
        if not ratios:
            return False
        memory, time = worst(ratios)[1], worst(times)[1]
        return memory is not None and memory <= MEMORY_GOAL and time is not None and time <= TIME_GOAL

    def against(self, ours: str, theirs: str) -> dict[str, Ratio]:
        """CPU time, memory and cost of one configuration / another, of the rounds that both have. Memory that lies at the
        floor is nothing to divide by."""
        a, b = self.runs.get(ours), self.runs.get(theirs)
        shared = sorted(a.cpu_s.keys() & b.cpu_s.keys()) if a and b else []
        if not a or not b or not shared:
            return {}
        ns = price_of(b.settings.get(PRICE, BALANCED))
        pairs = {CPU: [(a.cpu_s[n], b.cpu_s[n]) for n in shared], COST: [(a.cost(n, ns), b.cost(n, ns)) for n in shared]}
        if min(median(a.excess), median(b.excess)) > 0:
            pairs[MEMORY] = [(max(a.excess[n], LEAST_EXCESS), max(b.excess[n], LEAST_EXCESS)) for n in shared]
        return {what: ratio_of_medians(*map(np.asarray, zip(*figures))) for what, figures in pairs.items()}


# ---- from rows ----

def programs_of(rows: Iterable[Row]) -> list[Program]:
    """In the order of the file; without a floor there is nothing to say of a program."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.program, []).append(row)
    programs = [program_of(name, lines) for name, lines in found.items()]
    return [program for program in programs if program.floor_mib and program.runs]


def program_of(name: str, rows: list[Row]) -> Program:
    refuse_mixed(rows)
    floor = floor_by_phase([row for row in rows if row.configuration == FLOOR])
    program = Program(name, rows[0].kind, floor, {})
    measured = [row for row in rows if row.configuration != FLOOR and floor]
    seconds = usual_seconds(measured) if program.kind == SERVER else {}
    for row in measured:
        add(program, row, seconds.get(row.phase, row.clock_s))
    return program


def usual_seconds(rows: list[Row]) -> dict[str, float]:
    """How long each phase lasts."""
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(row.phase, []).append(row.clock_s)
    return {phase: float(np.median(seconds)) for phase, seconds in found.items()}


def refuse_mixed(rows: list[Row]) -> None:
    """Figures of two builds must not meet in one."""
    seen: dict[str, tuple[str, str]] = {}
    for row in rows:
        if row.configuration != FLOOR and seen.setdefault(row.configuration, (row.version, row.settings)) != (
                row.version, row.settings):
            raise Refusal(f"{row.configuration} in {row.program} was measured with two libraries or settings")


def floor_by_phase(rows: list[Row]) -> dict[str, float]:
    """MiB, in the mean of each phase; the mean of all floors that were measured."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row.clock_s > 0 and (row.heap_mib_s or row.outside_mib_s):
            mib = (min(row.live_mib_s, row.heap_mib_s) + row.outside_mib_s) / row.clock_s
            found.setdefault(row.phase, []).append(mib)
    return {phase: float(np.mean(means)) for phase, means in found.items()}


def add(program: Program, row: Row, seconds: float) -> None:
    """`seconds`: how long its phase lasts."""
    runs = program.runs.setdefault(row.configuration, Runs(settings_of(row.settings), row.allocator))
    if row.is_whole:
        runs.cpu_s[row.round], runs.rss[row.round] = row.cpu_s, row.rss_mib_s
        runs.memory[row.round], runs.peak_mib[row.round] = row.anonymous_mib_s, row.peak_mib
        runs.wall_s[row.round] = row.wall_s
    if row.phase in program.floor_mib and row.clock_s > 0:
        above = (row.anonymous_mib_s / row.clock_s - program.floor_mib[row.phase]) * seconds
        runs.excess[row.round] = runs.excess.get(row.round, 0.0) + above


def settings_of(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split(",") if part)


# ---- all programs ----

@dataclass(frozen=True)
class Interval:
    """On how many rows evolving / baseline lies wholly above, and wholly below."""

    judged: int
    worse: list[str]
    better: list[str]

    @property
    def met(self) -> bool:
        return self.judged > 0 and not self.worse and len(self.better) >= ROWS_BETTER


def intervals(programs: list[Program], what: str) -> Interval:
    ratios = {program.name: program.against(EVOLVING, BASELINE).get(what) for program in programs}
    known = {name: ratio for name, ratio in ratios.items() if ratio and ratio.low is not None and ratio.high is not None}
    return Interval(len(known), [name for name, ratio in known.items() if (ratio.low or 0) > WORSE],
                    [name for name, ratio in known.items() if (ratio.high or 0) < BETTER])
