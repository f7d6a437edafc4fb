"""What the figures of `hakmem micro` amount to: ratios, geometric means, and whether the targets are met."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log

from hakmem.micro_run import Measurement
from hakmem.peers import HAKMEM

EVERY_ROW = 1.05
ROW_TARGETS = {"pass": 0.6, "bulk_random": 0.7}
ROW_BY_ROW = 0.90
SINGLE_PEER = 0.75


def geometric_mean(values: Iterable[float]) -> float:
    logs = [log(value) for value in values]
    return exp(sum(logs) / len(logs))


@dataclass(frozen=True)
class Line:
    """One row of the table: nanoseconds by allocator, and HAKMEM against the best of the others."""

    row: str
    ns: dict[str, float]
    far_apart: bool

    @property
    def peers(self) -> dict[str, float]:
        return {name: ns for name, ns in self.ns.items() if name != HAKMEM}

    @property
    def best_peer(self) -> str | None:
        return min(self.peers, key=self.peers.__getitem__, default=None)

    @property
    def ratio(self) -> float | None:
        if self.best_peer is None or HAKMEM not in self.ns:
            return None
        return self.ns[HAKMEM] / self.ns[self.best_peer]

    @property
    def target(self) -> float:
        return ROW_TARGETS.get(self.row, EVERY_ROW)

    @property
    def met(self) -> bool | None:
        return None if self.ratio is None else self.ratio <= self.target


@dataclass(frozen=True)
class Mean:
    """A geometric mean over rows, and what it should be."""

    text: str
    ratio: float
    target: float
    rows: int

    @property
    def met(self) -> bool:
        return self.ratio <= self.target


def lines_of(measured: Measurement) -> list[Line]:
    """The rows that have a figure."""
    lines = []
    for row in measured.rows:
        best = {a.name: measured.best(row.name, a.name) for a in measured.allocators}
        ns = {name: sample.ns for name, sample in best.items() if sample}
        if ns:
            lines.append(Line(row.name, ns, measured.far_apart(row.name)))
    return lines


def means_of(lines: list[Line]) -> list[Mean]:
    """Over the row-by-row bests, and over the peer that is best on the whole."""
    ratios = [line.ratio for line in lines if line.ratio is not None]
    if not ratios:
        return []
    means = [Mean("HAKMEM / the best peer of each row", geometric_mean(ratios), ROW_BY_ROW, len(ratios))]
    return means + single_peer_mean(lines)


def single_peer_mean(lines: list[Line]) -> list[Mean]:
    """Only peers with a figure in every row that HAKMEM has one in."""
    ours = [line for line in lines if line.ratio is not None]
    names = set.intersection(*(set(line.peers) for line in ours))
    against = {name: geometric_mean(line.ns[HAKMEM] / line.ns[name] for line in ours) for name in names}
    if not against:
        return []
    best = max(against, key=against.__getitem__)
    return [Mean(f"HAKMEM / the best single peer, {best}", against[best], SINGLE_PEER, len(ours))]
