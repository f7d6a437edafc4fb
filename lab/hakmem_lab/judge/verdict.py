# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the rows say of one regime. A ratio is one configuration's figure ÷ another's, of the same program.

    figure of CPU time      least of the rounds
    best peer of a program  the peer with the least CPU time in odd rounds; all ratios to it are of even rounds
    verdict of a program    of the 95 % interval of CPU ÷ best peer, even rounds drawn again:
                            lost above 1.03, ahead below 1/1.03, level between the two, else open while it is wider than
                            0.05, and near when it is not
    control                 a second copy of HAKMEM goes through the same: its distance from HAKMEM is noise
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from hakmem_lab.bench.statistics import geometric_mean
from hakmem_lab.judge.rows import Row

LOST = 1.03
WIDTH = 0.05
RESAMPLES = 2000
SEED = 1963
FEWEST = 3  # even rounds of an interval
OPEN = "open"

Runs = dict[str, dict[str, dict[int, Row]]]  # by program, configuration, and round


def runs_of(rows: Iterable[Row], regime: str) -> Runs:
    found: Runs = {}
    for row in rows:
        if row.regime == regime:
            found.setdefault(row.program, {}).setdefault(row.configuration, {})[row.round] = row
    return found


def odd(number: int) -> bool:
    return number % 2 == 1


def even(number: int) -> bool:
    return number % 2 == 0


def common(runs: Runs, names: list[str]) -> Runs:
    """Only rounds that every configuration had, so that a least of many rounds meets no least of few."""
    found: Runs = {}
    for program, by in runs.items():
        had = [set(by[name]) for name in names if by.get(name)]
        shared = set.intersection(*had) if had else set()
        found[program] = {name: {number: row for number, row in one.items() if number in shared} for name, one in by.items()}
    return found


def least_cpu(runs: dict[int, Row], part: Callable[[int], bool] = lambda number: True) -> float | None:
    return min((float(row.cpu_us) for number, row in runs.items() if part(number)), default=None)


def middle(runs: dict[int, Row], figure: Callable[[Row], int]) -> float:
    return float(np.median([figure(row) for row in runs.values()]))


@dataclass(frozen=True)
class Duel:
    program: str
    peer: str
    ratio: float
    low: float | None = None
    high: float | None = None

    @property
    def verdict(self) -> str:
        if self.low is None or self.high is None:
            return OPEN
        if self.low > LOST:
            return "lost"
        if self.high < 1 / LOST:
            return "ahead"
        if self.low >= 1 / LOST and self.high <= LOST:
            return "level"
        return OPEN if self.high - self.low > WIDTH else "near"


def best_peer(by: dict[str, dict[int, Row]], peers: list[str]) -> str | None:
    known = {peer: least_cpu(by[peer], odd) for peer in peers if peer in by}
    times = {peer: time for peer, time in known.items() if time is not None}
    return min(times, key=times.__getitem__, default=None)


def duel(program: str, by: dict[str, dict[int, Row]], ours: str, peers: list[str]) -> Duel | None:
    """None where a figure is missing."""
    peer = best_peer(by, peers)
    if peer is None or ours not in by:
        return None
    a, b = ([float(row.cpu_us) for number, row in by[name].items() if even(number)] for name in (ours, peer))
    if not a or not b:
        return None
    return Duel(program, peer, min(a) / min(b), *interval(a, b))


def interval(ours: list[float], theirs: list[float]) -> tuple[float | None, float | None]:
    """Of the ratio of medians, as a least is at the edge of what can be drawn again."""
    if min(len(ours), len(theirs)) < FEWEST:
        return None, None
    random = np.random.default_rng(SEED)
    a, b = (np.median(random.choice(one, (RESAMPLES, len(one))), axis=1) for one in (ours, theirs))
    low, high = np.percentile(a / b, (2.5, 97.5))
    return float(low), float(high)


def duels(runs: Runs, ours: str, peers: list[str]) -> list[Duel]:
    found = [duel(program, by, ours, peers) for program, by in runs.items()]
    return [one for one in found if one]


def mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value]
    return geometric_mean(known) if known else None


def against(runs: Runs, name: str, base: str, figure: Callable[[dict[int, Row]], float | None]) -> float | None:
    """The geometric mean over the programs that both have."""
    pairs = [(figure(by[name]), figure(by[base])) for by in runs.values() if by.get(name) and by.get(base)]
    return mean(a / b for a, b in pairs if a and b)
