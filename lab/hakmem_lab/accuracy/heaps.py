# SPDX-License-Identifier: MIT OR Apache-2.0
"""Heaps whose truth is known, and profiles of them.

    live bytes, by place -> numbers of blocks by size: kept through, freed since the mark, new since it, temporary, others
    numbers of blocks    -> slices, in any order: the first samples are dense
    slices               -> how many of them are sampled (binomial: each block by itself, with p = 1 - exp(-(n + 16) / period))
    samples              -> a table of samples, read as hakmem.reading.table_file reads one

No block is allocated, so a heap of 10 GiB takes the time of one of 1 MiB.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from numpy import array
from numpy.random import Generator

from hakmem.reading.pprof import Profile
from hakmem.reading.samples import DENSE_SAMPLES, DENSE_STEPS, thinned
from hakmem.reading.table_file import AtPeak, Builder, Facts, Stack, Table

MAIN, SERVICES = 1, 4  # functions, by their numbers: main, and those that it calls; then a place each
ADDRESS = 0x1000  # of a function of number 1
SIZES = (  # bytes of the blocks of a place, and the part of its bytes that each has
    ((500, 1.0),), ((64, 0.5), (4096, 0.5)), ((48, 1.0),), ((8192, 1.0),), ((100_000, 1.0),), ((16, 0.2), (70_000, 0.8)),
    ((2 << 20, 1.0),), ((1000, 1.0),), ((300, 0.9), (400_000, 0.1)), ((32_768, 1.0),), ((24, 1.0),), ((200, 1.0),),
)
SHARES = tuple(0.62 ** n for n in range(len(SIZES)))  # of live bytes, by place
STATES = ("kept", "gone", "new", "brief", "past")
NOW, MARK, EVER, BRIEF = ("kept", "new"), ("kept", "gone"), STATES, ("brief",)
GONE, NEW, BRIEF_TIMES, PAST = 0.6, 0.3, 1.5, 0.7  # of what is kept
DURATION_NS = 10 ** 10
SLICE = 16  # samples, in the mean


class Blocks(NamedTuple):
    """Of one place, size and state."""

    place: int
    size: int
    state: str
    count: int


class Found(NamedTuple):
    """How many of these blocks were sampled at this rate."""

    blocks: Blocks
    samples: int
    period: int


def blocks_of(live: int) -> list[Blocks]:
    """A heap with about so many live bytes."""
    found, whole = [], sum(SHARES)
    times = {"kept": 1.0, "gone": GONE, "new": NEW, "brief": BRIEF_TIMES, "past": PAST}
    for place, (sizes, share) in enumerate(zip(SIZES, SHARES)):
        for size, part in sizes:
            kept = live * share / whole * part / (1 + NEW) / size
            for state in STATES:
                if count := round(kept * times[state]):
                    found.append(Blocks(place, size, state, count))
    return found


def chance_of(size: int, period: int) -> float:
    return -math.expm1(-(size + 16) / period)


def sampled(blocks: list[Blocks], period: int, chance: Generator) -> list[Found]:
    """Blocks are asked for in any order, in slices: the number of samples so far gives the rate of the next slice."""
    left, found, taken = array([each.count for each in blocks]), [], 0
    while left.any():
        rate = thinned(period, taken)
        chances = array([chance_of(each.size, rate) for each in blocks])
        dense = taken < DENSE_STEPS * DENSE_SAMPLES
        now = chance.binomial(left, min(1.0, SLICE / (left * chances).sum())) if dense else left
        counts = chance.binomial(now, chances)
        found += [Found(each, int(count), rate) for each, count in zip(blocks, counts) if count]
        left, taken = left - now, taken + int(counts.sum())
    return found


def function_of(place: int) -> int:
    return MAIN + SERVICES + 1 + place


def stack_of(place: int) -> tuple[int, ...]:
    """Innermost first, as return addresses."""
    return tuple(ADDRESS * number + 1 for number in (function_of(place), MAIN + 1 + place % SERVICES, MAIN))


@dataclass
class Sums:
    """Of samples: what they stand for."""

    blocks: float = 0.0
    bytes: float = 0.0
    samples: int = 0
    seen: int = 0
    variance: float = 0.0

    def add(self, found: Found) -> None:
        size, weight = found.blocks.size, 1 / chance_of(found.blocks.size, found.period)
        self.blocks += found.samples * weight
        self.bytes += found.samples * weight * size
        self.samples += found.samples
        self.seen += found.samples * size
        self.variance += found.samples * (weight - 1) * weight * size * size


def sums_of(found: list[Found], place: int, states: tuple[str, ...]) -> Sums:
    sums = Sums()
    for each in found:
        if each.blocks.place == place and each.blocks.state in states:
            sums.add(each)
    return sums


def truth_of(blocks: list[Blocks], states: tuple[str, ...], places: Collection[int] = range(len(SIZES))) -> int:
    return sum(each.size * each.count for each in blocks if each.state in states and each.place in places)


def profile_of(blocks: list[Blocks], found: list[Found], states: tuple[str, ...], period: int) -> Any:
    """As hakmem exec --profile would leave it. The peak is the mark."""
    taken = sum(each.samples for each in found)
    table = Table(Facts(
        1, 0, thinned(period, taken), taken, 0, 1, 1, "made", truth_of(blocks, states), 1, truth_of(blocks, MARK),
        DURATION_NS, DURATION_NS, 1, 0,
    ))
    for place in range(len(SIZES)):
        live, ever, brief, peak = (sums_of(found, place, each) for each in (states, EVER, BRIEF, MARK))
        if ever.samples:
            stored = AtPeak(peak.blocks, peak.bytes, peak.samples, peak.seen, peak.variance, 1)
            table.stacks[place + 1] = Stack(
                stack_of(place), (ever.blocks, ever.bytes, ever.bytes), [live.blocks, live.bytes, live.bytes],
                [live.samples, live.seen, live.variance], stored, (brief.blocks, brief.bytes),
            )
    builder = Builder(Profile(), table)
    builder.add_types()
    builder.add_samples()
    builder.add_comment(0, Path("made"))
    builder.profile.duration_nanos = DURATION_NS
    return builder.profile
