# SPDX-License-Identifier: MIT OR Apache-2.0
"""The passes beside the timed one, each on a small row: they write what they should. No time is judged."""

from __future__ import annotations

import io
import unittest
from collections import Counter
from pathlib import Path
from unittest.mock import patch

from rich.console import Console
from workbench import ON_GLIBC, ON_HAKMEM, WithContext, real_row, row

from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator
from hakmem_lab.bench import instructions, latency, syscalls
from hakmem_lab.bench.cell import Benchmark
from hakmem_lab.bench.passes import PASSES
from hakmem_lab.bench.progress import Progress
from hakmem_lab.bench.record import Bucket, Metric, Moment, Recorder, read_lines

TABLE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 57.14    0.000004           0         8           mmap
 42.86    0.000003           3         1         1 access
------ ----------- ----------- --------- --------- ----------------
100.00    0.000007           0         9         1 total
"""


class PassCase(WithContext):
    def setUp(self) -> None:
        super().setUp()
        self.recorder = Recorder(self.scratch / "results")
        self.said = io.StringIO()

    def make(self, name: str, *rows: Benchmark, allocators: tuple[Allocator, ...] = (ON_HAKMEM, ON_GLIBC)) -> None:
        with Progress(Console(file=self.said, width=1000)) as progress:
            PASSES[name](self.context, list(rows), list(allocators), self.recorder, progress)

    def metrics(self) -> dict[tuple[str, str, str], float]:
        lines = read_lines(self.recorder.folder, Metric)
        return {(one.benchmark, one.allocator, one.name): one.value for one in lines}


class Latency(PassCase):
    def test_histograms_and_rising_percentiles(self) -> None:
        self.make("latency", row("pair"))
        found = self.metrics()
        for allocator in ("hakmem", "glibc"):
            for call in latency.CALLS:
                values = [found["pair", allocator, f"latency_{call}_{name}"] for name in latency.PERCENTILES]
                self.assertEqual(values, sorted(values))
            self.assertGreater(found["pair", allocator, "latency_counter_cost_ns"], 0)
        buckets = read_lines(self.recorder.folder, Bucket)
        mallocs = sum(one.count for one in buckets if (one.allocator, one.call) == ("hakmem", "malloc"))
        frees = sum(one.count for one in buckets if (one.allocator, one.call) == ("hakmem", "free"))
        self.assertEqual(mallocs, frees)
        self.assertGreater(mallocs, 0)

    def test_percentiles_of_known_calls(self) -> None:
        found = latency.percentiles(Counter({100: 90, 200: 9, 4000: 1}), cycles_per_ns=2.0)
        self.assertEqual(found["p50"], 50)
        self.assertEqual(found["p95"], 100)
        self.assertAlmostEqual(found["max"], 2000, delta=2)

    def test_a_row_without_calls_has_none(self) -> None:
        self.assertEqual(latency.percentiles(Counter(), 2.0), {})
        self.assertEqual(latency.parse_buckets(""), {})


class Syscalls(PassCase):
    def test_a_pair_enters_the_kernel_never(self) -> None:
        self.make("syscalls", row("pair"))
        found = self.metrics()
        self.assertEqual(found["pair", "hakmem", "syscalls_per_op"], 0)
        self.assertEqual(found["pair", "glibc", "syscalls_per_op"], 0)

    def test_real_programs_are_counted_whole(self) -> None:
        calls, operations = syscalls.count_real(self.context, real_row("lua"), ON_HAKMEM)
        self.assertEqual(operations, 1)
        self.assertEqual(calls["write"], 12)  # one for each line it prints
        self.make("syscalls", real_row("lua"))
        self.assertGreater(self.metrics()["lua", "hakmem", "syscalls_per_op"], 12)

    def test_the_table_is_read(self) -> None:
        path = self.scratch / "table"
        path.write_text(TABLE)
        self.assertEqual(syscalls.read_table(path), Counter({"mmap": 8, "access": 1}))


class Instructions(PassCase):
    def test_the_same_in_every_run_and_fewer_than_glibc(self) -> None:
        counts = []
        for _ in range(2):
            self.make("instructions", row("pair"))
            counts.append(self.metrics())
        self.assertEqual(counts[0], counts[1])
        name = instructions.NAME
        self.assertLess(counts[0]["pair", "hakmem", name], counts[0]["pair", "glibc", name])

    def test_rows_with_threads_and_those_that_happen_once_are_left_out(self) -> None:
        self.make("instructions", row("two_threads", threads=2), row("frag", "hak_frag", once=True), real_row("lua"))
        self.assertEqual(self.metrics(), {})

    def test_threads_that_a_row_does_not_tell_of_are_noticed(self) -> None:
        self.make("instructions", row("asymmetric_handover", "hak_asymmetric"))
        self.assertEqual(self.metrics(), {})
        self.assertIn("no instructions of asymmetric_handover: it starts threads", self.said.getvalue())

    def test_a_missing_tool_is_said(self) -> None:
        for name, tool in (("instructions", "valgrind"), ("syscalls", "strace")):
            with self.subTest(name), patch("shutil.which", return_value=None):
                self.make(name, row("pair"))
                self.assertIn(f"{tool} is missing (apt-get install {tool})", self.said.getvalue())


class Timeline(PassCase):
    def test_memory_of_the_program_over_time(self) -> None:
        self.make("timeline", real_row("lua"), row("pair"))
        moments = read_lines(self.recorder.folder, Moment)
        self.assertEqual({one.benchmark for one in moments}, {"lua"})
        for allocator in ("hakmem", "glibc"):
            seconds = [one.seconds for one in moments if one.allocator == allocator]
            self.assertGreater(len(seconds), 3)
            self.assertEqual(seconds, sorted(seconds))
        self.assertTrue(all(one.rss_kib > 0 for one in moments))


class Failures(PassCase):
    def test_each_is_one_line_and_the_rest_goes_on(self) -> None:
        nothing = Allocator("other", Path("/nonsense.so"), "")
        for name, benchmark in (("latency", row("pair")), ("syscalls", row("pair")), ("instructions", row("pair")),
                                ("syscalls", real_row("lua")), ("timeline", real_row("lua"))):
            with self.subTest(pass_name=name, row=benchmark.name):
                self.make(name, benchmark, allocators=(nothing, ON_GLIBC))
                self.assertRegex(self.said.getvalue().splitlines()[-1], f"hakmem: no .* of {benchmark.name} on other: ")

    def test_percentiles_that_fall_are_refused(self) -> None:
        with patch.dict(latency.PERCENTILES, {"p50": 99.0, "p95": 50.0}), self.assertRaises(Refusal):
            latency.percentiles(Counter({10: 10, 1000: 2}), 1.0)


if __name__ == "__main__":
    unittest.main()
