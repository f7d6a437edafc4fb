# SPDX-License-Identifier: MIT OR Apache-2.0
"""The events of a trace as docs/guide/trace-format.md has them, decoded and encoded one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hakmem.tracing.recording import EVENTS, HEAD, MAGIC

ALLOC, ZEROED, ALIGNED, FREE, RESIZE = 1, 2, 3, 4, 5
VERSION = 1
NEW_SITE = SLOTS = 31
WORD = (1 << 64) - 1
RECORD_BYTES = 1_000_000  # of a payload, which may have 1 MiB
EVENT_BYTES = 64  # more than any event has


class Damaged(Exception):
    """What is not as the format says."""


class Event(NamedTuple):
    """Addresses are in units of 16 bytes."""

    op: int
    ns: int
    site: int
    depth: int
    went: int = 0
    came: int = 0
    size: int = 0
    align: int = 0
    took: int = 0


def slot_of(site: int, depth: int) -> int:
    return ((site * 0x9E3779B97F4A7C15 + depth & WORD) >> 32) % SLOTS


# ---- decoding ----

class Numbers:
    def __init__(self, text: bytes) -> None:
        self.text, self.at = text, 0

    def byte(self) -> int:
        self.at += 1
        return self.text[self.at - 1]

    def varint(self) -> int:
        value = self.text[self.at]
        self.at += 1
        if value < 0x80:
            return value
        value, shift = value & 0x7F, 7
        while True:
            byte = self.text[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def moved(self, previous: int) -> int:
        zigzag = self.varint()
        return previous + (zigzag >> 1 ^ -(zigzag & 1)) & WORD


def decoded(text: bytes, ns: int, count: int) -> Iterator[Event]:
    """The events of one payload, whose record has this time and this count."""
    numbers = Numbers(text)
    slots: dict[int, tuple[int, int]] = {}
    site = went = came = 0
    try:
        for _ in range(count):
            first = numbers.byte()
            op, slot = first & 7, first >> 3
            if not ALLOC <= op <= RESIZE:
                raise Damaged(f"an event of an unknown kind ({op})")
            if slot == NEW_SITE:
                site = numbers.moved(site)
                depth = numbers.varint()
                slot = slot_of(site, depth)
                slots[slot] = site, depth
            ns += numbers.varint()
            block = size = align = took = 0
            if op in (FREE, RESIZE):
                went = numbers.moved(went)
            if op != FREE:
                block = numbers.moved(came)
                came = block or came
                size = numbers.varint()
            if op == ALIGNED:
                align = numbers.varint()
            if op == RESIZE:
                took = numbers.varint()
            yield Event(op, ns, *slots[slot], went if op in (FREE, RESIZE) else 0, block, size, align, took)
    except (IndexError, KeyError):
        raise Damaged("a payload that does not fit its events") from None


# ---- encoding ----

def varint(value: int) -> bytes:
    text = bytearray()
    while value > 0x7F:
        text.append(value & 0x7F | 0x80)
        value >>= 7
    text.append(value)
    return bytes(text)


def delta(value: int, previous: int) -> bytes:
    moved = value - previous & WORD
    signed = moved - (1 << 64) if moved >> 63 else moved
    return varint((signed << 1 ^ signed >> 63) & WORD)


def head(
    kind: int, used: int, pid: int, image: int, *, ns: int, events: int = 0, thread: int = 0, parent: int = 0,
    lost: int = 0, serial: int = 0,
) -> bytes:
    return HEAD.pack(MAGIC, VERSION, kind, used, events, pid, image, thread, parent, ns, lost, serial, 0)


class ThreadEncoder:
    """The records of one thread; each comes with its time, by which those of a trace are put in order."""

    def __init__(self, pid: int, image: int, thread: int) -> None:
        self.pid, self.image, self.thread = pid, image, thread
        self.closed: list[tuple[int, int, bytes]] = []
        self.begin()

    def begin(self) -> None:
        self.text = bytearray()
        self.events = self.start = self.clock = self.site = self.went = self.came = 0
        self.slots: dict[int, tuple[int, int]] = {}

    def add(self, event: Event) -> None:
        if len(self.text) > RECORD_BYTES - EVENT_BYTES:
            self.close()
        if not self.events:
            self.start = self.clock = event.ns
        self.events += 1
        self.put_first(event)
        if event.op in (FREE, RESIZE):
            self.text += delta(event.went, self.went)
            self.went = event.went
        if event.op != FREE:
            self.text += delta(event.came, self.came) + varint(event.size)
            self.came = event.came or self.came
        if event.op == ALIGNED:
            self.text += varint(event.align)
        if event.op == RESIZE:
            self.text += varint(event.took)

    def put_first(self, event: Event) -> None:
        site, slot = (event.site, event.depth), slot_of(event.site, event.depth)
        if self.slots.get(slot) == site:
            self.text.append(event.op | slot << 3)
        else:
            self.text.append(event.op | NEW_SITE << 3)
            self.text += delta(event.site, self.site) + varint(event.depth)
            self.slots[slot], self.site = site, event.site
        self.text += varint(event.ns - self.clock)
        self.clock = event.ns

    def close(self) -> None:
        serial = len(self.closed)
        about = head(EVENTS, len(self.text), self.pid, self.image, ns=self.start, events=self.events,
                     thread=self.thread, serial=serial)
        self.closed.append((self.start, serial, about + bytes(self.text)))
        self.begin()

    def records(self) -> list[tuple[int, int, bytes]]:
        if self.events:
            self.close()
        return self.closed
