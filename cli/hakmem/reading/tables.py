# SPDX-License-Identifier: MIT OR Apache-2.0
"""HAKMEM's tables in another process's memory, which is read, and not stopped meanwhile. asking.py alone writes it.

    /proc/PID/maps -> an ELF image -> its note "HAKMEM" -> numbers and distances (src/observe/layout.c)
    /proc/PID/mem  -> units, class map, slabs' bitmaps, magazines, depot, big blocks, sites, samples

The kernel decides who may read, as for a debugger: the same user, where yama's ptrace_scope is 0, and root.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from hakmem.base.errors import Refusal
from hakmem.reading.living import gone, maps_of, refuse_if_gone, why_forbidden

VERSION = 8
OWNER = b"HAKMEM\0"
# In the order of src/observe/layout.def.
NAMES = tuple(
    """unit_shift run_class classes sites range_base range_units range_map range_unit range_map_bytes range_unit_bytes
    unit_stride unit_kind unit_class unit_head unit_length unit_free unit_words unit_origin unit_empty page_shift
    paged_block paged_origin paged_free class_stride class_bytes class_slots class_below big_table big_pieces
    table_capacity table_slots slot_stride slot_address slot_facts slot_origin piece_stride piece_address piece_bytes
    piece_site site_stride site_address registry_first context_next context_in_use context_slots context_top
    context_emptied context_bytes depot_stride depot_shift depot_tag_bits pack_next pack_count pack_blocks table_rows
    table_head table_taken heads rows_mask rows_row sample_stride sample_address sample_bytes sample_asked sample_weight
    sample_taken_ns sample_stack stack_next stack_taken stack_depth stack_frame place_line place_name place_file
    place_text chunk_before chunk_bytes price huge_pages soft_limit hard_limit background_thread process_cache_bytes
    big_cache_bytes site_all_sizes profile profile_bytes mode policy_file keeps_until_ms counters counter_name
    counter_help tallied tallies states told_stride told_name told_help footprint_span footprint_big footprint_empty
    runs_units runs_free_pages runs_dirty_pages range_mapped big_live_bytes big_live_blocks big_kept_bytes
    big_empty_bytes piece_empty version_bytes meta_own cost_first_call cost_first_page cost_now_call cost_now_page
    cost_call cost_page count_calls big_threshold asked lent asked_python asked_how asked_answer asked_modules
    asked_module modules_most module_stride""".split()
)
SHIFTS, STRIDES = ("unit_shift", "page_shift", "depot_tag_bits", "depot_shift"), ("slot_stride", "context_bytes", "sample_stride")
WHERE = (
    "layout", "range", "class", "big", "big_piece", "site_table", "registry", "depot", "table", "settings", "meta",
    "rent", "counter", "counter_names", "counter_helps", "tally", "told", "version", "footprint", "runs", "meta_first", "cost",
    "snapshot", "account", "asked",
)
HOLE, CLEAN, DIRTY, GONE, SLAB, LARGE, REST, PAGED = range(8)
HALF_PAGES, MOST_PAGES = 8, (1 << 9) - 1  # of a half of a unit; of a block
SITE_BITS, REFUSED = 16, 1 << 63
MAPPED, SLACK = (1 << 60) - (1 << 12), (1 << 12) - 1  # of a slot's facts (src/blocks/big_internal.h); slack [4 KiB]
PT_LOAD, PT_NOTE = 1, 4
SEGMENT = struct.Struct("<IIQQQQ")
PROBES = 1 << 12  # a table that is half empty has no row that is so far from its home
PATH_MOST, PAGE_BYTES = 1 << 12, 1 << 12
PACK_MOST = 1 << 10  # blocks of a pack that are read
LINKED_MOST = 1 << 20
READS_MOST, BYTES_MOST = 1 << 24, 1 << 36  # of one look; the tables of 256 GiB take less
MOST = 1 << 28  # bytes that are read at once; what says more is no table
LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \S+\s*(.*)")


class Changed(Exception):
    """A table is not what it was a moment ago: it is read again."""


class Area(NamedTuple):
    """A line of /proc/PID/maps."""

    first: int
    end: int
    rights: str
    offset: int
    path: str


class Unit(NamedTuple):
    number: int
    kind: int
    size_class: int
    head: int
    length: int
    free: int
    words: int
    origin: int
    empty: int


class Memory:
    """What the process has mapped, and what is in it. written: it may be written, too, by asking.py. After an exec all
    fails, as what is open is the memory of the program before."""

    def __init__(self, pid: int, written: bool = False) -> None:
        self.pid = pid
        refuse_if_gone(pid)
        try:
            self.maps = maps_of(pid)
            self.file = os.open(f"/proc/{pid}/mem", (os.O_RDWR if written else os.O_RDONLY) | os.O_CLOEXEC)
        except PermissionError:
            raise Refusal(why_forbidden(pid)) from None
        except (FileNotFoundError, ProcessLookupError):
            raise gone(pid) from None
        found = (LINE.match(line) for line in self.maps.splitlines())
        self.reads = self.bytes = 0
        self.areas = [Area(int(m[1], 16), int(m[2], 16), m[3], int(m[4], 16), m[5]) for m in found if m]

    def close(self) -> None:
        os.close(self.file)

    def area_of(self, address: int) -> Area | None:
        return next((area for area in self.areas if area.first <= address < area.end), None)

    def read(self, address: int, size: int) -> bytes:
        if not 0 <= size <= MOST or not 0 <= address < 1 << 62:
            raise Changed
        self.reads, self.bytes = self.reads + 1, self.bytes + size
        if self.reads > READS_MOST or self.bytes > BYTES_MOST:
            raise Refusal(f"process {self.pid}: its tables have no end")
        try:
            data = os.pread(self.file, size, address)
        except OSError as failure:
            raise Changed from failure
        if len(data) != size:
            raise Changed
        return data

    def write(self, address: int, value: int, size: int) -> None:
        self.write_bytes(address, value.to_bytes(size, "little"))

    def write_bytes(self, address: int, text: bytes) -> None:
        try:
            done = os.pwrite(self.file, text, address)
        except OSError as failure:
            raise Changed from failure
        if done != len(text):
            raise Changed

    def number(self, address: int, size: int = 8) -> int:
        return int.from_bytes(self.read(address, size), "little")

    def words(self, address: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}Q", self.read(address, count * 8))


# ---- the note ----

def own_notes(place: int, data: bytes, owner: bytes, kind: int) -> Iterator[tuple[int, bytes]]:
    """Among those of a segment: names and contents are padded to 4 bytes."""
    at = 0
    while at + 12 <= len(data):
        name_bytes, size, its_kind = struct.unpack_from("<III", data, at)
        begin = at + 12 + (name_bytes + 3 & ~3)
        if data[at + 12:at + 12 + name_bytes] == owner and its_kind == kind:
            yield place + begin, data[begin:begin + size]
        at = begin + (size + 3 & ~3)


def segments_of(memory: Memory, base: int, wanted: int) -> tuple[int, list[tuple[int, int]]]:
    """Of the image that begins here: by how much its addresses are moved; where segments of a kind lie, and their
    bytes."""
    head = memory.read(base, 64)
    at, (size, count) = int.from_bytes(head[32:40], "little"), struct.unpack_from("<HH", head, 54)
    if not head.startswith(b"\x7fELF\x02\x01") or size < SEGMENT.size:
        return 0, []
    segments = [SEGMENT.unpack_from(memory.read(base + at + n * size, size)) for n in range(count)]
    bias = base - next((vaddr - offset for kind, _, offset, vaddr, _, _ in segments if kind == PT_LOAD), 0)
    return bias, [(bias + vaddr, length) for kind, _, _, vaddr, _, length in segments if kind == wanted]


def notes_of(memory: Memory, base: int, owner: bytes = OWNER, kind: int = 1) -> Iterator[tuple[int, bytes]]:
    """An owner's among the notes of the image that begins here: where its contents lie, and they."""
    for start, length in segments_of(memory, base, PT_NOTE)[1]:
        yield from own_notes(start, memory.read(start, length), owner, kind)


def image_starts(areas: list[Area]) -> Iterator[int]:
    return (area.first for area in areas if area.offset == 0 and area.path.startswith("/") and "r" in area.rights)


def note_in(memory: Memory) -> tuple[int, bytes]:
    for base in image_starts(memory.areas):
        try:
            found = next(notes_of(memory, base), None)
        except Changed:
            continue
        if found is not None:
            return found
    if not Path(f"/proc/{memory.pid}/maps").exists() or not memory.areas:
        raise gone(memory.pid)
    raise Refusal(f"process {memory.pid} does not run on HAKMEM, or on a version that cannot be read")


# ---- the tables ----

def linked(first: int, next_of: Callable[[int], int]) -> Iterator[int]:
    """Those of a list; where one comes twice, or without end, it is none."""
    seen: set[int] = set()
    at = first
    while at:
        if at in seen or len(seen) == LINKED_MOST:
            raise Changed
        seen.add(at)
        yield at
        at = next_of(at)


class Tables:
    """The tables of one process."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        place, note = note_in(memory)
        version, count = struct.unpack_from("<II", note)
        if version != VERSION or count != len(NAMES):
            raise Refusal(f"process {memory.pid} runs on another version of HAKMEM (its tables: {version}, not {VERSION})")
        distances = struct.unpack_from(f"<{len(WHERE)}q", note, 8)
        self.at = {name: place + 8 + 8 * n + distances[n] for n, name in enumerate(WHERE)}
        values = struct.unpack(f"<{count}I", memory.read(self.at["layout"], 4 * count))
        self.n = dict(zip(NAMES, values))
        if any(self.n[name] >= 64 for name in SHIFTS) or not all(self.n[name] for name in STRIDES):
            raise Refusal(f"process {memory.pid}: its tables are damaged")

    def field(self, table: int, name: str, size: int = 8) -> int:
        return self.memory.number(table + self.n[name], size)

    def setting(self, name: str) -> int:
        return self.field(self.at["settings"], name)

    def keeps_until_ms(self) -> int:
        """Of CLOCK_MONOTONIC: until then freed memory stays as at the price `speed`."""
        return self.field(self.at["rent"], "keeps_until_ms")

    def policy_file(self) -> str:
        """A path; "": there is none."""
        address, found = self.setting("policy_file"), b""
        while address and b"\0" not in found and len(found) < PATH_MOST:
            at = address + len(found)
            found += self.memory.read(at, PAGE_BYTES - at % PAGE_BYTES)
        return os.fsdecode(found.partition(b"\0")[0])

    # ---- units ----

    def unit_bytes(self) -> int:
        return 1 << self.n["unit_shift"]

    def base(self) -> int:
        return self.field(self.at["range"], "range_base")

    def units(self) -> int:
        return self.field(self.at["range"], "range_units")

    def unit(self, number: int) -> Unit:
        start = self.field(self.at["range"], "range_unit") + number * self.n["unit_stride"]
        data = self.memory.read(start, self.n["unit_stride"])

        def part(name: str, size: int) -> int:
            return int.from_bytes(data[self.n[name]:self.n[name] + size], "little")

        return Unit(
            number, part("unit_kind", 1), part("unit_class", 1), part("unit_head", 4), part("unit_length", 4),
            part("unit_free", 2), part("unit_words", 8), part("unit_origin", 8), part("unit_empty", 8),
        )

    def paged_block(self, half: int) -> tuple[int, int, int]:
        """The block that begins in the half of a paged unit: its first page, its pages (0: none), its site and time."""
        number, which = divmod(half, 2)
        entry = self.field(self.at["range"], "range_unit") + number * self.n["unit_stride"]
        word = self.memory.number(entry + self.n["paged_block"] + 2 * which, 2)
        origin = self.memory.number(entry + self.n["paged_origin"] + 8 * which)
        return half * HALF_PAGES + word % HALF_PAGES, word // HALF_PAGES, origin

    def class_in_map(self, number: int) -> int:
        return self.memory.number(self.field(self.at["range"], "range_map") + number, 1)

    def shape(self, size_class: int) -> tuple[int, int]:
        """Bytes of a block, and blocks of a slab."""
        row = self.at["class"] + size_class * self.n["class_stride"]
        return self.field(row, "class_bytes", 4), self.field(row, "class_slots", 4)

    # ---- caches ----

    def contexts(self) -> Iterator[bytes]:
        """Of the threads that have one."""
        first = self.field(self.at["registry"], "registry_first")
        for context in linked(first, lambda at: self.field(at, "context_next")):
            data = self.memory.read(context, self.n["context_bytes"])
            if data[self.n["context_in_use"]]:
                yield data

    def magazines(self, size_class: int) -> Iterator[tuple[int, ...]]:
        return (self.magazine(data, size_class) for data in self.contexts())

    def magazine(self, context: bytes, size_class: int) -> tuple[int, ...]:
        slots, top = (
            int.from_bytes(context[self.n[name] + 8 * size_class:][:8], "little")
            for name in ("context_slots", "context_top")
        )
        if slots == 0 or top <= slots:
            return ()
        emptied = context[self.n["context_emptied"] + size_class // 8] >> size_class % 8 & 1
        gone = self.memory.number(slots - 8) if emptied else 0
        return self.memory.words(slots + 8 * gone, max(0, (top - slots) // 8 - gone))

    def packs(self, size_class: int) -> Iterator[tuple[int, ...]]:
        head = self.memory.number(self.at["depot"] + size_class * self.n["depot_stride"])
        first = head >> self.n["depot_tag_bits"] << self.n["depot_shift"]
        for pack in linked(first, lambda at: self.field(at, "pack_next")):
            yield self.memory.words(pack + self.n["pack_blocks"], min(PACK_MOST, self.field(pack, "pack_count", 4)))

    # ---- big blocks ----

    def big_blocks(self) -> Iterator[tuple[int, int, int, int]]:
        """Address, usable bytes, slack behind them and site of those that are live."""
        table, n = self.field(self.at["big"], "big_table"), self.n
        count = self.field(table, "table_capacity")
        data = self.memory.read(table + n["table_slots"], count * n["slot_stride"])
        for start in range(0, len(data), n["slot_stride"]):
            address, facts, origin = (
                int.from_bytes(data[start + n[name]:][:8], "little") for name in ("slot_address", "slot_facts", "slot_origin")
            )
            if address > 1 and not facts & REFUSED:
                slack = (facts & SLACK) << 12
                yield address, (facts & MAPPED) - slack, slack, origin & (1 << SITE_BITS) - 1

    def pieces(self) -> Iterator[tuple[int, int, int]]:
        """The same of freed ones that are kept; the site had them last."""
        for number in range(min(1024, self.field(self.at["big"], "big_pieces"))):
            piece = self.at["big_piece"] + number * self.n["piece_stride"]
            yield self.field(piece, "piece_address"), self.field(piece, "piece_bytes"), self.field(piece, "piece_site", 2)

    # ---- who asked ----

    def site(self, number: int) -> int:
        """Its address; 0: none."""
        if not 0 < number < self.n["sites"]:
            return 0
        table = self.memory.number(self.at["site_table"])
        return self.field(table + number * self.n["site_stride"], "site_address")

    def sampled(self, block: int) -> tuple[int, tuple[int, ...]] | None:
        """Bytes that were asked for, and the stack; None: the block is not sampled."""
        rows = self.field(self.at["table"], "table_rows")
        if not rows:
            return None
        mask = self.field(rows, "rows_mask")
        place = (block * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 20 & mask
        for step in range(min(mask + 1, PROBES)):
            row = rows + self.n["rows_row"] + ((place + step) & mask) * self.n["sample_stride"]
            address = self.field(row, "sample_address")
            if address == block:
                stack = self.field(row, "sample_stack")
                depth = min(256, self.field(stack, "stack_depth", 4))
                return self.field(row, "sample_asked"), self.memory.words(stack + self.n["stack_frame"], depth)
            if address == 0:
                return None
        return None
