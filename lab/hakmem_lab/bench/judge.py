# SPDX-License-Identifier: MIT OR Apache-2.0
"""HAKMEM against its peers: row by row, as geometric means, and against the targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np

from hakmem.process.peers import HAKMEM
from hakmem_lab.bench.comeback import KEPT, MIMALLOC, comeback_targets
from hakmem_lab.bench.results import Pair, Results
from hakmem_lab.bench.retain import retain_targets
from hakmem_lab.bench.statistics import (
    DISTURBED,
    FASTER,
    SAME,
    SLOWER,
    UNJUDGED,
    Ratio,
    disturbed_or,
    geometric_mean,
    ratio_of_medians,
    verdicts,
)
from hakmem_lab.bench.target import Target

MICRO_TARGET = 0.80
ROW_TARGET = 1.05
REAL_TARGET = 1.00
MIMALLOC_RSS_TARGET = 0.90
LEANEST_RSS_TARGET = 1.00
SCALING_THREADS = 16
NO_ROUNDS = np.array([])
WORST_INSTRUCTIONS, WORST_KERNEL_CALLS = 5000, 1

# The groups whose programs hold much memory; a small pattern's peak is little more than the program itself.
MEMORY_GROUPS = ("frag", "daynight", "survive", "giant", "idle", "soak", "growth", "kept", "real")


@dataclass(frozen=True)
class Duel:
    """One row: HAKMEM against one peer."""

    benchmark: str
    peer: str
    ratio: Ratio
    rounds: int
    verdict: str


@dataclass(frozen=True)
class Mean:
    """The geometric mean of HAKMEM / `peer` over `rows` rows, of `of` that HAKMEM has a figure in."""

    peer: str
    ratio: float
    rows: int
    of: int


@dataclass(frozen=True)
class Standing:
    """An allocator's times ÷ the best of all others', over the rows where it and another have one."""

    allocator: str
    mean: float
    middle: float  # the median
    rows: int
    behind: int  # rows above ROW_TARGET
    worst: tuple[float, str]  # the ratio and its row


class Judge:
    """Everything that is concluded from one folder of results."""

    def __init__(self, results: Results) -> None:
        self.results = results

    # ---- rows ----

    def best_peer(self, benchmark: str) -> str | None:
        figures = {peer: self.results.ns(benchmark, peer) for peer in self.results.peers}
        known = {peer: ns for peer, ns in figures.items() if ns is not None}
        return min(known, key=known.__getitem__, default=None)

    def against(self, peers: Mapping[str, str | None]) -> dict[str, Duel]:
        """benchmark -> peer: one duel each, where both have a figure; the rows are judged together."""
        rows = [(benchmark, peer) for benchmark, peer in peers.items()
                if peer and {(benchmark, HAKMEM), (benchmark, peer)} <= self.results.samples.keys()]
        pairs = [((benchmark, HAKMEM), (benchmark, peer)) for benchmark, peer in rows]
        still = [shared_rounds(self.results.still, *pair) for pair in pairs]
        made = [len(shared_rounds(self.results.timed, *pair)[0]) for pair in pairs]
        return {row[0]: Duel(*row, self.ratio(*row), number, disturbed_or(verdict, number))
                for row, number, verdict in zip(rows, made, verdicts(still))}

    def shared_rounds(self, ours: Pair, theirs: Pair) -> tuple[Any, Any]:
        return shared_rounds(self.results.samples, ours, theirs)

    def ratio(self, benchmark: str, peer: str) -> Ratio:
        """Over the rounds both have; without one in common there is no interval."""
        ours, theirs = self.shared_rounds((benchmark, HAKMEM), (benchmark, peer))
        if len(ours):
            return ratio_of_medians(ours, theirs)
        return Ratio(self.results.times[benchmark, HAKMEM] / self.results.times[benchmark, peer])

    @cached_property
    def duels(self) -> dict[str, Duel]:
        """Every row against its own best peer."""
        return self.against({benchmark: self.best_peer(benchmark) for benchmark in self.results.group_of})

    def count(self, verdict: str, benchmarks: Iterable[str]) -> int:
        return sum(self.duels[name].verdict == verdict for name in benchmarks if name in self.duels)

    # ---- means ----

    def time_means(self, benchmarks: list[str]) -> dict[str, Mean]:
        return means(self.results.times, benchmarks, self.results.peers)

    def rss_means(self, benchmarks: list[str]) -> dict[str, Mean]:
        return means(self.results.peak_rss, benchmarks, self.results.peers)

    def best_row_by_row(self, benchmarks: list[str]) -> Mean | None:
        ratios = [self.duels[name].ratio.value for name in benchmarks if name in self.duels]
        return Mean("best of each row", geometric_mean(ratios), len(ratios), len(ratios)) if ratios else None

    def standings(self, benchmarks: list[str]) -> list[Standing]:
        """The best first."""
        found = (self.standing(name, benchmarks) for name in self.results.allocators)
        return sorted((one for one in found if one), key=lambda one: one.mean)

    def standing(self, allocator: str, benchmarks: list[str]) -> Standing | None:
        others = [name for name in self.results.allocators if name != allocator]
        best = {row: self.best_among(others, row) for row in benchmarks}
        ratios = {row: own / least for row, least in best.items()
                  if least is not None and (own := self.results.ns(row, allocator)) is not None}
        if not ratios:
            return None
        behind = sum(ratio > ROW_TARGET for ratio in ratios.values())
        worst = max((ratio, row) for row, ratio in ratios.items())
        mean, middle = geometric_mean([*ratios.values()]), median(ratios.values())
        return Standing(allocator, mean, middle, len(ratios), behind, worst)

    def best_among(self, allocators: list[str], benchmark: str) -> float | None:
        return min((ns for name in allocators if (ns := self.results.ns(benchmark, name)) is not None), default=None)

    @property
    def memory_rows(self) -> list[str]:
        return [name for group, names in self.results.groups.items() if group in MEMORY_GROUPS for name in names]

    @property
    def small_patterns(self) -> list[str]:
        """The rows whose time counts by itself: what is fast by keeping memory is judged in retain.py."""
        return [name for name in self.results.micro if self.results.group_of[name] != KEPT]

    @property
    def all_rows(self) -> list[str]:
        return self.results.micro + self.results.real

    # ---- targets ----

    @cached_property
    def targets(self) -> list[Target]:
        found = (
            self.mean_target("small patterns: time, best single peer", self.time_means(self.small_patterns),
                             MICRO_TARGET),
            self.row_target(),
            self.mean_target("real programs: time, best single peer", self.time_means(self.results.real), REAL_TARGET,
                             below=True),
            self.real_row_target(),
            self.mimalloc_target(),
            self.mean_target("peak RSS, leanest single peer", self.rss_means(self.all_rows), LEANEST_RSS_TARGET),
            self.worst_target(),
            self.scaling_target(),
        )
        return [target for target in found if target] + comeback_targets(self.results) + retain_targets(self.results)

    def mean_target(self, text: str, of: dict[str, Mean], goal: float, below: bool = False) -> Target | None:
        best = hardest(of)
        if best is None:
            return None
        met = best.ratio < goal if below else best.ratio <= goal
        return Target(text, f"{best.ratio:.3f} of {best.peer}", f"{'<' if below else '≤'} {goal:.2f}", met,
                      f"geometric mean over {best.rows} rows")

    def row_target(self) -> Target | None:
        duels = [self.duels[name] for name in self.small_patterns if name in self.duels]
        if not duels:
            return None
        lost = sorted((d for d in duels if d.ratio.value > ROW_TARGET), key=lambda d: -d.ratio.value)
        worst = ", ".join(f"{d.benchmark} {d.ratio.value:.2f} ({d.peer})" for d in lost)
        return Target(f"small patterns: rows over {ROW_TARGET:.2f} of their best peer", f"{len(lost)} of {len(duels)}",
                      "none", not lost, worst)

    def real_row_target(self) -> Target | None:
        duels = [self.duels[name] for name in self.results.real if name in self.duels]
        if not duels:
            return None
        slower = [d for d in duels if d.verdict == SLOWER]
        named = ", ".join(f"{d.benchmark} {d.ratio.value:.2f} ({d.peer})" for d in slower)
        return Target("real programs slower than their best peer", f"{len(slower)} of {len(duels)}", "none",
                      not slower, named)

    def mimalloc_target(self) -> Target | None:
        mean = self.rss_means(self.all_rows).get(MIMALLOC)
        only = {MIMALLOC: mean} if mean else {}
        return self.mean_target("peak RSS, mimalloc", only, MIMALLOC_RSS_TARGET)

    def scaling_target(self) -> Target | None:
        at_most = {row: points[SCALING_THREADS] for row, points in self.results.scaling.items()
                   if SCALING_THREADS in points}
        duels = {row: self.duels[name] for row, name in at_most.items() if name in self.duels}
        if not duels:
            return None
        behind = [row for row, duel in duels.items() if duel.verdict == SLOWER]
        return Target(f"{SCALING_THREADS} threads: rows slower than their best peer", f"{len(behind)} of {len(duels)}",
                      "none", not behind, ", ".join(behind))

    def worst_target(self) -> Target | None:
        """Of HAKMEM alone: calls that stay out of the kernel, and how often one call enters it."""
        instructions = self.most(f"worst_{call}_instructions_outside_kernel" for call in ("malloc", "free"))
        kernel_calls = self.most(["worst_kernel_calls"])
        if instructions is None or kernel_calls is None:
            return None
        met = instructions <= WORST_INSTRUCTIONS and kernel_calls <= WORST_KERNEL_CALLS
        return Target("worst single call up to 32 KiB",
                      f"{instructions:,.0f} instructions or {kernel_calls:.0f} kernel calls",
                      f"≤ {WORST_INSTRUCTIONS:,} or {WORST_KERNEL_CALLS}", met)

    def most(self, metrics: Iterable[str]) -> float | None:
        found = [value for name in metrics for pair, value in self.results.metric(name).items() if pair[1] == HAKMEM]
        return max(found, default=None)

    @property
    def counts(self) -> dict[str, int]:
        """Verdicts over all rows but the scaling curves."""
        return {verdict: self.count(verdict, self.all_rows + self.results.traces) for verdict in (FASTER, SAME, SLOWER, UNJUDGED, DISTURBED)}


def shared_rounds(samples: Mapping[Pair, Any], ours: Pair, theirs: Pair) -> tuple[Any, Any]:
    """The figures of the rounds that both have."""
    if not {ours, theirs} <= samples.keys():
        return NO_ROUNDS, NO_ROUNDS
    rounds = samples[ours].index.intersection(samples[theirs].index)
    return samples[ours][rounds].to_numpy(), samples[theirs][rounds].to_numpy()


def means(figures: Mapping[Pair, float], benchmarks: list[str], peers: Iterable[str]) -> dict[str, Mean]:
    """HAKMEM / each peer, over the rows where both have a figure."""
    ours = [name for name in benchmarks if (name, HAKMEM) in figures]
    found = {}
    for peer in peers:
        ratios = [figures[name, HAKMEM] / figures[name, peer] for name in ours if (name, peer) in figures]
        if ratios:
            found[peer] = Mean(peer, geometric_mean(ratios), len(ratios), len(ours))
    return found


def hardest(of: Mapping[str, Mean]) -> Mean | None:
    """The peer that is best on the whole; one that failed in some rows only where all did."""
    complete = [mean for mean in of.values() if mean.rows == mean.of]
    return max(complete or of.values(), key=lambda mean: mean.ratio, default=None)
