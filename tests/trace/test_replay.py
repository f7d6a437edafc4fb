# SPDX-License-Identifier: MIT OR Apache-2.0
"""tools/replay.c: what it asks of malloc, as log_calls.c writes it down, and what it says of itself."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from made import Event, random_trace  # noqa: E402
from writer import ALIGNED, ALLOC, CALLOC, FREE, RESIZE, Process, Trace  # noqa: E402

REPLAY, LOGGER = os.environ["HAK_REPLAY"], os.environ["HAK_LOGGER"]
EPOCH = 4096
MIB = 1 << 20


@dataclass(frozen=True)
class Call:
    thread: int
    name: str
    old: str
    first: int
    size: int
    came: str


@dataclass
class Ended:
    status: int
    rounds: list[dict[str, int]]
    errors: str
    log: list[Call]

    @property
    def calls(self) -> list[Call]:
        return [call for call, is_libcs in told_apart(self.log) if not is_libcs]

    @property
    def most_tables(self) -> int:
        """The most threads at one time, with the forty or so of which glibc keeps the stacks."""
        there = most = 0
        for call, is_libcs in told_apart(self.log):
            if is_libcs and (call.name, call.old) != ("free", "(nil)"):
                there += -1 if call.name == "free" else 1
                most = max(most, there)
        return most

    @property
    def only(self) -> dict[str, int]:
        (line,) = self.rounds
        return line


def replay(
    trace: Trace | bytes, *options: str, logged: bool = False, fail: int = 0, variables: Mapping[str, str] = {}
) -> Ended:
    data = trace if isinstance(trace, bytes) else trace.bytes()
    with tempfile.TemporaryDirectory(prefix="hakmem-test-") as folder:
        log = Path(folder) / "log"
        logging = {"LD_PRELOAD": LOGGER, "HAK_LOG": str(log), "HAK_FAIL": str(fail)} if logged else {}
        environment = {**logging, **variables}
        done = subprocess.run([REPLAY, *options], input=data, capture_output=True, env=environment, check=False)
        lines = log.read_text().splitlines() if logged else []
    rounds = [{k: int(v) for k, v in (pair.split("=") for pair in line.split())}
              for line in done.stdout.decode().splitlines()]
    return Ended(done.returncode, rounds, done.stderr.decode(), [call_of(line) for line in lines])


def told_apart(calls: Iterable[Call]) -> Iterator[tuple[Call, bool]]:
    """Whether it is glibc's own: free(NULL), and the tables that it makes for threads, calloc of more than one."""
    tables: set[str] = set()
    for call in calls:
        is_libcs = call.name == "calloc" and call.first > 1
        if is_libcs:
            tables.add(call.came)
        elif call.name == "free" and (call.old == "(nil)" or call.old in tables):
            is_libcs = True
            tables.discard(call.old)
        yield call, is_libcs


def call_of(line: str) -> Call:
    thread, name, old, first, size, came = line.split()
    return Call(int(thread), name, old, int(first), int(size), came)


def one_process() -> tuple[Trace, Process]:
    trace = Trace()
    return trace, trace.process(7, ["prog"])


NAMES = {ALLOC: "malloc", CALLOC: "calloc", ALIGNED: "memalign", FREE: "free", RESIZE: "realloc"}


def wanted_call(event: Event) -> tuple[str, int, int]:
    """Name, first argument, size."""
    if event.op == FREE:
        return "free", 0, 0
    return NAMES[event.op], 1 << event.align if event.op == ALIGNED else 1, event.size


class WhatIsAsked(unittest.TestCase):
    def test_every_call_and_no_other(self) -> None:
        trace, process = one_process()
        thread = process.thread(0)
        thread.allocate(1, 0x1000, 32)
        thread.allocate(2, 0x2000, 40, operation=CALLOC)
        thread.aligned(3, 0x4000, 64, 12)
        thread.aligned(4, 0x5000, 64, 0)
        thread.resize(5, 0x1000, 0x8000, 99, 0)
        thread.resize(6, 0x9000, 0xA000, 55, 0)
        thread.free(7, 0x8000)
        thread.free(8, 0x2000)
        thread.allocate(9, 0, 1 << 60)
        thread.resize(10, 0x4000, 0, 1 << 60, 0)
        thread.free(11, 0x4000)
        ended = replay(trace, logged=True)
        came = [call.came for call in ended.calls]
        self.assertEqual([(call.name, call.old, call.first, call.size) for call in ended.calls], [
            ("malloc", "(nil)", 1, 32),
            ("calloc", "(nil)", 1, 40),
            ("memalign", "(nil)", 4096, 64),
            ("memalign", "(nil)", 8, 64),
            ("realloc", came[0], 1, 99),
            ("malloc", "(nil)", 1, 55),
            ("free", came[4], 0, 0),
            ("free", came[1], 0, 0),
            ("free", came[2], 0, 0),
        ])
        expected = {"events": 11, "calls": 9, "skipped": 2, "unknown": 1, "threads": 1, "torn": 0, "failed": 0}
        self.assertEqual({name: ended.only[name] for name in expected}, expected)

    def test_many_threads(self) -> None:
        """Each thread makes its calls in its order, and what a block is freed by is what it came as."""
        for seed in range(10):
            with self.subTest(seed=seed):
                trace, events = random_trace(random.Random(seed), 5000)
                ended = replay(trace, logged=True)
                self.assertEqual((ended.status, ended.only["failed"]), (0, 0), ended.errors)
                self.assertEqual(len(ended.calls), len(events))
                self.check_threads(ended.calls, events)

    def check_threads(self, calls: list[Call], events: list[Event]) -> None:
        recorded: dict[int, list[Event]] = defaultdict(list)
        replayed: dict[int, list[Call]] = defaultdict(list)
        for event in events:
            recorded[event.thread].append(event)
        for call in calls:
            replayed[call.thread].append(call)
        at = {tuple(map(wanted_call, row)): thread for thread, row in recorded.items()}
        pairs = []
        for row in replayed.values():
            thread = at.get(tuple((call.name, call.first, call.size) for call in row))
            assert thread is not None, "a thread that the trace has not"
            pairs += zip(recorded[thread], row)
        blocks = {event.block: call.came for event, call in pairs if event.op != FREE}
        for event, call in pairs:
            old = event.block if event.op == FREE else event.old
            self.assertEqual(call.old, blocks[old] if old else "(nil)")

    def test_a_block_is_not_freed_before_it_is_there(self) -> None:
        trace, process = one_process()
        maker, freer = process.thread(0), process.thread(1)
        for i in range(2000):
            maker.allocate(10 * i, 0x1000 + 16 * i, 16)
            freer.free(10 * i + 5, 0x1000 + 16 * i)
        ended = replay(trace, logged=True)
        there: set[str] = set()
        for call in ended.calls:
            if call.name == "free":
                self.assertIn(call.old, there)
                there.remove(call.old)
            else:
                there.add(call.came)
        self.assertEqual(there, set())

    def test_nobody_runs_far_ahead(self) -> None:
        """A maker that needs nobody stays within an epoch of the thread that frees."""
        trace, process = one_process()
        maker, freer = process.thread(0), process.thread(1)
        for i in range(10 * EPOCH):
            maker.allocate(10 * i, 0x1000, 16)
            freer.free(10 * i + 5, 0x1000)
        live = most = 0
        for call in replay(trace, logged=True).calls:
            live += -1 if call.name == "free" else 1
            most = max(most, live)
        self.assertEqual(live, 0)
        self.assertLessEqual(most, EPOCH + 1)

    def test_threads_come_and_go_as_they_did(self) -> None:
        trace, process = one_process()
        for number in range(2000):
            thread = process.thread(number)
            for i in range(20):
                thread.allocate(number * 1000 + 2 * i, 0x1000, 16 + number)
                thread.free(number * 1000 + 2 * i + 1, 0x1000)
        ended = replay(trace, logged=True)
        self.assertEqual((ended.status, ended.only["threads"], len(ended.calls)), (0, 2000, 80_000))
        self.assertLess(ended.most_tables, 4 * EPOCH // 40)


class WhatIsSaid(unittest.TestCase):
    def large(self, *options: str) -> dict[str, int]:
        trace, process = one_process()
        process.thread(0).allocate(1, 0x1000, 64 * MIB)
        process.thread(0).free(2, 0x1000)
        return replay(trace, *options).only

    def test_touch(self) -> None:
        self.assertGreater(self.large()["peak_kib"], 60 * 1024)
        self.assertGreater(self.large("--touch", "all")["peak_kib"], 60 * 1024)
        self.assertLess(self.large("--touch", "first")["peak_kib"], 8 * 1024)
        self.assertLess(self.large("--touch", "none")["peak_kib"], 8 * 1024)

    def test_what_reading_took_is_no_peak(self) -> None:
        trace, process = one_process()
        for i in range(200_000):
            process.thread(0).allocate(2 * i, 0x1000, 16)
            process.thread(0).free(2 * i + 1, 0x1000)
        self.assertLess(replay(trace).only["peak_kib"], 4 * 1024)

    def test_where_the_peak_cannot_be_put_back(self) -> None:
        trace, process = one_process()
        process.thread(0).allocate(1, 0x1000, 64 * MIB)
        process.thread(0).free(300_000_000, 0x1000)
        forbidden = {"LD_PRELOAD": LOGGER, "HAK_NO_PEAK": "1"}
        line = replay(trace, "--pace", "real", variables=forbidden).only
        self.assertEqual(line["sampled"], 1)
        self.assertGreater(line["peak_kib"], 60 * 1024)
        self.assertEqual(replay(trace).only["sampled"], 0)

    def test_what_was_freed_needs_no_memory(self) -> None:
        half = int(Path("/proc/meminfo").read_text().partition("MemAvailable:")[2].split()[0]) * 1024 // 2
        trace, process = one_process()
        for i in range(5):
            process.thread(0).allocate(2 * i, 0x1000, half)
            process.thread(0).free(2 * i + 1, 0x1000)
        ended = replay(trace, logged=True, fail=half)
        self.assertEqual((ended.status, ended.errors, ended.only["failed"]), (0, "", 5))

    def test_a_trace_of_many_call_sites(self) -> None:
        trace = Trace()
        threads = [trace.process(pid, ["prog"]).thread(0) for pid in (5, 6, 7)]
        for i in range(20_000):
            for thread in threads:
                thread.allocate(2 * i, 0x1000, 16, (0x400000 + 8 * i, 1))
                thread.free(2 * i + 1, 0x1000, (0x400000 + 8 * i, 2))
        self.assertEqual(replay(trace).only["calls"], 40_000)

    def test_what_fails_is_counted_and_nothing_breaks(self) -> None:
        trace, process = one_process()
        maker, other = process.thread(0), process.thread(1)
        maker.allocate(1, 0x1000, 77)
        maker.allocate(2, 0x2000, 77)
        maker.free(3, 0x1000)
        other.resize(4, 0x2000, 0x3000, 50, 0)
        ended = replay(trace, logged=True, fail=77)
        self.assertEqual((ended.status, ended.only["failed"]), (0, 2))
        self.assertEqual([call.name for call in ended.calls], ["malloc", "malloc", "realloc"])

    def test_rounds_begin_with_nothing_left(self) -> None:
        trace, process = one_process()
        process.thread(0).allocate(1, 0x1000, 32)
        process.thread(1).allocate(2, 0x2000, 33)
        ended = replay(trace, "--rounds", "3", logged=True)
        self.assertEqual([line["round"] for line in ended.rounds], [1, 2, 3])
        self.assertEqual(sorted(call.name for call in ended.calls), ["free"] * 4 + ["malloc"] * 6)

    def test_which_process(self) -> None:
        trace = Trace()
        for pid, calls in ((5, 1), (6, 3), (7, 2)):
            thread = trace.process(pid, ["prog"]).thread(0)
            for i in range(calls):
                thread.allocate(i, 0x1000 + 16 * i, 8)
        line = replay(trace).only
        self.assertEqual((line["process"], line["of"], line["pid"], line["calls"]), (2, 3, 6, 3))
        line = replay(trace, "--process", "3").only
        self.assertEqual((line["process"], line["pid"], line["calls"]), (3, 7, 2))
        self.assertIn("no process 4", replay(trace, "--process", "4").errors)

    def test_recorded_times(self) -> None:
        trace, process = one_process()
        process.thread(0).allocate(1, 0x1000, 32)
        process.thread(1).free(200_000_001, 0x1000)
        self.assertGreaterEqual(replay(trace, "--pace", "real").only["wall_ns"], 200_000_000)

    def test_a_torn_end(self) -> None:
        trace, process = one_process()
        process.thread(0).allocate(1, 0x1000, 32)
        self.assertEqual(replay(trace.bytes() + b"HAKT").only["torn"], 1)

    def test_bad_input(self) -> None:
        trace, process = one_process()
        process.thread(0).allocate(1, 0x1000, 1 << 46)
        whole = trace.bytes()
        bare = Trace()
        bare.process(7, ["prog"])
        cases: tuple[tuple[str, bytes, list[str]], ...] = (
            ("not a trace", b"nothing of the kind", []),
            ("no process", b"", []),
            ("asked for nothing", bare.bytes(), []),
            ("not a record", whole + bytes(64), []),
            ("--touch first", whole, []),
            ("usage", whole, ["--touch", "some"]),
            ("usage", whole, ["--rounds", "0"]),
            ("usage", whole, ["--process", "-1"]),
            ("usage", whole, ["--pace", "double"]),
            ("usage", whole, ["more"]),
        )
        for why, data, options in cases:
            with self.subTest(why=why, options=options):
                ended = replay(data, *options)
                self.assertEqual((ended.status, ended.rounds), (2, []))
                self.assertIn(why, ended.errors)
                self.assertRegex(ended.errors, r"\Ahak_replay: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
