# SPDX-License-Identifier: MIT OR Apache-2.0
"""The search for the worst single call: an allocator with known costs, and runs that are made up."""

from __future__ import annotations

import io
import os
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from hakmem.base.errors import Refusal
from hakmem.process.launch import Launcher
from hakmem.process.peers import Allocator, at_file
from hakmem.process.places import find_places
from hakmem_lab.bench.cell import Benchmark, Context, NotProven
from hakmem_lab.bench.progress import Progress
from hakmem_lab.bench.record import Metric, Recorder, read_lines
from hakmem_lab.bench.worst import (
    CHUNK_CALLS,
    CHUNKS_A_RUN,
    Call,
    Dump,
    Search,
    call_of,
    can_be_searched,
    find_worst,
    read_dumps,
    worst_calls,
    worst_metrics,
    worst_pass,
)

BUILD = Path(os.environ["HAK_BUILD"])
COSTLY = Path(os.environ["HAK_COSTLY"])
FORWARDER = Path(os.environ["HAK_FORWARDER"])
STEADY = Benchmark("steady", "steady", "malloc and free", program=Path(os.environ["HAK_STEADY"]))
SPIN = 2 * 500  # instructions of ROUNDS rounds in costly.c


def malloc_number(nth: int) -> int:
    return 2 * (nth - 1)


def context(folder: str, timeout: float = 100) -> Context:
    places, scratch = find_places(BUILD, None), Path(folder)
    return Context(places, scratch, Launcher(places.launcher, scratch), 0, timeout)


class KnownCosts(unittest.TestCase):
    """steady.c on costly.c."""

    search: Search

    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cls.search = worst_calls(context(folder), STEADY, at_file("costly", COSTLY))

    def call(self, number: int) -> Call:
        return self.search.calls[number]

    def test_calls_up_to_32_kib_are_counted_and_no_others(self) -> None:
        self.assertEqual(sum(cost.calls for kinds in self.search.chunks.values() for cost in kinds.values()), 4000)

    def test_the_worst_malloc(self) -> None:
        worst = self.search.worst("malloc")
        assert worst is not None
        self.assertEqual((worst.number, worst.bytes, worst.kernel_calls), (malloc_number(700), 4008, 0))
        self.assertTrue(2 * SPIN < worst.instructions < 2 * SPIN + 100, worst)
        self.assertEqual(self.search.at_most("malloc"), worst.instructions)

    def test_a_spin_costs_what_it_takes_and_the_others_nothing_of_it(self) -> None:
        spinning = {malloc_number(100 * k) for k in range(1, 21)}
        plain = {c.instructions for c in self.search.of_kind("malloc") if c.number not in spinning}
        self.assertLess(max(plain), 100)
        self.assertTrue(all(SPIN < self.call(number).instructions for number in spinning))

    def test_the_worst_free(self) -> None:
        worst = self.search.worst("free")
        assert worst is not None
        self.assertEqual(worst.number, malloc_number(333) + 1)
        self.assertTrue(3 * SPIN < worst.instructions < 3 * SPIN + 100, worst)
        self.assertEqual(self.search.at_most("free"), worst.instructions)

    def test_kernel_calls_without_the_clock(self) -> None:
        worst = self.search.worst_in_kernel()
        assert worst is not None
        self.assertEqual((worst.number, worst.kernel_calls), (malloc_number(500), 2))
        others = {c.kernel_calls for c in self.search.calls.values() if c != worst}
        self.assertEqual(others, {0})
        self.assertIn(malloc_number(600), self.search.calls)

    def test_functions_are_named_with_what_each_took(self) -> None:
        worst, usual = self.call(malloc_number(700)), self.call(malloc_number(100))
        self.assertEqual(dict(worst.functions)["spin"] - dict(usual.functions)["spin"], SPIN)
        self.assertEqual(sum(count for _, count in worst.functions), worst.instructions)


class OneBenchmark(unittest.TestCase):
    """What a caller gets."""

    def test_metrics(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            metrics = {m.name: m for m in worst_metrics(context(folder), STEADY, at_file("costly", COSTLY))}
        self.assertEqual(metrics["worst_kernel_calls"].value, 2)
        self.assertEqual(metrics["worst_malloc_number"].value, malloc_number(700))
        self.assertEqual(metrics["worst_malloc_bytes"].value, 4008)
        self.assertEqual(metrics["worst_free_instructions"].value, metrics["worst_free_at_most"].value)
        self.assertEqual({m.unit for m in metrics.values()}, {"calls", "instructions", "number", "bytes"})

    def test_the_pass_writes_down_what_it_found_and_says_what_it_did_not(self) -> None:
        said = io.StringIO()
        allocators = [at_file("costly", COSTLY), at_file("forward", FORWARDER)]
        rows = [STEADY, Benchmark("lua", "real", "")]
        with tempfile.TemporaryDirectory() as folder, Progress(Console(file=said)) as progress:
            worst_pass(context(folder), rows, allocators, Recorder(Path(folder) / "results"), progress)
            found = {(m.benchmark, m.allocator) for m in read_lines(Path(folder) / "results", Metric)}
        self.assertEqual(found, {("steady", "costly")})
        self.assertRegex(said.getvalue(), r"(?m)^hakmem: no worst calls of steady on forward: .*served by .*\n\Z")

    def test_a_library_that_hands_the_calls_on_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(NotProven):
            worst_metrics(context(folder), STEADY, at_file("forward", FORWARDER))

    def test_a_program_that_takes_too_long_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(Refusal, "did not end within"):
            worst_metrics(context(folder, timeout=0.05), STEADY, at_file("costly", COSTLY))

    def test_glibc_is_searched_without_a_library(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            search = worst_calls(context(folder), STEADY, Allocator("glibc", None, ""))
        self.assertEqual(search.calls[0].bytes, 4008)

    def test_threads_and_real_programs_are_left_out(self) -> None:
        self.assertTrue(can_be_searched(STEADY))
        self.assertFalse(can_be_searched(Benchmark("two", "steady", "", threads=2, program=STEADY.program)))
        self.assertFalse(can_be_searched(Benchmark("lua", "real", "")))


class MadeUp:
    """A program of mallocs that cost 10 each, some more; `drift` moves them by that many calls in each further run."""

    def __init__(self, calls: int, costs: dict[int, int], drift: int = 0) -> None:
        self.calls, self.costs, self.drift = calls, costs, drift
        self.runs = 0

    def cost(self, number: int) -> int:
        return self.costs.get(number - self.drift * self.runs, 10)

    def dump(self, title: str, numbers: range) -> Dump:
        dump = Dump(title)
        for number in numbers:
            dump.costs["malloc"].add(1, f"0 {self.cost(number)}")
        return dump

    def run(self, chunks: Sequence[int]) -> list[Dump]:
        first = range(0, self.calls, CHUNK_CALLS)
        if not chunks:
            dumps = [self.dump(f"chunk {at // CHUNK_CALLS}", range(at, at + CHUNK_CALLS)) for at in first]
        else:
            opened = [n for chunk in chunks for n in range(chunk * CHUNK_CALLS, (chunk + 1) * CHUNK_CALLS)]
            dumps = [self.dump(f"malloc {n} 16", range(n, n + 1)) for n in opened]
        self.runs += 1
        return dumps


class SearchAlone(unittest.TestCase):
    """find_worst on runs that are made up."""

    def test_a_chunk_of_many_dear_calls_does_not_hide_one_very_dear_call(self) -> None:
        busy = {n: 20 for n in range(1000 * CHUNK_CALLS) if n // CHUNK_CALLS % 10 == 0}
        made_up = MadeUp(2000 * CHUNK_CALLS, busy | {777 * CHUNK_CALLS + 5: 700})
        search = find_worst(made_up.run)
        worst = search.worst("malloc")
        assert worst is not None
        self.assertEqual((worst.number, worst.instructions), (777 * CHUNK_CALLS + 5, 700))
        self.assertEqual(search.at_most("malloc"), 700)

    def test_it_ends_when_no_chunk_can_hold_a_worse_call(self) -> None:
        made_up = MadeUp(300 * CHUNK_CALLS, {5: 5000})
        search = find_worst(made_up.run)
        self.assertEqual(made_up.runs, 2)
        self.assertLessEqual(len(search.opened), CHUNKS_A_RUN)
        self.assertEqual(search.at_most("malloc"), 5000)

    def test_a_call_that_was_not_met_again_counts_as_possible(self) -> None:
        search = find_worst(MadeUp(300 * CHUNK_CALLS, {5: 5000}, drift=CHUNK_CALLS).run)
        self.assertGreaterEqual(search.at_most("malloc"), 5000)

    def test_no_calls_at_all(self) -> None:
        search = find_worst(MadeUp(0, {}).run)
        self.assertIsNone(search.worst("malloc"))
        self.assertEqual(search.at_most("malloc"), 0)


DUMP = """\
desc: Trigger: Program termination
fn=(1) counted_malloc
calls=1 0
0 9
totals: 9
desc: Trigger: Client Request: malloc 3 16
events: Ir sysCount sysTime
ob=(2) /lib/liballocator.so
fn=(5) clock_gettime@@GLIBC_2.17
0 20
fn=(6) malloc.part.0
12 30
+3 4
cfn=(5)
calls=1 8
* 20 1 1
fn=(1) counted_malloc.isra.0
0 8
cfn=(6)
calls=1 12
0 54 3 2
fn=(2) pair_repeat
cfn=(5)
calls=0 0
0 0 2
totals: 62 5
"""


class Reading(unittest.TestCase):
    """callgrind's text."""

    def test_one_call(self) -> None:
        (dump,) = read_dumps(DUMP.splitlines(keepends=True))
        self.assertEqual(call_of(dump), Call("malloc", 3, 16, 54, 2, (("malloc", 34), ("clock_gettime", 20))))


if __name__ == "__main__":
    unittest.main()
