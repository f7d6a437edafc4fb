# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab excerpt`: what is left of a trace, seen by a reader of its own, and one line for everything wrong."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import unittest
from pathlib import Path

from laboratory import lab
from support import ROOT, Scratch, file_itself, not_to_be_replaced
from trace_reader import ALLOC, FREE, RESIZE, Event, Process, live_blocks, read_trace

sys.path.insert(0, str(ROOT / "tests" / "trace"))
from writer import Thread, Trace  # noqa: E402

SITE = (0x400100, 7)


def fill(thread: Thread, start: int, blocks: int, seed: int) -> None:
    """Blocks of all sizes that come, are resized and go."""
    chance, live, now = random.Random(seed), [], start
    addresses = itertools.count((seed + 1) << 32, 0x1000)
    for number in range(blocks):
        now += chance.randrange(2000)
        live.append(next(addresses))
        thread.allocate(now, live[-1], 1 << chance.randrange(20), (0x400000 + chance.randrange(50) * 8, number % 9))
        if chance.random() < 0.3:
            old, now = live.pop(chance.randrange(len(live))), now + 10
            live.append(next(addresses))
            thread.resize(now, old, live[-1], 1 << chance.randrange(20), 5, SITE)
            now += 5
        while len(live) > 20:
            now += chance.randrange(500)
            thread.free(now, live.pop(chance.randrange(len(live))))


class Excerpt(Scratch):
    def setUp(self) -> None:
        super().setUp()
        self.file, self.out = self.folder / "a.hakt", self.folder / "b.hakt"

    def written(self, trace: Trace) -> Path:
        self.file.write_bytes(trace.packed())
        return self.file

    def made(self, *threads: int, blocks: int = 2000) -> Trace:
        trace = Trace()
        process = trace.process(7, ["/usr/bin/prog", "-x"])
        process.modules("400000-500000 r-xp 00000000 00:00 1 /usr/bin/prog\n")
        for number in threads:
            fill(process.thread(number), 1000 + number, blocks, number)
        return trace

    def excerpt(self, *options: str) -> subprocess.CompletedProcess[str]:
        return lab("excerpt", str(self.file), "-o", str(self.out), *options)

    def cut(self, *options: str) -> Process:
        done = self.excerpt(*options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (process,) = read_trace(self.out).values()
        self.assertIn(f" {process.announced:,} events in ", done.stdout)
        return process

    def source(self) -> Process:
        (process,) = read_trace(self.file).values()
        return process


    def assert_begins(self, process: Process) -> None:
        """Each thread as the source's begins, all up to the same moment."""
        source = self.source()
        last = max(event.ns for event in process.events)
        for number, events in process.threads.items():
            whole = source.threads[number]
            self.assertTrue(events == whole[: len(events)])
            self.assertTrue(all(event.ns + event.took >= last for event in whole[len(events):]))


class WhatIsLeft(Excerpt):
    def test_of_all_events_all(self) -> None:
        self.written(self.made(0, 1, 5))
        process = self.cut("--events", "1000000")
        self.assertTrue(process.threads == self.source().threads)
        self.assertEqual((process.command, process.modules), (["/usr/bin/prog", "-x"], self.source().modules))

    def test_the_first_events(self) -> None:
        self.written(self.made(0, 1))
        process = self.cut("--events", "500")
        self.assertEqual(process.announced, 500)
        self.assert_begins(process)

    def test_no_block_is_freed_that_did_not_come(self) -> None:
        self.written(self.made(0, 1))
        process = self.cut("--from", "0.001", "--events", "2000")
        self.assertEqual(process.announced, 2000)
        self.assertGreaterEqual(process.events[0].ns, 1_001_000)
        live_blocks(process.events)  # an assertion fails where one goes that is not there

    def test_a_block_from_before_is_dropped_and_comes_anew_when_it_is_resized(self) -> None:
        trace = Trace()
        thread = trace.process(7, ["prog"]).thread(0)
        thread.allocate(0, 0x1000, 10, SITE)
        thread.allocate(1, 0x2000, 20, SITE)
        thread.free(1_000_000_010, 0x1000)
        thread.resize(1_000_000_020, 0x2000, 0x3000, 30, 4, SITE)
        thread.free(1_000_000_030, 0x3000, SITE)
        self.written(trace)
        self.assertEqual(self.cut("--from", "1").events, [
            Event(ALLOC, 1_000_000_024, *SITE, 0, 0x3000, 30), Event(FREE, 1_000_000_030, *SITE, 0x3000),
        ])

    def test_only_large_blocks(self) -> None:
        trace = Trace()
        thread = trace.process(7, ["prog"]).thread(0)
        thread.allocate(0, 0x1000, 10)
        thread.allocate(1, 0x2000, 65536)
        thread.resize(2, 0x1000, 0x3000, 70000, 1)  # grows
        thread.resize(5, 0x2000, 0x2000, 65535, 1)  # shrinks
        thread.free(8, 0x2000)
        thread.resize(9, 0x3000, 0x5000, 80000, 1)
        thread.free(11, 0x5000)
        self.written(trace)
        self.assertEqual([(e.op, e.ns, e.went, e.came, e.size) for e in self.cut("--least", "65536").events], [
            (ALLOC, 1, 0, 0x2000, 65536), (ALLOC, 3, 0, 0x3000, 70000), (FREE, 5, 0x2000, 0, 0),
            (RESIZE, 9, 0x3000, 0x5000, 80000), (FREE, 11, 0x5000, 0, 0),
        ])

    def test_a_block_that_went_to_another_thread_goes_there(self) -> None:
        trace = Trace()
        process = trace.process(7, ["prog"])
        process.thread(0).allocate(10, 0x1000, 64)
        process.thread(3).free(20, 0x1000)
        process.thread(3).free(30, 0x9000)  # never seen
        self.written(trace)
        self.assertEqual({number: len(events) for number, events in self.cut().threads.items()}, {0: 1, 3: 1})

    def test_as_many_bytes_as_asked_for(self) -> None:
        self.written(self.made(0, 1, blocks=6000))
        process = self.cut("--bytes", "20000")
        size = self.out.stat().st_size
        self.assertTrue(17000 < size <= 20000, size)
        self.assert_begins(process)

    def test_the_process_with_the_most_events_or_the_one_asked_for(self) -> None:
        trace = Trace()
        for pid, events in ((7, 2), (8, 5), (9, 3)):
            thread = trace.process(pid, [f"prog{pid}"]).thread(0)
            for number in range(events):
                thread.allocate(number, 0x1000 + 16 * number, 8)
        self.written(trace)
        self.assertEqual(self.cut().command, ["prog8"])
        self.assertEqual(self.cut("--process", "3").command, ["prog9"])


class Refusing(Excerpt):
    def assert_refused(self, options: tuple[str, ...], *words: str, status: int = 2) -> None:
        done = self.excerpt(*options)
        self.assertEqual((done.returncode, done.stdout), (status, ""))
        self.assert_one_line(done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(self.out.exists())

    def test_one_line_for_everything_wrong(self) -> None:
        self.written(self.made(0, blocks=20))
        self.assert_refused(("--events", "5", "--bytes", "5"), "--events or --bytes, not both")
        self.assert_refused(("--bytes", "20"), "--bytes 20", "alone take")
        self.assert_refused(("--from", "5"), "nothing is left")
        self.assert_refused(("--process", "2"), "--process 2: the trace has 1")

    def test_what_is_no_trace_or_damaged(self) -> None:
        self.file.write_text("text")
        self.assert_refused((), "not a trace")
        trace = self.made(0, blocks=20)
        thread = trace.processes[0].threads[0]
        thread.packed[-1] |= 0x80  # a number that does not end
        self.written(trace)
        self.assert_refused((), "a.hakt: a payload that does not fit")

    def test_what_is_no_trace_is_not_replaced(self) -> None:
        self.written(self.made(0, blocks=20))
        for self.out in not_to_be_replaced(self.folder):
            with self.subTest(self.out.name):
                before = file_itself(self.out)
                done = self.excerpt()
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assert_one_line(done.stderr)
                self.assertEqual(file_itself(self.out), before)
        self.out = Path()
        self.assert_one_line(self.excerpt().stderr)

    def test_a_folder_that_is_not_there(self) -> None:
        self.written(self.made(0, blocks=20))
        self.out = self.folder / "none" / "b.hakt"
        self.assert_refused((), "no such file or directory", status=1)


if __name__ == "__main__":
    unittest.main()
