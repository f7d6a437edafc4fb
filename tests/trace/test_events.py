# SPDX-License-Identifier: MIT OR Apache-2.0
"""tools/events.c: traces of every kind, and files that are none, as trace_dump prints what was read."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import unittest
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from made import Event, random_trace  # noqa: E402
from writer import (  # noqa: E402
    ALIGNED, ALLOC, CALLOC, EVENTS, FREE, MODULES, NEW_SITE, PROCESS, RESIZE, Site, Thread, Trace, delta, head,
    site_slot, varint,
)

DUMP = os.environ["HAK_DUMP"]
SITE: Site = (0x400123, 4)


@dataclass
class Read:
    processes: list[dict[str, str]]
    events: list[list[Event]]
    good: bool
    torn: bool
    why: str

    @property
    def only(self) -> list[Event]:
        (events,) = self.events
        return events


def values_of(line: str) -> dict[str, str]:
    return dict(pair.partition("=")[::2] for pair in line.split(" ")[1:])


def event_of(line: str) -> Event:
    values = values_of(line)
    address, depth = values.pop("site").split(",")
    return Event(**{name: int(value) for name, value in values.items()}, site=(int(address), int(depth)))


def dump(data: bytes, *options: str, limit: Callable[[], None] | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([DUMP, *options], input=data, capture_output=True, check=False, preexec_fn=limit)


def read(data: bytes) -> Read:
    done = dump(data)
    assert done.returncode == 0, done.stderr.decode()
    lines = done.stdout.decode().replace("\n|", "|").splitlines()
    found = Read([], [], False, False, "")
    for line in lines:
        if line.startswith("process "):
            found.processes.append(values_of(line))
            found.events.append([])
        elif line.startswith("event "):
            found.events[-1].append(event_of(line))
    verdict, _, found.why = lines[-1].partition(" why=")
    found.good, found.torn = "good=1" in verdict, "torn=1" in verdict
    return found


def one_thread() -> tuple[Trace, Thread]:
    trace = Trace()
    return trace, trace.process(7, ["prog"]).thread(0)


class WhatComesOut(unittest.TestCase):
    def test_every_operation(self) -> None:
        trace, thread = one_thread()
        thread.allocate(100, 0x1000, 32, SITE)
        thread.allocate(105, 0x2000, 40, (0x400456, 9), CALLOC)
        thread.aligned(110, 0x4000, 64, 12, SITE)
        thread.resize(120, 0x1000, 0x8000, 99, 10, SITE)
        thread.resize(140, 0x8000, 0x8000, 98, 1)
        thread.free(150, 0x8000, SITE)
        self.assertEqual(read(trace.bytes()).only, [
            Event(0, 0, ALLOC, 1, size=32, site=SITE),
            Event(5, 0, CALLOC, 2, size=40, site=(0x400456, 9)),
            Event(10, 0, ALIGNED, 3, size=64, align=12, site=SITE),
            Event(30, 0, RESIZE, 4, old=1, size=99, took=10, site=SITE),
            Event(41, 0, RESIZE, 5, old=4, size=98, took=1),
            Event(50, 0, FREE, 5, size=98, site=SITE),
        ])

    def test_failed_calls_let_nothing_go(self) -> None:
        trace, thread = one_thread()
        thread.allocate(1, 0x1000, 32)
        thread.allocate(2, 0, (1 << 64) - 1)
        thread.resize(3, 0x1000, 0, 1 << 60, 2)
        thread.free(9, 0x1000)
        found = read(trace.bytes())
        self.assertEqual(found.only, [
            Event(0, 0, ALLOC, 1, size=32),
            Event(1, 0, ALLOC, 0, size=(1 << 64) - 1),
            Event(4, 0, RESIZE, 0, size=1 << 60, took=2),
            Event(8, 0, FREE, 1, size=32),
        ])
        self.assertEqual(found.processes[0]["unknown"], "0")

    def test_threads_are_merged_by_time(self) -> None:
        trace = Trace()
        process = trace.process(7, ["prog"])
        first, second = process.thread(5), process.thread(2)
        first.allocate(10, 0x1000, 1)
        first.allocate(30, 0x2000, 3)
        second.allocate(20, 0x3000, 2)
        second.free(40, 0x1000)
        self.assertEqual(
            [(e.thread, e.op, e.block) for e in read(trace.bytes()).only],
            [(1, ALLOC, 1), (0, ALLOC, 2), (1, ALLOC, 3), (0, FREE, 1)],
        )

    def test_threads_are_numbered_as_in_the_trace(self) -> None:
        trace = Trace()
        process = trace.process(7, ["prog"])
        numbers = random.Random(1).sample(range(1 << 32), 1000)
        for number in numbers:
            process.thread(number).allocate(1 + number, 0x1000 + 16 * number, 8)
        self.assertEqual([e.thread for e in read(trace.bytes()).only], list(range(1000)))

    def test_at_one_time_what_frees_is_first(self) -> None:
        trace = Trace()
        process = trace.process(7, ["prog"])
        first, second = process.thread(0), process.thread(1)
        second.allocate(10, 0x1000, 1)
        second.free(20, 0x1000)
        first.allocate(20, 0x1000, 2)
        first.resize(30, 0x1000, 0x2000, 3, 5)
        second.allocate(30, 0x1000, 4)
        found = read(trace.bytes())
        self.assertEqual(
            [(e.ns, e.op, e.block, e.old) for e in found.only],
            [(0, ALLOC, 1, 0), (10, FREE, 1, 0), (10, ALLOC, 2, 0), (20, ALLOC, 3, 0), (25, RESIZE, 4, 2)],
        )
        self.assertEqual(found.processes[0]["implied"], "0")

    def test_a_resize_frees_at_its_beginning(self) -> None:
        """Between, another thread gets the address; the block that comes has that of a free still later."""
        trace = Trace()
        process = trace.process(7, ["prog"])
        first, second = process.thread(0), process.thread(1)
        first.allocate(1, 0x1000, 1)
        second.allocate(2, 0x2000, 2)
        first.resize(10, 0x1000, 0x2000, 3, 10)
        second.allocate(12, 0x1000, 4)
        second.free(15, 0x2000)
        found = read(trace.bytes())
        self.assertEqual(
            [(e.op, e.block, e.old) for e in found.only],
            [(ALLOC, 1, 0), (ALLOC, 2, 0), (ALLOC, 3, 0), (FREE, 2, 0), (RESIZE, 4, 1)],
        )
        self.assertEqual((found.processes[0]["implied"], found.processes[0]["unknown"]), ("0", "0"))

    def test_frees_that_were_lost(self) -> None:
        trace, thread = one_thread()
        thread.allocate(1, 0x1000, 32, SITE)
        thread.close()
        thread.lost = 3
        thread.allocate(2, 0x1000, 33, SITE)
        thread.free(3, 0x5000)
        thread.resize(4, 0x6000, 0x7000, 34, 1)
        found = read(trace.bytes())
        self.assertEqual(found.only, [
            Event(0, 0, ALLOC, 1, size=32, site=SITE),
            Event(1, 0, FREE, 1, size=32),
            Event(1, 0, ALLOC, 2, size=33, site=SITE),
            Event(4, 0, RESIZE, 3, size=34, took=1),
        ])
        self.assertEqual([found.processes[0][name] for name in ("lost", "implied", "unknown")], ["3", "1", "2"])

    def test_nothing_is_remembered_between_records(self) -> None:
        trace, thread = one_thread()
        sites = [(0x400000 + 32 * i, i % 3) for i in range(100)]
        for i, site in enumerate(sites * 3):
            thread.allocate(i, 0x1000 + 16 * i, i, site)
            if i % 70 == 69:
                thread.close()
        found = read(trace.bytes())
        self.assertEqual([e.site for e in found.only], sites * 3)
        self.assertEqual([e.ns for e in found.only], list(range(300)))
        self.assertEqual(found.processes[0]["sites"], "101")

    def test_processes(self) -> None:
        trace = Trace()
        parent = trace.process(7, ["prog", "-x"], lost=2)
        parent.modules("a.so\n")
        child = trace.process(8, ["prog"], parent=7)
        parent.thread(0).allocate(50, 0x1000, 1)
        child.thread(0).allocate(20, 0x1000, 2)
        parent.modules("b.so\n")
        child.thread(0).close()
        other = trace.process(8, ["other"], image=1)
        other.thread(0).allocate(70, 0x1000, 3)
        other.thread(0).close()
        again = trace.process(8, ["again"])
        again.thread(0).allocate(90, 0x1000, 4)
        found = read(trace.bytes())
        self.assertEqual([[(e.ns, e.size) for e in events] for events in found.events],
                         [[(30, 1)], [(0, 2)], [(50, 3)], [(70, 4)]])
        self.assertEqual([(p["pid"], p["image"], p["parent"], p["lost"]) for p in found.processes],
                         [("7", "0", "0", "2"), ("8", "0", "7", "0"), ("8", "1", "0", "0"), ("8", "0", "0", "0")])
        whole = dump(trace.bytes()).stdout.decode()
        self.assertIn("modules=a.so\nb.so\n command=prog|-x|\n", whole)

    def test_a_clock_that_goes_back_stands_still(self) -> None:
        trace, thread = one_thread()
        thread.allocate(100, 0x1000, 1)
        thread.close()
        thread.allocate(50, 0x2000, 2)
        self.assertEqual([(e.ns, e.block) for e in read(trace.bytes()).only], [(0, 1), (0, 2)])

    def test_a_program_with_many_threads(self) -> None:
        """Blocks go from thread to thread; what was written is known."""
        for seed in range(20):
            trace, wanted = random_trace(random.Random(seed))
            found = read(trace.bytes())
            self.assertEqual(found.only, wanted, f"seed {seed}")
            self.assertEqual((found.processes[0]["implied"], found.processes[0]["unknown"]), ("0", "0"))


BEGIN = head(PROCESS, 5) + b"prog\0"
ALLOCATE = bytes([ALLOC | NEW_SITE << 3]) + delta(0x400123, 0) + varint(4) + varint(0) + delta(0x100, 0) + varint(32)


def record(payload: bytes, events: int = 1, **more: int) -> bytes:
    return head(EVENTS, len(payload), events=events, **more) + payload


def unknown_site(rest: bytes) -> bytes:
    return bytes([ALLOC | NEW_SITE << 3, 0, 0]) + rest


BROKEN = {
    "not a trace": b"#!/bin/sh\n",
    "not a record of a trace": BEGIN + b"HAKX" + bytes(60),
    "version 2 of": head(PROCESS, 0, version=2),
    "unknown kind (4)": BEGIN + head(4, 0),
    "unknown kind (0)": head(0, 0),
    "a record of 1048577 bytes": BEGIN + head(EVENTS, (1 << 20) + 1),
    "a record of 4294967295 bytes": BEGIN + head(MODULES, (1 << 32) - 1),
    "process 7 was never begun": record(ALLOCATE),
    "process 9 was never begun": BEGIN + head(MODULES, 0, pid=9),
    "4294967295 events in 11 bytes": BEGIN + record(ALLOCATE + b"\0", events=(1 << 32) - 1),
    "record 1 came where 0 was due": BEGIN + record(ALLOCATE, serial=1),
    "record 0 came where 1 was due": BEGIN + record(ALLOCATE) * 2,
    "more bytes than its events have": BEGIN + record(ALLOCATE + ALLOCATE),
    "an unknown operation": BEGIN + record(bytes([6 | NEW_SITE << 3]) + ALLOCATE[1:]),
    "runs over the end ": BEGIN + record(ALLOCATE[:-1] + b"\x85\0", events=2),
    "a call site that was never said": BEGIN + record(bytes([ALLOC | 5 << 3]) + b"\0\2\2\2"),
    "a call site that was never said ": BEGIN + record(ALLOCATE) + record(
        bytes([ALLOC | site_slot(0x400123, 4) << 3]) + b"\0\2\2", serial=1),
    "runs over the end": BEGIN + record(ALLOCATE[:-1] + b"\x85"),
    "a number is too long": BEGIN + record(unknown_site(b"\0\2" + b"\xff" * 10 + b"\1")),
    "a number is too long ": BEGIN + record(unknown_site(b"\0\2" + b"\x80" * 9 + b"\2")),
    "a size is too large": BEGIN + record(unknown_site(b"\0\2" + varint((1 << 47) + 1))),
    "an address is too high": BEGIN + record(unknown_site(b"\0" + delta((1 << 60) + 1, 0) + b"\2")),
    "an address is too high ": BEGIN + record(bytes([FREE | NEW_SITE << 3, 0, 0, 0]) + delta(1 << 61, 0)),
    "an alignment is too large": BEGIN + record(bytes([ALIGNED | NEW_SITE << 3]) + b"\0\0\0\2\2\x40"),
    "a time is too late": BEGIN + record(unknown_site(varint(1 << 63) + b"\2\2")),
    "a time is too late ": BEGIN + record(ALLOCATE, ns=1 << 63),
    "a time is too late  ": BEGIN + record(bytes([RESIZE | NEW_SITE << 3]) + b"\0\0\0\2\4\2" + varint((1 << 64) - 1)),
}


def small_trace() -> bytes:
    trace = Trace()
    process = trace.process(7, ["prog"])
    process.modules("7f00-7f10 r-xp\n")
    for number in range(3):
        thread = process.thread(number)
        thread.allocate(10 + number, 0x1000 * (1 + number), 32, (0x400000 + number, 7))
        thread.aligned(20 + number, 0x10000 * (1 + number), 320, 7, (0x400000, 7))
        thread.resize(30 + number, 0x1000 * (1 + number), 0x100000 * (1 + number), 1 << 20, 4, (0x400000, 7))
        thread.free(40 + number, 0x10000 * (1 + number), (0x400000 + number, 7))
    return trace.bytes()


def little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))


class WhatIsNoTrace(unittest.TestCase):
    def test_what_is_refused_and_why(self) -> None:
        for why, data in BROKEN.items():
            with self.subTest(why):
                found = read(data)
                self.assertFalse(found.good)
                self.assertIn(why.strip(), found.why)
                self.assertNotIn("\n", found.why)

    def test_what_was_read_until_then_is_there(self) -> None:
        trace, thread = one_thread()
        thread.allocate(1, 0x1000, 32)
        thread.free(2, 0x1000)
        found = read(trace.bytes() + b"HAKX" + bytes(60))
        self.assertEqual([e.op for e in found.only], [ALLOC, FREE])
        self.assertFalse(found.good)

    def test_a_torn_end_is_left_out(self) -> None:
        whole = small_trace()
        ends, at = [], 0
        while at < len(whole):
            ends.append(at)
            at += 64 + int.from_bytes(whole[at + 8 : at + 12], "little")
        for cut in range(len(whole)):
            found = read(whole[:cut])
            self.assertTrue(found.good, f"cut at {cut}: {found.why}")
            self.assertEqual(found.torn, cut not in ends, f"cut at {cut}")
            events = sum(map(len, found.events))
            self.assertEqual(events, sum(4 for end in ends[3:] if end <= cut), f"cut at {cut}")

    def test_no_changed_byte_does_harm(self) -> None:
        whole = small_trace()
        for at in range(len(whole)):
            for change in (0x01, 0x80, 0xFF):
                data = bytearray(whole)
                data[at] ^= change
                done = dump(bytes(data), "-")
                self.assertEqual(done.returncode, 0, f"byte {at} ^ {change:#x}: {done.stderr.decode()}")

    @unittest.skipIf("asan" in DUMP, "AddressSanitizer takes terabytes of addresses")
    def test_memory_is_in_proportion_to_what_was_read(self) -> None:
        threads = b"".join(record(ALLOCATE, thread=(1 << 32) - 1 - 70_001 * n) for n in range(1000))
        processes = b"".join(head(PROCESS, 0, pid=(1 << 32) - 1 - n) for n in range(1000))
        claims = head(MODULES, 1 << 20) + b"only this"
        done = dump(BEGIN + threads + processes + claims, "-", limit=little_memory)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertIn(b"threads=1000 events=1999 ", done.stdout)
        self.assertIn(b"read good=1 torn=1", done.stdout)


if __name__ == "__main__":
    unittest.main()
