# SPDX-License-Identifier: MIT OR Apache-2.0
"""Owners of live blocks: call sites of long blocks, exactly; stacks of sampled blocks, as estimates.

    spans with a site        -> bytes and blocks by call site: runs and big blocks
    samples, profile=on      -> bytes by stack, with range and number of samples; what sizes were rounded up by
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from hakmem.explaining.pages import IS_RESIDENT, Pages
from hakmem.reading.estimate import Evidence, range_of, sum_of
from hakmem.reading.resident import PAGE
from hakmem.reading.samples import Sample, Taken

SAMPLES_LEAST = 10  # fewer are a hint
EXTRA_BYTES = 16  # that a request counts more in the sampling (reading/estimate.py)
ALIKE, FREED = 16, 4  # sizes that differ by less than a 16th; of four blocks three are freed


class Estimate(NamedTuple):
    bytes: int
    low: int
    high: int
    samples: int

    @property
    def is_hint(self) -> bool:
        return self.samples < SAMPLES_LEAST


class Holder(NamedTuple):
    stack: int
    size: Estimate
    oldest_s: float


def estimate_of(samples: Iterable[Sample], value: Callable[[Sample], int], period: int) -> Estimate:
    """Of the sum of a value of each block; 0 < value <= bytes."""
    found = list(samples)
    size = sum(each.weight * value(each) for each in found)
    evidence = sum_of(Evidence(1, value(each), each.weight * (each.weight - 1) * value(each) ** 2) for each in found)
    low, high = range_of(size, evidence, period) if period > 1 else (size, size)
    return Estimate(round(size), round(low), round(high), len(found))


def by_stack(samples: Iterable[Sample], period: int) -> list[Holder]:
    """The largest first."""
    stacks: dict[int, list[Sample]] = {}
    for each in samples:
        stacks.setdefault(each.stack, []).append(each)
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    found = []
    for stack, own in stacks.items():
        oldest_ns = min(each.taken_ns for each in own)
        found.append(Holder(stack, estimate_of(own, lambda each: each.bytes, period), (now - oldest_ns) / 1e9))
    return sorted(found, key=lambda holder: -holder.size.bytes)


def are_like(taken: Taken, size: int) -> bool:
    return taken.blocks >= 1 and abs(taken.bytes / taken.blocks - size) < size / ALIKE


def estimate_of_taken(taken: Taken, size: int, period: int) -> Estimate:
    """Samples are counted by their chance: the table keeps the live ones alone."""
    chance = -math.expm1(-(size + EXTRA_BYTES) / period)
    samples = round(taken.blocks * chance)
    spread = Evidence(samples, size, taken.bytes * size * (1 - chance) / chance)
    low, high = range_of(taken.bytes, spread, period)
    return Estimate(round(taken.bytes), round(low), round(high), samples)


def freed_beside(
    taken: Iterable[Taken], holders: Iterable[Holder], size: int, period: int
) -> list[tuple[Taken, Estimate]]:
    """Of stacks whose blocks have this size, those that freed most of what they asked for; the largest first."""
    live = {holder.stack: holder.size.bytes for holder in holders}
    alike = (each for each in taken if are_like(each, size))
    gone = (each for each in alike if each.bytes > FREED * live.get(each.stack, 0))
    return [(each, estimate_of_taken(each, size, period)) for each in gone]


def rounded_up(pages: Pages, sample: Sample) -> int:
    """Resident bytes behind what was asked for."""
    begin, end = sample.address + sample.asked, sample.address + sample.bytes
    states = pages.of(begin, end).translate(IS_RESIDENT) if end > begin else b""
    if not states:
        return 0
    first = begin // PAGE * PAGE
    absent = sum(
        min(end, first + (n + 1) * PAGE) - max(begin, first + n * PAGE) for n, state in enumerate(states) if not state
    )
    return end - begin - absent
