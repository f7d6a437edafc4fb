# SPDX-License-Identifier: MIT OR Apache-2.0
"""What all of HAKMEM's memory in another process is used for: its tables (tables.py), read as a whole.

    unit table            -> slabs with their bitmaps; spans: live runs, free runs, pages of paged units
    big blocks, pieces    -> spans: live, slack, kept
    magazines, depot      -> free blocks that their slabs count as handed out, by class
    chunks, tables        -> spans: HAKMEM's own

The process runs meanwhile: what two tables say may be a moment apart.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

from hakmem.reading.tables import (
    CLEAN, DIRTY, GONE, HALF_PAGES, LARGE, PAGED, REST, SITE_BITS, SLAB, Changed, Tables, linked,
)

LIVE, KEPT, BIG_KEPT, OWN = "live", "kept", "big_kept", "own"
FREE_RUNS = (CLEAN, DIRTY)
WITH_LENGTH = (SLAB, LARGE, GONE, *FREE_RUNS)
SITE_MASK = (1 << SITE_BITS) - 1
AT_ONCE = 1 << 10  # entries of the unit table
NO_TABLE = 1 << 22  # so near to its own pointer lies what is no table of its own but a row in the library
CHUNKS_MOST, UNITS_MOST, SLOTS_MOST = 1 << 16, 1 << 28, 1 << 14  # what says more is no table


class Span(NamedTuple):
    start: int
    end: int
    use: str
    site: int = 0  # its number; 0: not known


class Slab(NamedTuple):
    start: int
    bytes: int
    size_class: int
    free: int  # slots
    words: int  # address of its bitmap: 1 is free


class Class(NamedTuple):
    bytes: int
    slots: int
    below: int  # requests up to so many bytes have a smaller class


@dataclass
class Heap:
    classes: list[Class]
    run_class: int  # first class of whole pages
    unit_bytes: int
    units: int = 0
    slabs: list[Slab] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    magazines: dict[int, list[int]] = field(default_factory=dict)  # free blocks in them, by class
    depot: dict[int, list[int]] = field(default_factory=dict)
    threads: list[int] = field(default_factory=list)  # of each thread that has magazines, the bytes in them
    first_unit: dict[int, int] = field(default_factory=dict)  # address of a slab's further unit -> of the slab

    def depot_bytes(self) -> int:
        return sum(len(blocks) * self.classes[number].bytes for number, blocks in self.depot.items())

    def cached_runs(self) -> int:
        """Blocks of whole pages in caches."""
        caches = (*self.magazines.items(), *self.depot.items())
        return sum(len(blocks) for number, blocks in caches if number >= self.run_class)

    def slab_at(self, address: int) -> int:
        """The begin of the slab that the address lies in, if it lies in one."""
        unit = address // self.unit_bytes * self.unit_bytes
        return self.first_unit.get(unit, unit)


def rows_of_ones(bits: int) -> Iterator[tuple[int, int]]:
    """First and end of each."""
    at = 0
    while bits >> at:
        begin = at + ((bits >> at) & -(bits >> at)).bit_length() - 1
        at = begin
        while bits >> at & 1:
            at += 1
        yield begin, at


# ---- the unit table ----

class Piece(NamedTuple):
    """Fields of the entries of a row of units, a column each; columns of equal bytes, which memoryview reads fast."""

    kind: memoryview
    size_class: memoryview
    length: memoryview
    free: memoryview
    words: memoryview
    origin: memoryview
    paged_blocks: tuple[memoryview, memoryview]  # by half
    paged_origins: tuple[memoryview, memoryview]
    paged_free: memoryview


class Entries:
    """The unit table, copied in pieces; None: a piece in a gap, which can be TiB long, or of nothing but holes."""

    def __init__(self, tables: Tables) -> None:
        self.n, self.stride, self.units = tables.n, tables.n["unit_stride"], tables.units()
        if self.units > UNITS_MOST:
            raise Changed
        table = tables.field(tables.at["range"], "range_unit")
        self.pieces = [self.piece(tables, table, at) for at in range(0, self.units, AT_ONCE)]

    def piece(self, tables: Tables, table: int, first: int) -> Optional[Piece]:
        try:
            data = tables.memory.read(table + first * self.stride, min(AT_ONCE, self.units - first) * self.stride)
        except Changed:
            return None
        return self.divided(data) if data.strip(b"\0") else None

    def divided(self, data: bytes) -> Piece:
        def column(name: str, code: str, index: int = 0) -> memoryview:
            size = struct.calcsize(code)
            start = self.n[name] + index * size
            if start % size or self.stride % size or start >= self.stride:
                raise Changed
            return memoryview(data).cast(code)[start // size::self.stride // size]

        return Piece(
            column("unit_kind", "B"), column("unit_class", "B"), column("unit_length", "I"), column("unit_free", "H"),
            column("unit_words", "Q"), column("unit_origin", "Q"), (column("paged_block", "H"), column("paged_block", "H", 1)),
            (column("paged_origin", "Q"), column("paged_origin", "Q", 1)), column("paged_free", "H"),
        )


class Walk:
    """Along the units of the range."""

    def __init__(self, tables: Tables, heap: Heap) -> None:
        self.tables, self.heap = tables, heap
        self.base, self.unit_bytes = tables.base(), tables.unit_bytes()
        self.page = 1 << tables.n["page_shift"]
        self.entries = Entries(tables)

    def walk(self) -> None:
        unit = 1
        while unit < self.entries.units:
            number, at = divmod(unit, AT_ONCE)
            if (piece := self.entries.pieces[number]) is None:
                unit = (number + 1) * AT_ONCE
                continue
            length = 1
            if piece.kind[at] in WITH_LENGTH:
                length = max(1, min(piece.length[at], self.entries.units - unit))
            self.take(piece, at, self.base + unit * self.unit_bytes, length)
            unit += length

    def take(self, piece: Piece, at: int, start: int, length: int) -> None:
        kind = piece.kind[at]
        if kind == PAGED:
            self.take_paged(piece, at, start)
        elif kind == SLAB:
            self.take_slab(piece, at, start, length)
        elif kind == LARGE:
            self.heap.spans.append(Span(start, start + length * self.unit_bytes, LIVE, piece.origin[at] & SITE_MASK))
        elif kind in FREE_RUNS or kind == REST:  # a tail without its begin: pages on their way back
            self.heap.spans.append(Span(start, start + length * self.unit_bytes, KEPT))

    def take_slab(self, piece: Piece, at: int, start: int, length: int) -> None:
        size_class, free, words = piece.size_class[at], piece.free[at], piece.words[at]
        if size_class < len(self.heap.classes) and self.heap.classes[size_class].slots and words:
            self.heap.slabs.append(Slab(start, length * self.unit_bytes, size_class, free, words))
            self.heap.first_unit.update((start + n * self.unit_bytes, start) for n in range(1, length))

    def take_paged(self, piece: Piece, at: int, start: int) -> None:
        """The blocks that begin in the unit, which may end in another, and its rows of free pages."""
        for half in (0, 1):
            if block := piece.paged_blocks[half][at]:
                first = start + (half * HALF_PAGES + block % HALF_PAGES) * self.page
                site = piece.paged_origins[half][at] & SITE_MASK
                self.heap.spans.append(Span(first, first + block // HALF_PAGES * self.page, LIVE, site))
        for first, end in rows_of_ones(piece.paged_free[at]):
            self.heap.spans.append(Span(start + first * self.page, start + end * self.page, KEPT))


# ---- the others ----

def big_spans(tables: Tables) -> Iterator[Span]:
    for start, size, slack, site in tables.big_blocks():
        yield Span(start, start + size, LIVE, site)
        if slack:
            yield Span(start + size, start + size + slack, BIG_KEPT)
    yield from (Span(start, start + size, BIG_KEPT, site) for start, size, site in tables.pieces())


def apart(spans: Iterable[Span]) -> Iterator[Span]:
    """By address. A block that was freed between two reads would be there twice: what was told already is left out."""
    end = 0
    for span in sorted(spans):
        if span.end > max(end, span.start):
            yield span._replace(start=max(end, span.start))
        end = max(end, span.end)


def chunks(tables: Tables) -> Iterator[Span]:
    first = tables.memory.number(tables.at["meta"])
    for number, chunk in enumerate(linked(first, lambda at: tables.field(at, "chunk_before"))):
        if number == CHUNKS_MOST:
            raise Changed
        yield Span(chunk, chunk + tables.field(chunk, "chunk_bytes"), OWN)


def has_table(tables: Tables, name: str, address: int) -> bool:
    """Until there is one, the pointer names a row in the library's own data."""
    return address != 0 and abs(address - tables.at[name]) > NO_TABLE


def own_spans(tables: Tables) -> Iterator[Span]:
    n, at = tables.n, tables.at
    yield from chunks(tables)
    for table, mapped in (("range_map", "range_map_bytes"), ("range_unit", "range_unit_bytes")):
        start = tables.field(at["range"], table)
        yield Span(start, start + tables.field(at["range"], mapped), OWN)
    big = tables.field(at["big"], "big_table")
    if big:
        yield Span(big, big + n["table_slots"] + tables.field(big, "table_capacity") * n["slot_stride"], OWN)
    sites = tables.memory.number(at["site_table"])
    if has_table(tables, "site_table", sites):
        yield Span(sites, sites + n["sites"] * n["site_stride"], OWN)
    rows = tables.field(at["table"], "table_rows")
    if rows:
        yield Span(rows, rows + n["rows_row"] + (tables.field(rows, "rows_mask") + 1) * n["sample_stride"], OWN)


def classes_of(tables: Tables) -> list[Class]:
    n = tables.n
    data = tables.memory.read(tables.at["class"], n["classes"] * n["class_stride"])
    names = ("class_bytes", "class_slots", "class_below")
    found = [
        Class(*(struct.unpack_from("<I", data, at + n[name])[0] for name in names))
        for at in range(0, len(data), n["class_stride"])
    ]
    if any(each.slots > SLOTS_MOST or (each.slots and not each.bytes) for each in found):
        raise Changed
    return found


def take_cached(tables: Tables, heap: Heap) -> None:
    numbers = [number for number, each in enumerate(heap.classes) if each.bytes]
    for data in tables.contexts():
        held = 0
        for number in numbers:
            blocks = tables.magazine(data, number)
            heap.magazines.setdefault(number, []).extend(blocks)
            held += len(blocks) * heap.classes[number].bytes
        heap.threads.append(held)
    for number in numbers:
        for blocks in tables.packs(number):
            heap.depot.setdefault(number, []).extend(blocks)


def later_ranges(tables: Tables, units: int) -> Iterator[tuple[int, int]]:
    """What is HAKMEM's by now, beside what a heap that was read before has: so many units, and its big blocks."""
    base, size = tables.base(), tables.unit_bytes()
    yield base + units * size, base + max(units, tables.units()) * size
    yield from ((span.start, span.end) for span in big_spans(tables))


def heap_of(tables: Tables) -> Heap:
    heap = Heap(classes_of(tables), tables.n["run_class"], tables.unit_bytes())
    take_cached(tables, heap)  # before the slabs: what leaves a magazine meanwhile then counts once, as free
    walk = Walk(tables, heap)
    walk.walk()
    heap.units = walk.entries.units
    heap.spans += apart(big_spans(tables))
    heap.spans += own_spans(tables)
    return heap
