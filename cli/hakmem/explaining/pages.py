# SPDX-License-Identifier: MIT OR Apache-2.0
"""The state of each page of some stretches of a process's memory, a byte each.

    pagemap's words -> resident; another process has the same page (after a fork)
    PAGEMAP_SCAN    -> in a page of 2 MiB; the kernel's page of zeros, which is not resident (Linux 6.7)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from hakmem.reading.resident import HUGE as IS_HUGE
from hakmem.reading.resident import PAGE, PRESENT, ZERO_PAGE, Mapping, Pagemap

RESIDENT, COPY, HUGE = 1, 2, 4
STATE_OF_HIGH_BYTE = bytes(
    0 if not byte & 0x80 else RESIDENT if byte & 0x21 else RESIDENT | COPY for byte in range(256)
)
WITH_HUGE = bytes(state | HUGE if state & RESIDENT else state for state in range(256))
ALL_OUT = bytes(256)
IS_RESIDENT = bytes(state & RESIDENT for state in range(256))
IS_COPY = bytes((state & (RESIDENT | COPY)) == RESIDENT | COPY for state in range(256))
Range = tuple[int, int]
GAP_MOST = 4 << 20


def joined(ranges: Iterable[Range]) -> Iterator[Range]:
    """Of ranges in any order: in order, without overlaps, each as long as it goes on."""
    begin = end = 0
    for start, stop in sorted(ranges):
        if start <= end and end:
            end = max(end, stop)
            continue
        if end > begin:
            yield begin, end
        begin, end = start, stop
    if end > begin:
        yield begin, end


def in_pages(ranges: Iterable[Range]) -> Iterator[Range]:
    return ((start // PAGE * PAGE, -(-end // PAGE) * PAGE) for start, end in ranges)


def mapped(ranges: Iterable[Range], mappings: list[Mapping]) -> Iterator[Range]:
    """What of the ranges, which are joined, lies in anonymous mappings that have something resident."""
    held = sorted((each.start, each.end) for each in mappings if each.anonymous and each.rss)
    at = 0
    for start, end in ranges:
        while at < len(held) and held[at][1] <= start:
            at += 1
        n = at
        while n < len(held) and held[n][0] < end:
            yield max(start, held[n][0]), min(end, held[n][1])
            n += 1


def near(regions: Iterable[Range]) -> Iterator[Range]:
    """Regions in order, those with little between them as one."""
    begin = end = 0
    for first, last in regions:
        if end and first - end > GAP_MOST:
            yield begin, end
            begin = first
        begin, end = begin or first, last
    if end:
        yield begin, end


class Pages:
    """Outside of the ranges no page is resident."""

    def __init__(self, pid: int, ranges: Iterable[Range], mappings: list[Mapping]) -> None:
        self.knows_zeros = True
        with Pagemap(pid) as pagemap:
            held = joined(mapped(joined(in_pages(ranges)), mappings))
            parts = [part for start, end in held for part in self.present(pagemap, start, end)]
            found = [(start, self.states(pagemap, start, end)) for start, end in parts]
        self.starts = [start for start, _ in found]
        self.data = [data for _, data in found]

    def present(self, pagemap: Pagemap, start: int, end: int) -> list[Range]:
        """A long range, without its parts in which nothing is present."""
        if end - start <= GAP_MOST:
            return [(start, end)]
        try:
            return list(near(pagemap.regions(start, end, PRESENT)))
        except OSError:
            return [(start, end)]

    def states(self, pagemap: Pagemap, start: int, end: int) -> bytes:
        states = bytearray(pagemap.high_bytes(start, end).translate(STATE_OF_HIGH_BYTE))
        try:
            self.mark(states, start, pagemap.regions(start, end, IS_HUGE), WITH_HUGE)
            self.mark(states, start, pagemap.regions(start, end, PRESENT | ZERO_PAGE), ALL_OUT)
        except OSError:
            self.knows_zeros = False
        return bytes(states)

    def mark(self, states: bytearray, start: int, regions: Iterable[Range], table: bytes) -> None:
        for first, last in regions:
            part = slice((first - start) // PAGE, (last - start) // PAGE)
            states[part] = states[part].translate(table)

    def of(self, start: int, end: int) -> bytes:
        """From the page that `start` lies in to the one before `end`."""
        first, last = start // PAGE, -(-end // PAGE)
        at = max(0, bisect_right(self.starts, start) - 1)
        if at < len(self.starts):  # nearly all: within one range
            begin = first - self.starts[at] // PAGE
            if 0 <= begin and begin + last - first <= len(self.data[at]):
                return self.data[at][begin:begin + last - first]
        return self.gathered(first, last, at)

    def gathered(self, first: int, last: int, at: int) -> bytes:
        found = bytearray(last - first)
        while at < len(self.starts) and self.starts[at] // PAGE < last:
            begin = self.starts[at] // PAGE
            low, high = max(first, begin), min(last, begin + len(self.data[at]))
            if low < high:
                found[low - first:high - first] = self.data[at][low - begin:high - begin]
            at += 1
        return bytes(found)

    def resident(self, start: int, end: int) -> int:
        return self.of(start, end).translate(IS_RESIDENT).count(1) * PAGE
