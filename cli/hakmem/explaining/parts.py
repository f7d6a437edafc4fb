# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the resident memory of a process consists of: each resident page is divided among these parts, whose sum is RSS.

    a page of a slab     | a live block on it      -> live: the bytes of its blocks; holes: the rest
                         | only blocks in caches   -> caches
                         | none                    -> kept
    a page of a span     | live, kept, big_kept, own: as the tables say (reading/heap.py)
    of a fork's child    | a page that the parent shares -> copy, whatever lies on it
    not HAKMEM's         | stacks, program, files, shared_memory, other (outside.py)

Live blocks on pages that were never written are in no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Optional

from hakmem.explaining.outside import ANONYMOUS, STACKS, Piece
from hakmem.explaining.pages import HUGE, IS_COPY, IS_RESIDENT, Pages, Range
from hakmem.reading.heap import LIVE, Class, Heap, Slab, Span
from hakmem.reading.resident import PAGE
from hakmem.reading.tables import Memory

HOLES, CACHES, KEPT, COPY = "holes", "caches", "kept", "copy"
ON_LIVE, ON_CACHED, ON_FREE = range(3)


@dataclass
class ClassUse:
    """Of the slabs of a class; bytes are resident ones."""

    slabs: int = 0
    partial: int = 0  # slabs with both live and free slots
    slots: int = 0  # of the partial slabs
    used: int = 0  # of these, live or in caches
    live: int = 0  # blocks
    cached: int = 0
    live_bytes: int = 0
    holes: int = 0


@dataclass
class SiteUse:
    blocks: int = 0
    bytes: int = 0


@dataclass
class Parts:
    bytes: dict[str, int] = field(default_factory=dict)
    classes: dict[int, ClassUse] = field(default_factory=dict)
    sites: dict[int, SiteUse] = field(default_factory=dict)  # of live spans
    pieces: list[Piece] = field(default_factory=list)  # outside, the largest first
    kept_in_slabs: int = 0
    emptied: int = 0  # bytes of pages on which only blocks in caches lie
    depot_emptied: int = 0  # of these, without a block in a magazine
    copied: int = 0  # of a fork's child: its own pages of slabs and live spans, at places where the parent has pages, too
    shared: int = 0  # of HAKMEM's resident pages, those that another process has, too
    huge: list[tuple[int, int]] = field(default_factory=list)  # live pages in huge pages: address, number

    def add(self, part: str, size: int) -> None:
        self.bytes[part] = self.bytes.get(part, 0) + size


def page_masks(each: Class, pages: int) -> list[int]:
    """Of each page of a slab, the bits of the slots that reach into it."""
    def mask(page: int) -> int:
        first, last = page * PAGE // each.bytes, min((page * PAGE + PAGE - 1) // each.bytes, each.slots - 1)
        return (1 << max(0, last - first + 1)) - 1 << first

    return [mask(page) for page in range(pages)]


def both(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one, "big") & int.from_bytes(other, "big")).to_bytes(len(one), "big")


def without(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one, "big") & ~int.from_bytes(other, "big")).to_bytes(len(one), "big")


class Divider:
    """Of a heap, whose pages' states are known. is_child: pages that the parent has, too, are a part of their own; `parent`:
    the parent's pages at the same places, if they can be read."""

    def __init__(self, memory: Memory, heap: Heap, pages: Pages, is_child: bool, parent: Optional[Pages] = None) -> None:
        self.memory, self.heap, self.pages, self.parent = memory, heap, pages, parent
        self.is_child = is_child
        self.parts = Parts()
        self.masks: dict[tuple[int, int], list[int]] = {}
        self.slabs = {slab.start: slab for slab in heap.slabs}
        self.in_magazines, self.in_depot = self.slots_of(heap.magazines), self.slots_of(heap.depot)

    def slots_of(self, cache: dict[int, list[int]]) -> dict[int, int]:
        """By slab: the bits of its slots whose blocks lie in the cache."""
        found: dict[int, int] = {}
        for number, blocks in cache.items():
            size = self.heap.classes[number].bytes
            for block in blocks if number < self.heap.run_class else ():
                slab = self.slabs.get(self.heap.slab_at(block))
                if slab is not None and slab.size_class == number:
                    found[slab.start] = found.get(slab.start, 0) | 1 << (block - slab.start) // size
        return found

    def own(self, start: int, end: int) -> bytes:
        """1 for each page that counts here."""
        states = self.pages.of(start, end)
        copy = self.of_parent(start, end)
        self.parts.shared += states.translate(IS_COPY).count(1) * PAGE
        if self.is_child:
            self.parts.add(COPY, copy.count(1) * PAGE)
        return without(states.translate(IS_RESIDENT), copy)

    def of_parent(self, start: int, end: int) -> bytes:
        """1 for each page that the parent shares, too. Other shared pages are of this process and its own children."""
        shared = self.pages.of(start, end).translate(IS_COPY)
        if not self.is_child:
            return bytes(len(shared))
        return shared if self.parent is None else both(shared, self.parent.of(start, end).translate(IS_COPY))

    def note_copied(self, start: int, own: bytes) -> None:
        if self.parent is not None:
            theirs = self.parent.of(start, start + len(own) * PAGE).translate(IS_RESIDENT)
            self.parts.copied += both(own, theirs).count(1) * PAGE

    # ---- slabs ----

    def bits_of(self, slab: Slab, each: Class) -> int:
        if slab.free in (0, each.slots):
            return (1 << each.slots) - 1 if slab.free else 0
        return int.from_bytes(self.memory.read(slab.words, (each.slots + 63) // 64 * 8), "little")

    def masks_of(self, size_class: int, pages: int) -> list[int]:
        key = size_class, pages
        if key not in self.masks:
            self.masks[key] = page_masks(self.heap.classes[size_class], pages)
        return self.masks[key]

    def pages_by_use(self, slab: Slab, each: Class, free: int, own: bytes) -> list[int]:
        """How many resident pages hold live blocks, only cached ones, none."""
        depot = free | self.in_depot.get(slab.start, 0)
        cached = depot | self.in_magazines.get(slab.start, 0)
        found = [0, 0, 0]
        if not cached:
            found[ON_LIVE] = own.count(1)
            self.note_huge(slab.start, own)
            return found
        live = bytearray(len(own))
        for page, mask in enumerate(self.masks_of(slab.size_class, len(own))):
            if own[page]:
                use = ON_FREE if free & mask == mask else ON_CACHED if cached & mask == mask else ON_LIVE
                found[use] += 1
                self.parts.depot_emptied += PAGE * (use == ON_CACHED and depot & mask == mask)
                live[page] = use == ON_LIVE
        self.note_huge(slab.start, live)
        return found

    def add_slab(self, slab: Slab) -> None:
        each, use = self.heap.classes[slab.size_class], self.parts.classes.setdefault(slab.size_class, ClassUse())
        cached = self.in_magazines.get(slab.start, 0) | self.in_depot.get(slab.start, 0)
        free, in_caches = self.bits_of(slab, each), cached.bit_count()
        live = max(0, each.slots - free.bit_count() - in_caches)
        use.slabs, use.live, use.cached = use.slabs + 1, use.live + live, use.cached + in_caches
        if live and slab.free:
            use.partial, use.slots, use.used = use.partial + 1, use.slots + each.slots, use.used + live + in_caches
        own = self.own(slab.start, slab.start + slab.bytes)
        self.note_copied(slab.start, own)
        on = [pages * PAGE for pages in self.pages_by_use(slab, each, free, own)]
        self.add_pages(use, live * each.bytes, in_caches * each.bytes, on)

    def add_pages(self, use: ClassUse, live: int, cached: int, on: list[int]) -> None:
        """Bytes of the slab's live and cached blocks, and of its pages by use."""
        live = min(live, on[ON_LIVE])
        beside = min(max(0, cached - on[ON_CACHED]), on[ON_LIVE] - live)
        holes = on[ON_LIVE] - live - beside
        use.live_bytes += live
        use.holes += holes
        self.parts.emptied += on[ON_CACHED]
        self.parts.kept_in_slabs += on[ON_FREE]
        for part, size in ((LIVE, live), (HOLES, holes), (CACHES, beside + on[ON_CACHED]), (KEPT, on[ON_FREE])):
            self.parts.add(part, size)

    # ---- spans ----

    def note_huge(self, start: int, own: bytes | bytearray) -> None:
        states = self.pages.of(start, start + len(own) * PAGE)
        if not max(states, default=0) & HUGE:
            return
        begin = None
        for page in range(len(own) + 1):
            is_in = page < len(own) and own[page] and states[page] & HUGE
            if is_in and begin is None:
                begin = page
            elif not is_in and begin is not None:
                self.parts.huge.append((start + begin * PAGE, page - begin))
                begin = None

    def add_span(self, span: Span) -> None:
        own = self.own(span.start, span.end)
        self.parts.add(span.use, own.count(1) * PAGE)
        if span.use == LIVE:
            self.note_huge(span.start, own)
            self.note_copied(span.start, own)
            site = self.parts.sites.setdefault(span.site, SiteUse())
            site.blocks, site.bytes = site.blocks + 1, site.bytes + own.count(1) * PAGE

    def move_cached_runs(self) -> None:
        """Of blocks of whole pages that lie in caches: their pages were counted as live."""
        for cache in (self.heap.magazines, self.heap.depot):
            for number in range(self.heap.run_class, len(self.heap.classes)):
                held = sum(self.held(block, number) for block in cache.get(number, ()))
                self.parts.add(LIVE, -held)
                self.parts.add(CACHES, held)
                self.parts.emptied += held
                self.parts.depot_emptied += held * (cache is self.heap.depot)

    def held(self, block: int, number: int) -> int:
        end = block + self.heap.classes[number].bytes
        return without(self.pages.of(block, end).translate(IS_RESIDENT), self.of_parent(block, end)).count(1) * PAGE

    def divide(self) -> Parts:
        for slab in self.heap.slabs:
            self.add_slab(slab)
        for span in self.heap.spans:
            self.add_span(span)
        self.move_cached_runs()
        return self.parts


def ranges_of(heap: Heap) -> Iterator[Range]:
    yield from ((slab.start, slab.start + slab.bytes) for slab in heap.slabs)
    yield from ((span.start, span.end) for span in heap.spans)


def add_outside(parts: Parts, pieces: Iterable[Piece], is_child: bool) -> None:
    parts.pieces = sorted(pieces, key=lambda piece: -piece.bytes)
    for piece in parts.pieces:
        copied = piece.copied if is_child and piece.owner in (STACKS, ANONYMOUS) else 0
        parts.add(piece.owner, piece.bytes - copied)
        parts.add(COPY, copied)
