# SPDX-License-Identifier: MIT OR Apache-2.0
"""All that is read of a process at one moment, from outside and without a setting at its start.

    /proc/PID/mem -> tables -> heap, samples, settings       /proc/PID/pagemap -> states of its pages
    /proc/PID/smaps -> mappings                              -> parts, whose sum is RSS

The process runs meanwhile. Where a table changed so much that it cannot be followed, all is read again.
"""

from __future__ import annotations

import os
import struct
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Optional

from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.explaining.holders import Estimate, Holder, by_stack, estimate_of, rounded_up
from hakmem.explaining.limits import Settings, limits_of, settings_of
from hakmem.explaining.outside import pieces_of
from hakmem.explaining.pages import Pages
from hakmem.explaining.parts import Divider, Parts, add_outside, ranges_of
from hakmem.explaining.unused import Unused, unused_in
from hakmem.reading.heap import LIVE, Heap, heap_of, later_ranges
from hakmem.reading.living import facts_of, gone, refuse_if_gone, root_of
from hakmem.reading.names import Mapping as Module
from hakmem.reading.names import mappings_of as modules_of
from hakmem.reading.names import demangled, name_of
from hakmem.reading.resident import Mapping, mappings_of
from hakmem.reading.samples import Sample, Taken, frames_of, period_of, samples_of, stacks_of
from hakmem.reading.table_file import Place
from hakmem.reading.tables import Changed, Memory, Tables

ROUNDING, UNUSED = "rounding", "unused"
TRIES = 10
SYMBOL_MOST = 60
STACKS_NAMED, FRAMES_NAMED = 32, 3
HOLES_NAMED = 1 << 20  # bytes of a class, from which on its stacks may be told
NOTHING = Estimate(0, 0, 0, 0)


@dataclass(frozen=True)
class Look:
    pid: int
    command: str
    at: float  # s of CLOCK_MONOTONIC
    rss: int
    pss: int
    swap: int
    threads: int
    parent: int  # that this process has its memory from, by fork; 0: none that is there
    heap: Heap
    parts: Parts
    settings: Settings
    policy_file: str  # "": none
    keeps_s: float  # for how long freed memory stays as at the price `speed`, by what earlier runs have shown
    limits: list[str]
    period: int  # bytes between two samples, at present
    samples: list[Sample]
    holders: list[Holder]
    taken: list[Taken]  # by stack
    frames: dict[int, tuple[int | Place, ...]]  # of stacks that may be told
    sites: dict[int, int]  # addresses, by number
    rounding: Estimate
    unused: Unused
    modules: list[Module]

    def place(self, address: int | Place) -> str:
        if isinstance(address, Place):
            return printable(str(address))
        found = name_of(address, self.modules)
        return printable(str(replace(found, symbol=readable_symbol(found.symbol))))

    def site(self, address: int) -> str:
        return self.place(address) if address else "a call site that was not recorded"

    def by_site(self) -> list[tuple[int, int, int]]:
        """Address (0: not known), blocks and bytes of live long blocks, most bytes first. A site has a record for each
        depth of its stack."""
        found: dict[int, tuple[int, int]] = {}
        for number, use in self.parts.sites.items():
            address = self.sites[number]
            blocks, size = found.get(address, (0, 0))
            found[address] = blocks + use.blocks, size + use.bytes
        return sorted(((address, *sums) for address, sums in found.items()), key=lambda one: -one[2])

    def stack(self, stack: int) -> str:
        return " < ".join(map(self.place, named(self.frames.get(stack, ())))) or "a stack that is gone"


def named(frames: tuple[int | Place, ...]) -> tuple[int | Place, ...]:
    """The innermost; of a program that an interpreter runs the call, and its own lines."""
    places = tuple(frame for frame in frames if isinstance(frame, Place))
    return ((*frames[:1], *places) if places else frames)[:FRAMES_NAMED]


@cache
def readable_symbol(symbol: str) -> str:
    """As C++ calls it; templates can be longer than any line."""
    name = demangled([symbol]).get(symbol, symbol)
    return name if len(name) <= SYMBOL_MOST else f"{name[:SYMBOL_MOST - 3]}..."


def command_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        raise gone(pid) from None
    return printable(" ".join(os.fsdecode(word) for word in words if word))


def number_in(pid: int, name: str) -> int:
    word = facts_of(pid).get(name, "0")
    return int(word) if word.isdecimal() else 0


def parent_of(pid: int, base: int) -> int:
    """The parent, if its range lies where the child's does: the place is random, and a fork copies it."""
    parent = number_in(pid, "PPid")
    try:
        memory = Memory(parent)
    except Refusal:
        return 0
    try:
        return parent if Tables(memory).base() == base else 0
    except (Refusal, Changed, struct.error, IndexError):
        return 0
    finally:
        memory.close()


def rounding_of(pages: Pages, samples: list[Sample], period: int) -> Estimate:
    rounded = [(each, rounded_up(pages, each)) for each in samples]
    sizes = {each.address: size for each, size in rounded if size}
    return estimate_of((each for each, size in rounded if size), lambda each: sizes[each.address], period)


def told_stacks(heap: Heap, parts: Parts, samples: list[Sample], holders: list[Holder], taken: list[Taken]) -> set[int]:
    """The largest, and those whose blocks are of classes with holes."""
    sizes = {heap.classes[number].bytes for number, use in parts.classes.items() if use.holes >= HOLES_NAMED}
    found = {holder.stack for holder in holders[:STACKS_NAMED]} | {each.stack for each in taken[:STACKS_NAMED]}
    return found | {each.stack for each in samples if each.bytes in sizes}


def move(parts: Parts, sizes: dict[str, int]) -> None:
    """Of the live bytes to other parts."""
    for to, size in sizes.items():
        moved = min(size, parts.bytes.get(LIVE, 0))
        parts.add(to, moved)
        parts.add(LIVE, -moved)


def sums_of(mappings: list[Mapping]) -> tuple[int, int, int]:
    """Rss, Pss and swap."""
    return sum(each.rss for each in mappings), sum(each.pss for each in mappings), sum(each.swap for each in mappings)


def pages_of_parent(parent: int, heap: Heap) -> Optional[Pages]:
    """At the places of the child's heap."""
    try:
        return Pages(parent, ranges_of(heap), mappings_of(parent)) if parent else None
    except (OSError, Refusal):
        return None


def divided(memory: Memory, heap: Heap, pages: Pages, mappings: list[Mapping], parent: int) -> Parts:
    parts = Divider(memory, heap, pages, parent != 0, pages_of_parent(parent, heap)).divide()
    outside = pieces_of(memory.pid, mappings, lambda mapping: pages.resident(mapping.start, mapping.end))
    add_outside(parts, outside, parent != 0)
    surplus = sum(parts.bytes.values()) - sum(mapping.rss for mapping in mappings)
    if surplus > 0 and not pages.knows_zeros:  # the kernel's page of zeros, as blocks show that were only read
        parts.add(LIVE, -min(surplus, parts.bytes.get(LIVE, 0)))
    return parts


def look_once(memory: Memory) -> Look:
    pid, tables = memory.pid, Tables(memory)
    heap, mappings = heap_of(tables), mappings_of(memory.pid)
    parent = parent_of(pid, tables.base()) if tables.units() else 0
    pages = Pages(pid, [*ranges_of(heap), *later_ranges(tables, heap.units)], mappings)
    parts = divided(memory, heap, pages, mappings, parent)
    settings, samples = settings_of(tables), samples_of(tables)
    period = period_of(tables)
    holders = by_stack(samples, period)
    taken = sorted(stacks_of(tables), key=lambda each: -each.bytes)
    rounding = rounding_of(pages, samples, period) if samples else NOTHING
    unused = unused_in(memory, parts.huge)
    move(parts, {UNUSED: unused.bytes, ROUNDING: rounding.bytes})
    return Look(
        pid, command_of(pid), time.monotonic(), *sums_of(mappings), number_in(pid, "Threads"), parent, heap, parts,
        settings, tables.policy_file(), max(0.0, tables.keeps_until_ms() / 1000 - time.monotonic()), limits_of(pid),
        period, samples, holders, taken,
        {stack: frames_of(tables, stack) for stack in told_stacks(heap, parts, samples, holders, taken)},
        {number: tables.site(number) for number in parts.sites}, rounding, unused,
        modules_of(memory.maps, root_of(pid)),
    )


def look_at(pid: int) -> Look:
    for _ in range(TRIES):
        memory = Memory(pid)
        try:
            return look_once(memory)
        except (Changed, struct.error, IndexError, OSError):
            refuse_if_gone(pid)
        finally:
            memory.close()
    raise Refusal(f"process {pid} ends, or changes its memory faster than it can be read")
