# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads a trace as docs/guide/trace-format.md has it, event by event; shares nothing with what writes it."""

from __future__ import annotations

import gzip
import struct
from dataclasses import dataclass, field
from pathlib import Path

HEAD = struct.Struct("<4sHHIIIIIIQQQQ")
PROCESS, MODULES, EVENTS = 1, 2, 3
ALLOC, ZEROED, ALIGNED, FREE, RESIZE = 1, 2, 3, 4, 5
WORD = (1 << 64) - 1


@dataclass(frozen=True)
class Event:
    op: int
    ns: int
    site: int
    depth: int
    went: int = 0
    came: int = 0
    size: int = 0
    align: int = 0
    took: int = 0


@dataclass
class Process:
    parent: int
    command: list[str]
    lost: int
    announced: int = 0  # events, as the records say
    modules: str = ""
    threads: dict[int, list[Event]] = field(default_factory=dict)
    serials: dict[int, int] = field(default_factory=dict)
    found: dict[int, str] = field(default_factory=dict)  # mappings of sites

    @property
    def events(self) -> list[Event]:
        """Of all threads, by time; of two at the same time the one that frees is first."""
        return sorted(
            (event for thread in self.threads.values() for event in thread), key=lambda e: (e.ns, e.op != FREE)
        )

    def mapping_of(self, site: int) -> str:
        if site not in self.found:
            self.found[site] = self.search_mapping(site)
        return self.found[site]

    def search_mapping(self, site: int) -> str:
        for line in self.modules.splitlines():
            parts = line.split(maxsplit=5)
            first, end = (int(number, 16) for number in parts[0].split("-"))
            if first <= site < end:
                return parts[5] if len(parts) > 5 else "nameless"
        return ""

    def called_from(self, name: str) -> list[Event]:
        return [event for event in self.events if self.mapping_of(event.site).endswith(name)]


class Payload:
    def __init__(self, text: bytes) -> None:
        self.text = text
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        return self.text[self.at - 1]

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def moved(self, previous: int) -> int:
        zigzag = self.number()
        return (previous + (zigzag >> 1 ^ -(zigzag & 1))) & WORD


def events_of(text: bytes, ns: int, count: int) -> list[Event]:
    payload = Payload(text)
    slots: dict[int, tuple[int, int]] = {}
    last_site = went = came = 0
    events = []
    for _ in range(count):
        first = payload.byte()
        op, slot = first & 7, first >> 3
        if slot == 31:
            last_site = payload.moved(last_site)
            site = last_site, payload.number()
            slot = (((site[0] * 0x9E3779B97F4A7C15 + site[1]) & WORD) >> 32) % 31
            slots[slot] = site
        site = slots[slot]
        ns += payload.number()
        block = size = align = took = 0
        if op in (FREE, RESIZE):
            went = payload.moved(went)
        if op != FREE:
            block = payload.moved(came)
            came = block or came
            size = payload.number()
        if op == ALIGNED:
            align = payload.number()
        if op == RESIZE:
            took = payload.number()
        old = went * 16 if op in (FREE, RESIZE) else 0
        events.append(Event(op, ns, *site, old, block * 16, size, align, took))
    assert payload.at == len(text), "bytes behind the last event"
    return events


def read_records(data: bytes, decode: bool = True) -> dict[tuple[int, int], Process]:
    """By pid and image; without their events when those are not to be decoded. What is not as the format says is an assertion that fails."""
    found: dict[tuple[int, int], Process] = {}
    at = 0
    while at < len(data):
        magic, version, kind, used, count, pid, image, thread, parent, ns, lost, serial, reserved = HEAD.unpack_from(
            data, at
        )
        assert (magic, version, reserved) == (b"HAKT", 1, 0), f"no record at byte {at}"
        payload = data[at + HEAD.size : at + HEAD.size + used]
        assert len(payload) == used and used <= 1 << 20, "torn, or too long"
        at += HEAD.size + used
        if kind == PROCESS:
            assert (pid, image) not in found, "two process records"
            command = payload.decode(errors="replace").split("\0")
            assert command.pop() == "", "an argument that is not closed"
            found[pid, image] = Process(parent, command, lost)
            continue
        process = found[pid, image]
        if kind == MODULES:
            process.modules += payload.decode()
            continue
        assert kind == EVENTS
        assert serial == process.serials.get(thread, 0), f"thread {thread}: record {serial}"
        process.serials[thread] = serial + 1
        process.lost += lost
        process.announced += count
        process.threads.setdefault(thread, []).extend(events_of(payload, ns, count) if decode else [])
    return found


def read_trace(path: Path, decode: bool = True) -> dict[tuple[int, int], Process]:
    return read_records(gzip.decompress(path.read_bytes()), decode)


def live_blocks(events: list[Event]) -> dict[int, int]:
    """What is left in the end; a block that comes where one is, or goes where none is, is an assertion that fails."""
    steps = []
    for event in events:
        if event.op in (FREE, RESIZE) and (event.op == FREE or event.came):
            steps.append((event.ns, 0, event.went, 0))
        if event.came:
            steps.append((event.ns + event.took, 1, event.came, event.size))
    live: dict[int, int] = {}
    for _, comes, block, size in sorted(steps, key=lambda step: step[:2]):
        if comes:
            assert block not in live, f"{block:#x} came twice"
            live[block] = size
        else:
            assert live.pop(block, None) is not None, f"{block:#x} went and was not there"
    return live
