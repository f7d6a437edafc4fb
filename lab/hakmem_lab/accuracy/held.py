# SPDX-License-Identifier: MIT OR Apache-2.0
"""How many of the ranges of a profile hold the truth.

    heap, seed -> two runs; of the first a profile at the mark and one now, of the second one now
               -> figures of hakmem.profiling, each with its range and the truth -> held / told, by kind, size and period
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from numpy.random import default_rng

from hakmem.profiling.difference import Change, Read, change_range, changes_of, functions, scale_both, whole_of
from hakmem.profiling.profile import rows_of, totals
from hakmem.reading import estimate
from hakmem.reading.estimate import Evidence, Moment, range_of, whole_evidence
from hakmem.reading.pprof import Profile, columns
from hakmem.reading.scale import scaled
from hakmem.reading.symbols import Names
from hakmem_lab.accuracy import heaps
from hakmem_lab.accuracy.heaps import ADDRESS, BRIEF, EVER, MAIN, MARK, NOW, SERVICES, SIZES, Blocks, Found, profile_of

MIB = 1 << 20
LIVE = (MIB, 100 * MIB, 10_240 * MIB)
PERIODS = (1 << 16, 1 << 19)
PROMISED, SURELY = 0.95, 3  # of ranges; deviations of chance
ROUNDED = 1e-4  # of a figure: sums are whole bytes, and variances whole periods


class Told(NamedTuple):
    """A figure."""

    kind: str
    low: float
    high: float
    truth: float

    @property
    def held(self) -> bool:
        slack = ROUNDED * abs(self.truth) + 1
        return self.low - slack <= self.truth <= self.high + slack


def places_of(function: str) -> set[int]:
    """That are below it, or it itself."""
    number = (int(function, 16) + ADDRESS - 1) // ADDRESS
    if number == MAIN:
        return set(range(len(SIZES)))
    if number <= MAIN + SERVICES:
        return {place for place in range(len(SIZES)) if MAIN + 1 + place % SERVICES == number}
    return {number - MAIN - SERVICES - 1}


def live_figures(profile: Any, blocks: list[Blocks], moment: Moment, states: tuple[str, ...], kind: str) -> Iterator[Told]:
    """Of the heading and of the table: functions themselves, and with callees."""
    at, period, names = columns(profile)[moment.space], int(profile.period), Names(profile)
    whole = range_of(totals(profile)[at], whole_evidence(profile, moment), period)
    yield Told(f"{kind}, all", *whole, heaps.truth_of(blocks, states))
    for function, row in rows_of(profile, names, moment).items():
        truth = heaps.truth_of(blocks, states, places_of(function))
        if row.flat[at]:
            yield Told(f"{kind}, a place", *range_of(row.flat[at], row.evidence, period), truth)
        elif row.cum[at]:
            yield Told(f"{kind}, with callees", *range_of(row.cum[at], row.cum_evidence, period), truth)


def change_figures(before: Read, after: Read, truths: dict[int, float], kind: str) -> Iterator[Told]:
    scale_both(before, after, estimate.NOW)
    periods = (before.profile.period, after.profile.period)
    whole = (whole_of(one, estimate.NOW) for one in (before, after))
    yield Told(f"{kind}, all", *change_range(*whole, periods), sum(truths.values()))
    for change in changes_of(before, after, estimate.NOW, functions):
        place = next(iter(places_of(change.frames[0].function)))
        yield Told(f"{kind}, a place", *change_range(change.before, change.after, periods), truths[place])


def read_of(profile: Any) -> Read:
    own = Profile()
    own.CopyFrom(profile)
    return Read(Path("made"), own, Names(own))


def figures_of(live: int, period: int, seed: int) -> Iterator[Told]:
    chance, blocks = default_rng(seed), heaps.blocks_of(live)
    first, second = (heaps.sampled(blocks, period, chance) for _ in range(2))
    mark, now, other = (profile_of(blocks, found, states, period) for found, states in ((first, MARK), (first, NOW), (second, NOW)))
    truths = {place: float(heaps.truth_of(blocks, NOW, {place}) - heaps.truth_of(blocks, MARK, {place})) for place in range(len(SIZES))}
    yield from change_figures(read_of(mark), read_of(now), truths, "growth since a mark")
    yield from change_figures(read_of(mark), read_of(other), truths, "difference of two runs")
    yield from live_figures(read_of(now).profile, blocks, estimate.NOW, NOW, "live as sampled")
    scaled(now)
    for moment, states, kind in ((estimate.NOW, NOW, "live"), (estimate.PEAK, MARK, "peak"), (estimate.EVER, EVER, "allocated"),
                                 (estimate.BRIEF, BRIEF, "temporary")):
        yield from live_figures(now, blocks, moment, states, kind)


# ---- the table ----

Key = tuple[str, int, int]  # kind, live bytes, period


def counted(seeds: int, lives: tuple[int, ...] = LIVE, periods: tuple[int, ...] = PERIODS) -> tuple[Counter[Key], Counter[Key]]:
    """How many figures there were, and how many ranges held the truth."""
    told: Counter[Key] = Counter()
    held: Counter[Key] = Counter()
    for live in lives:
        for period in periods:
            for seed in range(seeds):
                for figure in figures_of(live, period, seed):
                    told[figure.kind, live, period] += 1
                    held[figure.kind, live, period] += figure.held
    return told, held


def size_text(size: int) -> str:
    return f"{size // MIB:,} MiB" if size < 1 << 30 else f"{size >> 30:,} GiB"


def table_lines(told: Counter[Key], held: Counter[Key]) -> Iterator[str]:
    """In Markdown."""
    columns_ = sorted({(live, period) for _, live, period in told})
    yield "| figure | " + " | ".join(f"{size_text(live)}, {period >> 10} KiB" for live, period in columns_) + " | all |"
    yield "|---|" + "---:|" * (len(columns_) + 1)
    for kind in dict.fromkeys(kind for kind, _, _ in told):
        cells = [cell_of(held[kind, live, period], told[kind, live, period]) for live, period in columns_]
        every = [sum(count for key, count in each.items() if key[0] == kind) for each in (held, told)]
        yield f"| {kind} | {' | '.join(cells)} | {cell_of(*every)} |"


def cell_of(held: int, told: int) -> str:
    return f"{100 * held / told:.1f} % of {told:,}" if told else "–"


def missed(told: Counter[Key], held: Counter[Key]) -> list[str]:
    """Kinds of figures of which fewer than 95 of 100 ranges hold the truth, at all sizes together, by more than chance."""
    found = []
    for kind in dict.fromkeys(kind for kind, _, _ in told):
        has, had = (sum(count for key, count in each.items() if key[0] == kind) for each in (held, told))
        if has < PROMISED * had - SURELY * math.sqrt(PROMISED * (1 - PROMISED) * had):
            found.append(f"{kind}: {cell_of(has, had)}")
    return found


def print_accuracy(seeds: int) -> int:
    """1: a kind of figure is held less often than is promised."""
    told, held = counted(seeds)
    for line in table_lines(told, held):
        print(line)
    misses = missed(told, held)
    for line in misses:
        print(f"less than promised: {line}")
    return int(bool(misses))
