# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab predict`: the model beside the rerun, on traces of programs that never were; and files that are none."""

from __future__ import annotations

import csv
import random
import subprocess
import sys
import unittest
from pathlib import Path
from subprocess import CompletedProcess

from laboratory import LAB, lab
from support import BUILD, ROOT, Scratch

sys.path.insert(0, str(ROOT / "tests" / "trace"))

from writer import CALLOC, Process, Thread, Trace  # noqa: E402

MS = 1_000_000
SMALL, LARGE = (24, 100, 300, 1000, 2000), (5000, 20_000, 60_000, 200_000)


class Program:
    """Bursts of calls, of which a fifth stays, with idle time between them; by its threads in turn. A rerun keeps up."""

    def __init__(self, threads: int, bursts: int) -> None:
        self.trace = Trace()
        self.process: Process = self.trace.process(7, ["server"])
        self.random = random.Random(11)
        self.threads, self.ns, self.address, self.calls = threads, 0, 0x100000, 0
        for _ in range(bursts):
            self.burst()
            self.ns += 400 * MS

    def rest(self) -> None:
        """All threads live on, and ask for nothing for more than a second."""
        self.ns += 1200 * MS
        for number in range(self.threads):
            self.process.thread(number).allocate(self.ns, 16 + 16 * number, 8)

    def burst(self) -> None:
        blocks = [self.allocate(number) for number in range(3000)]
        for number in range(0, 3000, 20):
            blocks[number] = self.resize(blocks[number], self.random.randrange(1, 9000))
        blocks += [self.allocate(1, (1 + number) << 20) for number in range(5)]
        blocks[-1] = self.resize(blocks[-1], 9 << 20)
        self.random.shuffle(blocks)
        for block in blocks[len(blocks) // 5:]:
            self.next_thread().free(self.ns, block)

    def next_thread(self, size: int = 0) -> Thread:
        self.calls += 1
        self.ns += 6000 + 500_000 * (size >> 20)
        self.address += 16
        return self.process.thread(self.calls // 64 % self.threads)

    def allocate(self, number: int, size: int = 0) -> int:
        size = size or self.random.choice(LARGE if number % 40 == 0 else SMALL)
        thread = self.next_thread(size)
        if number % 17 == 0:
            thread.aligned(self.ns, self.address, size, 6)
        elif number % 11 == 0:
            thread.allocate(self.ns, self.address, size, operation=CALLOC)
        else:
            thread.allocate(self.ns, self.address, size, (0x400000 + size // 64, 5))
        return self.address

    def resize(self, old: int, size: int) -> int:
        self.next_thread(size).resize(self.ns, old, self.address, size, 10)
        return self.address


class Predict(Scratch):
    def predict(self, data: bytes | Trace, *options: str, **variables: str) -> CompletedProcess[str]:
        file = self.folder / "trace.hakt"
        file.write_bytes(data.packed() if isinstance(data, Trace) else data)
        return lab("predict", "--build", str(BUILD), *options, str(file), **variables)

    def figures(self, data: Trace, *options: str, **variables: str) -> dict[str, tuple[float, float]]:
        """Each row's predicted and measured one."""
        table = self.folder / "figures.csv"
        ended = self.predict(data, "--csv", str(table), *options, **variables)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)
        with table.open() as file:
            return {row["figure"]: (float(row["predicted"]), float(row["measured"])) for row in csv.DictReader(file)}

    def assert_refused(self, ended: CompletedProcess[str], text: str, status: int = 2) -> None:
        self.assertEqual((ended.returncode, ended.stdout), (status, ""), ended.stderr)
        self.assertIn(text, ended.stderr)
        self.assert_one_line(ended.stderr)

    def test_a_program_of_one_thread(self) -> None:
        """The calls of the boxes within 5 %. How often pages are advised also depends on when each call comes: that is up
        to the machine."""
        figures = self.figures(Program(1, 3).trace, "--within", "50")
        self.assertGreater(figures["peak_kib"][0], 16 << 10)
        for name in ("slab_fill", "slab_put", "large_alloc", "big_alloc", "big_resize"):
            predicted, measured = figures[name]
            self.assertGreater(measured, 0, name)
            self.assertLess(abs(predicted / measured - 1), 0.05, name)
        self.assertGreater(figures["kernel_advise"][1], 0)
        self.assertGreater(figures["sites"][0], 3)
        self.assertEqual(*figures["sites"])

    def test_a_real_program(self) -> None:
        """A part of what redis-server did."""
        trace = ROOT / "tests" / "trace" / "corpus" / "redis-server.large.hakt"
        ended = lab("predict", "--build", str(BUILD), "--within", "20", str(trace))
        self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)

    def test_a_program_of_three_threads(self) -> None:
        """Blocks go from one to another by the depot, and a helper gives back what is left. When each thread comes is up
        to the machine, and so is whether a block of some MiB is kept once more, and whether a moment with one thread
        ends the helper, which starts again with the next."""
        figures = self.figures(Program(3, 3).trace, "--within", "60")
        predicted, measured = figures["background_starts"]
        self.assertEqual(predicted, 1)
        self.assertIn(measured, (1, 2))
        for predicted, measured in (figures["depot_take"], figures["depot_put"]):
            self.assertGreater(predicted, 0)
            self.assertGreater(measured, 0)

    def test_the_helper_runs_while_nothing_else_does(self) -> None:
        """Pages inside slabs go back in idle time only; at this price soon."""
        program = Program(3, 1)
        program.rest()
        figures = self.figures(program.trace, "--within", "50", HAKMEM_PRICE="lean")
        for pages in figures["hole_pages"]:
            self.assertGreater(pages, 100)

    def test_threads_that_come_and_go(self) -> None:
        """libc frees NULL a dozen times for each: that is no call of the program's."""
        trace = Trace()
        process = trace.process(7, ["server"])
        for number in range(100):
            thread = process.thread(number)
            thread.allocate(number * MS, 16 + 16 * number, 24)
            thread.free(number * MS + 1000, 16 + 16 * number)
        figures = self.figures(trace, "--within", "1000")
        self.assertEqual(figures["slow_malloc"][0], 101)
        predicted, measured = figures["slow_free"]
        self.assertEqual(predicted, 0)
        self.assertLess(measured, 50)

    def test_settings_reach_both(self) -> None:
        """Where memory costs nothing, none goes back."""
        program = Program(1, 2).trace
        self.assertEqual(self.figures(program, "--within", "50", HAKMEM_PRICE="0")["release_bytes"], (0, 0))
        for released in self.figures(program, "--within", "50")["release_bytes"]:
            self.assertGreater(released, 1 << 20)

    def test_what_is_printed(self) -> None:
        trace = Program(1, 1).trace
        trace.process(8, ["other"]).thread(0).allocate(5, 0x1000, 8)
        ended = self.predict(trace)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)
        self.assertRegex(ended.stdout, r"(?m)^server +1 +[\d,]+ +peak RSS +[\d.]+ MiB +[\d.]+ MiB +[01]\.\d{3} *$")
        self.assertRegex(ended.stdout, r"(?m)^ +faults +[\d,]+ +[\d,]+ +[01]\.\d{3} *$")
        self.assertRegex(ended.stdout, r"(?m)^ +slow paths +[\d,]+ +[\d,]+ +[01]\.\d{3} *$")
        self.assertTrue(ended.stdout.endswith("\nall figures are within 5 %\n"))
        ended = self.predict(trace, "--within", "0")
        self.assertEqual((ended.returncode, ended.stderr), (1, ""))
        self.assertRegex(ended.stdout, r"\nbeyond 0 %: server: [a-zRS ]+ \([01]\.\d{3}\)")

    def test_a_table_that_cannot_be_written(self) -> None:
        """The file is named; what was found is printed all the same."""
        trace = Trace()
        trace.process(7, ["prog"]).thread(0).allocate(5, 0x1000, 8)
        for path in ("/dev/full", str(self.folder)):
            ended = self.predict(trace, "--within", "1000", "--csv", path)
            self.assertEqual(ended.returncode, 1)
            self.assertIn("slow paths", ended.stdout)
            self.assertRegex(ended.stderr, rf"^hakmem: {path}: (no space left on device|is a directory)\n$")

    def test_no_room_for_the_unpacked_trace(self) -> None:
        """The file is named, which says which disk is full."""
        file = self.folder / "trace.hakt"
        file.write_bytes(Program(1, 1).trace.packed())
        argv = [LAB, "predict", "--build", str(BUILD), str(file)]
        limited = ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *argv]
        ended = subprocess.run(limited, capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (1, ""))
        self.assertRegex(ended.stderr, r"^hakmem: /.*/records: file too large\n$")

    def test_a_program_that_gave_itself_a_title(self) -> None:
        trace = Trace()
        trace.process(7, ["nginx: worker of /srv/www"]).thread(0).allocate(5, 0x1000, 8)
        self.assertRegex(self.predict(trace, "--within", "1000").stdout, "(?m)^nginx +1 +1 ")

    def test_call_sites_that_nobody_takes(self) -> None:
        replay = [BUILD / "hak_replay", "--sites"]
        ended = subprocess.run(replay, input=Program(1, 1).trace.bytes(), capture_output=True, check=False)
        said = b"hak_replay: --sites: the allocator does not take call sites\n"
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (2, b"", said))

    def test_wrong_use(self) -> None:
        trace = Trace()
        trace.process(7, ["prog"])
        self.assert_refused(self.predict(b"#!/bin/sh\n"), "trace.hakt: not a trace")
        self.assert_refused(self.predict(trace), "trace.hakt: this process asked for nothing")
        self.assert_refused(self.predict(trace, "--process", "3"), "trace.hakt: no process 3 in this trace; it has 1")
        self.assert_refused(self.predict(trace, "--within", "-1"), "--within")
        self.assert_refused(lab("predict", "--build", str(BUILD), "/no/such"), "/no/such: no such file or directory")
        self.assertEqual([path.name for path in Path(self.folder).iterdir()], ["trace.hakt"])


if __name__ == "__main__":
    unittest.main()
