# SPDX-License-Identifier: MIT OR Apache-2.0
"""The order of the runs, what counts as disturbed, what is repeated: with given numbers, nothing is run."""

from __future__ import annotations

import tempfile
import unittest
from collections import Counter
from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from hakmem.process.counters import Comparison
from hakmem.process.peers import Allocator
from hakmem_lab.bench.budget import TIME_SHARE, Budget, too_dear
from hakmem_lab.bench.cell import Benchmark, NotProven, parse_output
from hakmem_lab.bench.disturbance import Judge, Meanwhile, Snapshot, meanwhile
from hakmem_lab.bench.progress import Progress
from hakmem_lab.bench.record import COUNTED, OK, WARM_UP, Metric, Recorder, Run, read_lines
from hakmem_lab.bench.schedule import MORE_TRIES, TimePass, turns
from hakmem_lab.bench.twin import must_be_served, served_percent

ALLOCATORS = [Allocator(name, None, "1") for name in ("hakmem", "glibc", "other")]
ROWS = [Benchmark(name, "group", "") for name in ("a", "b")]
QUIET = Meanwhile(seconds=1.0, others=0.01, stolen=0.0, mhz=2000.0, load=0.1)


def run_of(**fields: object) -> Run:
    return replace(Run("a", "group", "hakmem", 0, COUNTED, OK), **fields)


class Order(unittest.TestCase):
    def test_warm_ups_first_then_rounds(self) -> None:
        order = [(turn.phase, turn.round) for turn in turns(ROWS, ALLOCATORS, 1, 2)]
        self.assertEqual(order, [(WARM_UP, 0)] * 6 + [(COUNTED, 0)] * 6 + [(COUNTED, 1)] * 6)

    def test_every_cell_comes_once_a_round(self) -> None:
        cells = [(turn.round, turn.benchmark.name, turn.allocator.name) for turn in turns(ROWS, ALLOCATORS, 0, 3)]
        self.assertEqual((len(cells), len(set(cells))), (18, 18))

    def test_every_allocator_comes_first_equally_often(self) -> None:
        firsts = [turn.allocator.name for turn in list(turns(ROWS, ALLOCATORS, 0, 3))[::3]]
        self.assertEqual({name: firsts.count(name) for name in firsts}, {"hakmem": 2, "glibc": 2, "other": 2})


class Disturbance(unittest.TestCase):
    def why(self, seen: Meanwhile, run: Run | None = None, judge: Judge | None = None) -> str:
        return (judge or Judge()).judged(run or run_of(), seen).disturbed

    def test_what_other_processes_used(self) -> None:
        before, after = Snapshot(10.0, 100.0, 5.0, 3.0), Snapshot(12.0, 102.5, 5.5, 4.75)
        seen = meanwhile(before, after, 0.3, 2000.0)
        self.assertEqual((seen.seconds, seen.others, seen.stolen, seen.load), (2.0, 0.75, 0.5, 0.3))

    def test_a_quiet_run_counts_and_is_described(self) -> None:
        run = Judge().judged(run_of(), QUIET)
        self.assertEqual((run.disturbed, run.others_cores, run.stolen_cores, run.mhz), ("", 0.01, 0.0, 2000.0))

    def test_limits(self) -> None:
        self.assertEqual(self.why(replace(QUIET, others=0.16)), "")  # a tick or two are nobody's fault
        self.assertIn("others used 0.18 cores", self.why(replace(QUIET, others=0.18)))
        self.assertEqual(self.why(replace(QUIET, stolen=0.055)), "")
        self.assertIn("the host took 0.07 cores", self.why(replace(QUIET, stolen=0.07)))

    def test_ticks_do_not_disturb_a_short_run(self) -> None:
        self.assertEqual(self.why(replace(QUIET, seconds=0.05, others=0.02, stolen=0.01)), "")

    def test_a_clock_that_fell(self) -> None:
        judge = Judge()
        self.assertEqual(self.why(QUIET, judge=judge), "")
        self.assertIn("1700 of 2000 MHz", self.why(replace(QUIET, mhz=1700.0), judge=judge))
        self.assertEqual(self.why(replace(QUIET, mhz=None), judge=judge), "")

    def test_cores_that_moved_apart(self) -> None:
        judge = Judge()
        self.assertEqual(self.why(QUIET, run_of(hop_ns=30.0), judge), "")
        self.assertEqual(self.why(QUIET, run_of(hop_ns=60.0), judge), "")
        self.assertIn("61 ns apart, at best 30", self.why(QUIET, run_of(hop_ns=61.0), judge))


class Repeating(unittest.TestCase):
    """The machine is not looked at: a judge made for the test says what was disturbed."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hakmem-test-")))
        self.started: list[tuple[str, str, int]] = []

    def make(self, outcome: dict[tuple[str, str], str], disturbed: list[bool], warm_ups: int = 0) -> list[Run]:
        """`disturbed`: one for each process, the last one for all further ones."""
        verdicts = iter(disturbed)

        def start(_context: object, benchmark: Benchmark, allocator: Allocator, number: int, phase: str
                  ) -> tuple[Run, list[Metric]]:
            self.started.append((benchmark.name, allocator.name, number))
            end = outcome.get((benchmark.name, allocator.name), OK)
            return Run(benchmark.name, benchmark.group, allocator.name, number, phase, end, ns=1.0), []

        class Scripted(Judge):
            def judged(self, run: Run, seen: Meanwhile) -> Run:
                return replace(run, disturbed="a test" if next(verdicts, disturbed[-1]) else "")

        progress = Progress(Console(file=StringIO()))
        time_pass = TimePass(None, Recorder(self.folder), progress, {}, start)  # type: ignore[arg-type]
        time_pass.judge = Scripted()
        time_pass.make(list(turns(ROWS, ALLOCATORS, warm_ups, 5)))
        return read_lines(self.folder, Run)

    def test_a_disturbed_run_is_made_again(self) -> None:
        runs = self.make({}, [True, False])
        self.assertEqual((len(runs), runs[0].tries, runs[0].disturbed, runs[1].tries), (30, 2, "", 1))

    def test_after_three_tries_it_is_kept_and_marked(self) -> None:
        runs = self.make({}, [True] * 3 + [False])
        self.assertEqual((runs[0].tries, runs[0].disturbed, runs[1].tries), (1 + MORE_TRIES, "a test", 1))

    def test_a_machine_that_is_never_still_costs_a_third_more_at_most(self) -> None:
        runs = self.make({}, [True])
        self.assertEqual((len(runs), len(self.started)), (30, 39))
        self.assertTrue(all(run.disturbed for run in runs))

    def test_warm_ups_are_not_repeated(self) -> None:
        runs = self.make({}, [True] * 6 + [False], warm_ups=1)
        self.assertEqual(len(self.started), 36)
        self.assertEqual([run.phase for run in runs[:7]], [WARM_UP] * 6 + [COUNTED])

    def test_what_failed_is_not_tried_again_on_that_allocator(self) -> None:
        runs = self.make({("a", "other"): "exited with 1"}, [False])
        self.assertEqual([run.outcome for run in runs if run.outcome != OK], ["exited with 1"])
        self.assertEqual(len([run for run in runs if run.benchmark == "a"]), 11)
        self.assertEqual(len([run for run in runs if run.benchmark == "b"]), 15)


class Time:
    """A clock that only goes on when a process has run."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class WithinABudget(unittest.TestCase):
    """Each process of row a takes a second, of row b three; a round of three allocators takes twelve."""

    def made(self, minutes: float, slow: float = 1.0, warm_ups: int = 1) -> tuple[Counter[tuple[str, str]], str]:
        """Rounds by row and phase, and what was said."""
        clock, said = Time(), StringIO()
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hakmem-test-")))

        def start(_context: object, benchmark: Benchmark, allocator: Allocator, number: int, phase: str
                  ) -> tuple[Run, list[Metric]]:
            clock.now += slow * (1 if benchmark.name == "a" else 3)
            return Run(benchmark.name, benchmark.group, allocator.name, number, phase, OK, ns=1.0), []

        class Quiet(Judge):
            def judged(self, run: Run, seen: Meanwhile) -> Run:
                return run

        progress = Progress(Console(file=said, width=200), clock)
        time_pass = TimePass(None, Recorder(folder), progress, {}, start)  # type: ignore[arg-type]
        time_pass.judge, time_pass.budget = Quiet(), Budget(minutes * 60 or None, clock)
        time_pass.make(list(turns(ROWS, ALLOCATORS, warm_ups, 10)))
        runs = read_lines(folder, Run)
        self.assertLessEqual(clock.now, max(TIME_SHARE * minutes * 60, 24 * slow) if minutes else 132)
        return Counter((run.benchmark, run.phase) for run in runs if run.allocator == "glibc"), said.getvalue()

    def test_without_one_all_rounds_are_made(self) -> None:
        rounds, said = self.made(0)
        self.assertEqual(rounds, {("a", WARM_UP): 1, ("b", WARM_UP): 1, ("a", COUNTED): 10, ("b", COUNTED): 10})
        self.assertNotIn("the time is over", said)

    def test_rounds_stop_when_the_next_does_not_fit(self) -> None:
        rounds, said = self.made(2)  # 81 s: six rounds, one of them to warm up
        self.assertEqual((rounds["a", COUNTED], rounds["b", COUNTED]), (5, 5))
        self.assertIn("the time is over: 5 of 10 rounds were made\n", said)

    def test_rows_are_left_out_so_that_the_others_have_enough(self) -> None:
        rounds, said = self.made(2, slow=2)  # 24 s a round, 6 of them row a's
        self.assertEqual((rounds["b", COUNTED], rounds["a", COUNTED]), (0, 9))
        self.assertIn("left out, so that there is time for 5 rounds of the others: b\n", said)

    def test_a_machine_that_is_far_too_slow(self) -> None:
        rounds, said = self.made(0.5, slow=30, warm_ups=0)
        self.assertEqual(rounds["b", COUNTED], 0)
        self.assertGreaterEqual(rounds["a", COUNTED], 1)

    def test_the_dearest_go_first_and_the_cheapest_stays(self) -> None:
        costs = {"a": 1.0, "b": 5.0, "c": 2.0}
        self.assertEqual([too_dear(costs, 5, left) for left in (40, 39, 14, 0)], [[], ["b"], ["b", "c"], ["b", "c"]])

    def test_signs_of_life_off_a_terminal(self) -> None:
        said = self.made(0)[1].splitlines()
        self.assertGreater(len(said), 8)
        self.assertRegex(said[0], r"\Atime: (warm-up|counted) \d+, [ab] on \w+ \(\d+ of 66, \d+ s left at most\)\Z")


class Reading(unittest.TestCase):
    def test_output_of_a_program(self) -> None:
        values = parse_output("row=pass\nns=3.5\nhop_ns=28\nmalloc=/a folder/l=b.so\nnonsense\n")
        self.assertEqual(values, {"row": "pass", "ns": "3.5", "hop_ns": "28", "malloc": "/a folder/l=b.so"})

    def test_the_twin_needs_more_than_999_in_1000(self) -> None:
        def calls(probed: int, unserved: int) -> Comparison:
            return Comparison(probed, unserved, 0, Counter())

        must_be_served(calls(100_000, 99))
        self.assertAlmostEqual(served_percent(calls(1000, 1)), 99.9)
        for one in (calls(100_000, 100), calls(100_000, 101), calls(0, 0)):
            with self.subTest(calls=one), self.assertRaises(NotProven):
                must_be_served(one)


if __name__ == "__main__":
    unittest.main()
