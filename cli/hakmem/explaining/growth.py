# SPDX-License-Identifier: MIT OR Apache-2.0
"""What grew between two looks at a process: a part, and of live blocks the class, the call site and the stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hakmem.base.figures import bytes_text
from hakmem.explaining.cause import class_text
from hakmem.explaining.look import Look
from hakmem.reading.heap import LIVE

ROWS = 3
GROWTH_LEAST = 0.01  # of the live bytes, from which on it may be a leak


class Growth(NamedTuple):
    before: Look
    after: Look

    @property
    def seconds(self) -> float:
        return self.after.at - self.before.at

    def of(self, part: str) -> int:
        return self.after.parts.bytes.get(part, 0) - self.before.parts.bytes.get(part, 0)


def grown_classes(growth: Growth) -> Iterator[tuple[int, str]]:
    before = growth.before.parts.classes
    for number, use in growth.after.parts.classes.items():
        more = use.live - (before[number].live if number in before else 0)
        yield more * growth.after.heap.classes[number].bytes, f"{class_text(growth.after, number)}: {more:+,} blocks"


def grown_sites(growth: Growth) -> Iterator[tuple[int, str]]:
    before = {address: size for address, _, size in growth.before.by_site()}
    for address, _, size in growth.after.by_site():
        yield size - before.get(address, 0), f"long blocks of {growth.after.site(address)}"


def grown_stacks(growth: Growth) -> Iterator[tuple[int, str]]:
    """Estimates, where not each block is sampled."""
    before = {holder.stack: holder.size.bytes for holder in growth.before.holders}
    for holder in growth.after.holders:
        if holder.stack in growth.after.frames:
            samples = f"≈, of {holder.size.samples:,} samples" + ": a hint, no more" * holder.size.is_hint
            yield holder.size.bytes - before.get(holder.stack, 0), f"{growth.after.stack(holder.stack)} ({samples})"


def signed(size: int) -> str:
    return f"{'-' if size < 0 else '+'}{bytes_text(abs(size))}"


def growth_lines(growth: Growth, part: str) -> Iterator[str]:
    grew = growth.of(part)
    if part != LIVE or grew <= 0 or grew < GROWTH_LEAST * growth.before.parts.bytes.get(LIVE, 0):
        if grew:
            yield f"{signed(grew)} in {growth.seconds:.1f} s"
        return
    yield f"grew by {bytes_text(grew)} in {growth.seconds:.1f} s: a leak, if it goes on"
    for rows in (grown_classes(growth), grown_sites(growth), grown_stacks(growth)):
        for size, text in sorted(rows, key=lambda one: -one[0])[:ROWS]:
            if size > 0:
                yield f"  {text}, {signed(size)}"
