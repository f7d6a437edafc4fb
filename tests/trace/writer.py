# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes traces as docs/guide/trace-format.md has them, for the tests of what reads them.

    trace = Trace()
    thread = trace.process(7, ["prog"]).thread(0)
    thread.allocate(10, block=0x1000, size=32, site=(0x400123, 4))
    thread.free(20, block=0x1000)
    trace.bytes()

Events are packed when a record is closed: by Thread.close, or at the end for all that are open.
"""

from __future__ import annotations

import gzip
import struct
from dataclasses import dataclass, field

HEAD = struct.Struct("<4sHHIIIIIIQQQQ")
PROCESS, MODULES, EVENTS = 1, 2, 3
ALLOC, CALLOC, ALIGNED, FREE, RESIZE = 1, 2, 3, 4, 5
NEW_SITE, SLOTS = 31, 31
WORD = (1 << 64) - 1

Site = tuple[int, int]


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def delta(value: int, previous: int) -> bytes:
    moved = (value - previous) & WORD
    signed = moved - (1 << 64) if moved >> 63 else moved
    return varint((signed << 1 ^ signed >> 63) & WORD)


def site_slot(address: int, depth: int) -> int:
    return ((address * 0x9E3779B97F4A7C15 + depth & WORD) >> 32) % SLOTS


def head(
    kind: int, used: int, *, events: int = 0, pid: int = 7, image: int = 0, thread: int = 0, parent: int = 0,
    ns: int = 0, lost: int = 0, serial: int = 0, magic: bytes = b"HAKT", version: int = 1,
) -> bytes:
    return HEAD.pack(magic, version, kind, used, events, pid, image, thread, parent, ns, lost, serial, 0)


@dataclass
class Thread:
    """Its open record, and how many were closed."""

    process: Process
    number: int
    serial: int = 0
    start: int | None = None
    lost: int = 0
    packed: bytearray = field(default_factory=bytearray)
    events: int = 0

    def begin(self, ns: int) -> None:
        self.start = self.clock = ns
        self.came = self.went = self.last_site = 0
        self.sites: dict[int, Site] = {}

    def first(self, operation: int, ns: int, site: Site) -> bytes:
        if self.start is None:
            self.begin(ns)
        slot = site_slot(*site)
        text = bytes([operation | slot << 3])
        if self.sites.get(slot) != site:
            text = bytes([operation | NEW_SITE << 3]) + delta(site[0], self.last_site) + varint(site[1])
            self.sites[slot], self.last_site = site, site[0]
        text += varint(ns - self.clock)
        self.clock = ns
        return text

    def coming(self, address: int) -> bytes:
        assert address % 16 == 0
        text = delta(address // 16, self.came)
        self.came = address // 16 or self.came
        return text

    def going(self, address: int) -> bytes:
        text = delta(address // 16, self.went)
        self.went = address // 16
        return text

    def add(self, text: bytes) -> None:
        self.packed += text
        self.events += 1
        if len(self.packed) > 1_000_000:
            self.close()

    def allocate(self, ns: int, block: int, size: int, site: Site = (0, 0), operation: int = ALLOC) -> None:
        self.add(self.first(operation, ns, site) + self.coming(block) + varint(size))

    def aligned(self, ns: int, block: int, size: int, log: int, site: Site = (0, 0)) -> None:
        self.add(self.first(ALIGNED, ns, site) + self.coming(block) + varint(size) + varint(log))

    def free(self, ns: int, block: int, site: Site = (0, 0)) -> None:
        self.add(self.first(FREE, ns, site) + self.going(block))

    def resize(self, ns: int, old: int, block: int, size: int, took: int, site: Site = (0, 0)) -> None:
        self.add(self.first(RESIZE, ns, site) + self.going(old) + self.coming(block) + varint(size) + varint(took))

    def close(self) -> None:
        self.process.trace.record(
            head(
                EVENTS, len(self.packed), events=self.events, pid=self.process.pid, image=self.process.image,
                thread=self.number, ns=self.start or 0, lost=self.lost, serial=self.serial,
            ) + bytes(self.packed)
        )
        self.serial += 1
        self.start, self.lost, self.events = None, 0, 0
        self.packed.clear()


@dataclass
class Process:
    trace: Trace
    pid: int
    image: int
    threads: dict[int, Thread] = field(default_factory=dict)

    def thread(self, number: int) -> Thread:
        return self.threads.setdefault(number, Thread(self, number))

    def modules(self, text: str) -> None:
        packed = text.encode()
        self.trace.record(head(MODULES, len(packed), pid=self.pid, image=self.image) + packed)


class Trace:
    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.processes: list[Process] = []

    def record(self, text: bytes) -> None:
        self.records.append(text)

    def process(
        self, pid: int, command: list[str], image: int = 0, parent: int = 0, lost: int = 0
    ) -> Process:
        packed = b"".join(argument.encode() + b"\0" for argument in command)
        self.record(head(PROCESS, len(packed), pid=pid, image=image, parent=parent, lost=lost) + packed)
        self.processes.append(Process(self, pid, image))
        return self.processes[-1]

    def bytes(self) -> bytes:
        for process in self.processes:
            for thread in process.threads.values():
                if thread.events or thread.lost:
                    thread.close()
        return b"".join(self.records)

    def packed(self) -> bytes:
        return gzip.compress(self.bytes(), compresslevel=1)
