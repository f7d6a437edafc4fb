# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of samples that HAKMEM_PROFILE_TABLE keeps in a file (src/record/profile_samples_file.h), as a profile of pprof.

    chunks of 64 KiB -> rows, stacks, images -> sums by stack -> Profile, as the library itself would have written it

The process may have ended at any instant, or still run: a row whose stack is not there yet is counted as lost.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hakmem.base.errors import Refusal

MAGIC = b"HAKPRO03"
ANY_VERSION = b"HAKPRO"
CHUNK, HEAD, CHUNK_HEAD = 65536, 512, 64
FACTS = struct.Struct("=8s4I7Q64s7Q")
ROW = struct.Struct("=QQQdQ")
STACK = struct.Struct("=II5d2QdQ2d")
IMAGE = struct.Struct("=4QII32s")
PLACE = struct.Struct("=QI2H")
SIZES = (CHUNK, ROW.size, STACK.size, IMAGE.size)
DEPTH_MOST = 128
CHUNKS_MOST, IMAGES_MOST, PLACES_MOST = 4096, 1 << 16, 1 << 16
PLACE_FRAME = 1 << 63  # a frame that is no address (src/record/profile_places.h)
NOTHING = -1
PERIODS_SEEN = 3  # of so many, something is seen with the chance 1 - exp(-3)
FROM_FIRST = "hakmem: sampled from the first block on"  # as in profiles that the library writes (src/record/profile_write.c)
TILL_END = "hakmem: sampled beyond the count"  # destructors free blocks after it
NUMBER_MOST = (1 << 63) - 1  # of what a profile can hold
PIDS_MOST = 1 << 22  # the kernel's bound on 64 bits
TYPES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "alloc_requested", "inuse_requested", "peak_objects",
         "peak_space", "temporary_objects", "temporary_space")
TYPES_NOW = TYPES[:6]


class Facts(NamedTuple):
    pid: int
    since_ns: int
    mean: int
    sampled: int
    lost: int
    ended: int
    chunks: int
    program: str
    in_use: int  # at exit, by the counters; 0: not known
    peak_number: int  # 0: no sample yet
    peak_in_use: int  # bytes, by the counters
    peak_after_ns: int  # after the first sample
    last_after_ns: int  # the last sample
    from_first: int  # 1: each block since the start could be sampled
    live: int  # sampled blocks when in_use was counted


class Image(NamedTuple):
    first: int
    end: int
    offset: int
    since: int  # the number of the first stack after it
    build_id: str
    path: str


class Place(NamedTuple):
    """A line of a program that an interpreter runs."""

    function: str
    file: str
    line: int  # 0: unknown

    def __str__(self) -> str:
        return f"{self.function} ({self.file}:{self.line})"


class AtPeak(NamedTuple):
    """What was live of a stack at the peak `number`."""

    blocks: float
    bytes: float
    samples: int
    seen: int  # bytes of the samples
    variance: float
    number: int


@dataclass
class Stack:
    frames: tuple[int, ...]
    taken: tuple[float, float, float]  # blocks, bytes, asked
    live: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    evidence: list[float] = field(default_factory=lambda: [0, 0, 0.0])  # samples, their bytes, the variance of live bytes
    stored: AtPeak = AtPeak(0.0, 0.0, 0, 0, 0.0, 0)
    brief: tuple[float, float] = (0.0, 0.0)  # blocks, bytes

    def at_peak(self, number: int) -> AtPeak:
        """What is live, if nothing changed since."""
        if self.stored.number == number:
            return self.stored
        return AtPeak(self.live[0], self.live[1], int(self.evidence[0]), int(self.evidence[1]), self.evidence[2], number)


class Damaged(Exception):
    """What is wrong, in a few words."""


# ---- records ----

def facts_of(data: bytes) -> Facts:
    if len(data) < HEAD:
        raise Damaged("cut off")
    magic, *rest = FACTS.unpack_from(data)
    if magic != MAGIC:
        raise Damaged("of another version of HAKMEM")
    if tuple(rest[:4]) != SIZES or len(data) > CHUNKS_MOST * CHUNK:
        raise Damaged("damaged")
    numbers, program, later = rest[4:11], rest[11], rest[12:]
    facts = Facts(*numbers, program.partition(b"\0")[0].decode(errors="replace").strip(), *later)
    if len(data) % CHUNK or not 1 <= facts.chunks <= len(data) // CHUNK:
        raise Damaged("cut off")
    if max(numbers + later) > NUMBER_MOST or facts.pid > PIDS_MOST:
        raise Damaged("damaged")
    return facts


def image_of(record: tuple[Any, ...], path: bytes) -> Image:
    end, first, offset, since, id_bytes, _, build_id = record
    if first >= end or id_bytes > len(build_id):
        raise Damaged("damaged")
    return Image(first, end, offset, since, build_id[:id_bytes].hex(), path.decode(errors="replace"))


def rounded(size: int) -> int:
    return -(-size // 8) * 8


def shown(text: bytes) -> str:
    return text.decode(errors="replace")


@dataclass
class Table:
    facts: Facts
    rows: list[tuple[int, int, int, float, int]] = field(default_factory=list)
    stacks: dict[int, Stack] = field(default_factory=dict)
    images: list[Image] = field(default_factory=list)
    places: dict[int, Place] = field(default_factory=dict)  # by the frame that stands for it

    def take_rows(self, data: bytes) -> None:
        whole = len(data) // ROW.size * ROW.size
        self.rows += [row for row in ROW.iter_unpack(data[:whole]) if row[0]]

    def take_stacks(self, data: bytes) -> None:
        at = 0
        while at + STACK.size <= len(data):
            depth, number, *rest = STACK.unpack_from(data, at)
            at += STACK.size
            if depth == 0:
                return
            if depth > DEPTH_MOST or at + 8 * depth > len(data) or number in self.stacks:
                raise Damaged("damaged")
            stored, frames = AtPeak(*rest[3:9]), struct.unpack_from(f"={depth}Q", data, at)
            refuse_unless_sums(rest)
            self.stacks[number] = Stack(frames, (rest[0], rest[1], rest[2]), stored=stored, brief=(rest[9], rest[10]))
            at += 8 * depth

    def take_images(self, data: bytes) -> None:
        at = 0
        while at + IMAGE.size <= len(data):
            record = IMAGE.unpack_from(data, at)
            if record[0] == 0:
                return
            path_end = at + IMAGE.size + record[5]
            if path_end > len(data) or len(self.images) == IMAGES_MOST:
                raise Damaged("damaged")
            self.images.append(image_of(record, data[at + IMAGE.size : path_end]))
            at += rounded(IMAGE.size + record[5])

    def take_places(self, data: bytes) -> None:
        at = 0
        while at + PLACE.size <= len(data):
            frame, line, *sizes = PLACE.unpack_from(data, at)
            at += PLACE.size
            if frame == 0:
                return
            if not frame & PLACE_FRAME or at + sum(sizes) > len(data) or len(self.places) == PLACES_MOST:
                raise Damaged("damaged")
            text = data[at : at + sum(sizes)]
            self.places[frame] = Place(shown(text[: sizes[0]]), shown(text[sizes[0] :]), line)
            at += rounded(PLACE.size + sum(sizes)) - PLACE.size

    def take(self, chunk: bytes) -> None:
        kind = chunk[:8]
        if kind == b"HAKPRROW":
            self.take_rows(chunk[CHUNK_HEAD:])
        elif kind == b"HAKPRSTK":
            self.take_stacks(chunk[CHUNK_HEAD:])
        elif kind == b"HAKPRIMG":
            self.take_images(chunk[CHUNK_HEAD:])
        elif kind == b"HAKPRPLC":
            self.take_places(chunk[CHUNK_HEAD:])
        elif any(kind):
            raise Damaged("damaged")


def refuse_unless_sums(values: Sequence[float]) -> None:
    """Numbers from 0 to 2^62. (One that is none makes their sum none.)"""
    if not (0 <= min(values) and max(values) < 1 << 62 and math.isfinite(sum(values))):
        raise Damaged("damaged")


def sums(blocks: float, size: float, asked: float) -> tuple[float, float, float]:
    refuse_unless_sums((blocks, size, asked))
    return blocks, size, asked


def table_of(data: bytes) -> Table:
    table = Table(facts_of(data))
    table.take_images(data[HEAD:CHUNK])
    for at in range(CHUNK, len(data), CHUNK):
        table.take(data[at : at + CHUNK])
    return table


def lost_rows(table: Table) -> int:
    """Adds what is live to its stacks, a block once; how many have no stack yet."""
    lost = 0
    for _, size, asked, weight, number in {row[0]: row for row in table.rows}.values():
        refuse_unless_sums((size, asked, weight, weight * size, weight * asked))
        stack = table.stacks.get(number)
        if stack is None:
            lost += 1
            continue
        blocks, held, wanted = stack.live
        stack.live = [blocks + weight, held + weight * size, wanted + weight * asked]
        refuse_unless_sums(stack.live)
        samples, seen, variance = stack.evidence
        stack.evidence = [samples + 1, seen + size, variance + max(0.0, weight - 1) * weight * size * size]
    return lost


# ---- where addresses lie ----

class Layers:
    """Images laid over one another: the one that lies on top at an address. Each lays at most two new edges."""

    def __init__(self) -> None:
        self.edges, self.tops = [0], [NOTHING]

    def lay(self, image: Image, number: int) -> None:
        first, end = bisect_left(self.edges, image.first), bisect_left(self.edges, image.end)
        below = self.tops[end - 1]  # just before its end
        goes_on = self.edges[end : end + 1] != [image.end]
        self.edges[first:end] = [image.first, *([image.end] if goes_on else [])]
        self.tops[first:end] = [number, *([below] if goes_on else [])]

    def at(self, address: int) -> int:
        return self.tops[bisect_right(self.edges, address) - 1]


class Places:
    """Which image an address of a stack lay in, when that stack was new: the last that was found till then, else the
    first that was found later. Stacks are asked for in the order of their numbers."""

    def __init__(self, images: list[Image]) -> None:
        self.images = images
        self.known, self.later = Layers(), Layers()
        order = sorted(range(len(images)), key=lambda number: images[number].since)
        for number in reversed(order):
            self.later.lay(images[number], number)
        self.waiting = order[::-1]
        self.laid = 0  # how many images are laid over the others: till it changes, an address has one answer

    def catch_up(self, stack: int) -> int:
        while self.waiting and self.images[self.waiting[-1]].since <= stack:
            number = self.waiting.pop()
            self.known.lay(self.images[number], number)
            self.laid += 1
        return self.laid

    def at(self, address: int, stack: int) -> int:
        self.catch_up(stack)
        found = self.known.at(address)
        return found if found != NOTHING else self.later.at(address)


# ---- as a profile ----

UNKNOWN_PLACE = Place("??", "", 0)  # the file had no room for it

class Builder:
    """types: the first of TYPES, of which the table has sums."""

    def __init__(self, profile: Any, table: Table, types: tuple[str, ...] = TYPES) -> None:
        self.profile, self.table, self.types = profile, table, types
        self.strings: dict[str, int] = {}
        self.places = Places(table.images)
        self.locations: dict[tuple[int, int], int] = {}
        self.string("")

    def string(self, text: str) -> int:
        if text not in self.strings:
            self.strings[text] = len(self.strings)
            self.profile.string_table.append(text)
        return self.strings[text]

    def add_types(self) -> None:
        for name in self.types:
            unit = "count" if name.endswith("objects") else "bytes"
            self.profile.sample_type.add(type=self.string(name), unit=self.string(unit))
        self.profile.period_type.type, self.profile.period_type.unit = self.string("space"), self.string("bytes")
        self.profile.period = self.table.facts.mean
        self.profile.default_sample_type = self.string("inuse_space")

    def add_mappings(self) -> None:
        for number, image in enumerate(self.table.images, 1):
            self.profile.mapping.add(
                id=number, memory_start=image.first, memory_limit=image.end, file_offset=image.offset,
                filename=self.string(image.path), build_id=self.string(image.build_id),
            )

    def place(self, frame: int) -> int:
        """A location without an address, with its function."""
        if (frame, 0) not in self.locations:
            place = self.table.places.get(frame, UNKNOWN_PLACE)
            self.locations[frame, 0] = number = len(self.locations) + 1
            name = self.string(place.function)
            function = len(self.profile.function) + 1
            self.profile.function.add(id=function, name=name, system_name=name, filename=self.string(place.file))
            self.profile.location.add(id=number).line.add(function_id=function, line=place.line)
        return self.locations[frame, 0]

    def location(self, address: int, stack: int) -> int:
        mapping = self.places.at(address, stack) + 1
        if (address, mapping) not in self.locations:
            self.locations[address, mapping] = number = len(self.locations) + 1
            self.profile.location.add(id=number, mapping_id=mapping, address=address)
        return self.locations[address, mapping]

    def frames(self) -> Iterator[tuple[Stack, list[int]]]:
        """Stacks by their numbers, and the locations of their frames: stacks share most of them."""
        seen: dict[int, int] = {}
        laid = 0
        for number, stack in sorted(self.table.stacks.items(), key=lambda item: item[0]):
            if laid != self.places.catch_up(number):
                seen, laid = {}, self.places.laid
            frames = list(filter(None, stack.frames))
            if None in map(seen.get, frames):
                for frame in frames:
                    if frame not in seen:
                        seen[frame] = self.place(frame) if frame & PLACE_FRAME else self.location(frame - 1, number)
            yield stack, list(map(seen.__getitem__, frames))

    def add_samples(self) -> None:
        number, width, add = self.table.facts.peak_number, len(self.types), self.profile.sample.add
        for stack, locations in self.frames():
            (blocks, size, asked), live = stack.taken, stack.live
            peak = stack.at_peak(number)
            values = (blocks, size, live[0], live[1], asked, live[2], peak.blocks, peak.bytes, *stack.brief)
            add(location_id=locations, value=[int(value + 0.5) for value in values[:width]])

    def add_comment(self, lost: int, file: Path) -> None:
        facts = self.table.facts
        text = (
            f"hakmem: pid {facts.pid}, {facts.sampled} block{'s' * (facts.sampled != 1)} sampled, "
            f"{len(self.table.rows)} of them live, "
            f"{facts.lost + lost} lost, {end_of(facts, file)}"
        )
        self.comment(text)
        if facts.mean > 1:
            self.comment(f"hakmem: at least one byte in {facts.mean} is sampled, and all figures are estimates; a place with "
                         f"less than {PERIODS_SEEN * facts.mean} bytes may go unseen")
        if facts.in_use:
            self.comment(f"hakmem: bytes in use, counted: {facts.in_use}")
        if facts.from_first:
            self.comment(FROM_FIRST)
        if facts.ended and facts.live != len(self.table.rows):
            self.comment(TILL_END)
        if facts.peak_number:
            self.comment(f"hakmem: bytes in use at the peak, counted: {facts.peak_in_use}, {facts.peak_after_ns} ns after the "
                         "first sample")
        for kind, evidence in self.evidence().items():
            self.comment(f"#hakmem {kind}:{''.join(self.part(*each) for each in evidence)}")

    def part(self, samples: float, seen: float, variance: float) -> str:
        return f" {samples} {seen} {min(int(variance / max(1, self.table.facts.mean) + 0.5), NUMBER_MOST)};"

    def comment(self, text: str) -> None:
        self.profile.comment.append(self.string(text))

    def evidence(self) -> dict[str, list[tuple[float, float, float]]]:
        """In the order of samples."""
        stacks = [stack for _, stack in sorted(self.table.stacks.items(), key=lambda item: item[0])]
        peaks = (stack.at_peak(self.table.facts.peak_number) for stack in stacks)
        found = {"samples": [(stack.evidence[0], stack.evidence[1], stack.evidence[2]) for stack in stacks]}
        if self.types == TYPES:
            found["peak samples"] = [(peak.samples, peak.seen, peak.variance) for peak in peaks]
        return found


def end_of(facts: Facts, file: Path) -> str:
    if facts.ended:
        return "at exit"
    return "of a process that runs" if runs(facts, file) else "of a process that was killed, or ended without exit"


def runs(facts: Facts, file: Path) -> bool:
    """The number that the process has is its own: here it may be another's. One that runs has the file mapped."""
    parts = file.parts
    pid = parts[2] if parts[1:2] == ("proc",) and len(parts) > 3 else facts.pid
    try:
        return str(file.stat().st_ino) in Path(f"/proc/{pid}/maps").read_text(errors="replace").split()
    except OSError:
        return False


def fill(profile: Any, data: bytes, path: Path) -> Any:
    """The profile, which is empty, has all of the table then."""
    try:
        table = table_of(data)
        lost = lost_rows(table)
    except Damaged as wrong:
        raise Refusal(f"{path}: a table of samples, {wrong}") from None
    builder = Builder(profile, table)
    builder.add_types()
    builder.add_mappings()
    builder.add_samples()
    builder.add_comment(lost, path)
    profile.time_nanos, profile.duration_nanos = table.facts.since_ns, table.facts.last_after_ns
    return profile


def is_table(data: bytes) -> bool:
    return data.startswith(ANY_VERSION)


def tables(folder: Path) -> Iterator[Path]:
    """Those of all processes, by their numbers."""
    found = {int(path.suffix[1:]): path for path in folder.glob("table.*") if path.suffix[1:].isdecimal()}
    return (found[number] for number in sorted(found))
