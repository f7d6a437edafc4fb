# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab judge`: its verdicts on figures that are known, its rows, and one small program from end to end."""

from __future__ import annotations

import signal
import tempfile
import unittest
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from io import StringIO
from pathlib import Path
from unittest import mock

from laboratory import lab
from support import Scratch

from hakmem.base.errors import Refusal, Stopped
from hakmem.process.peers import Allocator, find_allocators
from hakmem_lab.judge import rows, table, verdict
from hakmem_lab.judge.report import report
from hakmem_lab.judge.rows import Row
from hakmem_lab.judge.counted import count_all
from hakmem_lab.judge.order import Wishes, columns
from hakmem_lab.judge.regimes import system_mode
from hakmem_lab.judge.session import Order, finalists, measure_all, turns
from hakmem_lab.pareto.configurations import Configuration
from hakmem_lab.pareto.programs import Real


def runs(program: str, allocator: str, ms: list[float]) -> list[Row]:
    return [Row(program, "ready", allocator, allocator, "aa", "", number, rows.OK, round(1000 * cpu), 0, 0, 10, 2048, "d")
            for number, cpu in enumerate(ms, start=1)]


class Verdicts(unittest.TestCase):
    def judged(self, *found: list[Row]) -> verdict.Duel:
        every = verdict.runs_of((row for one in found for row in one), "ready")
        (duel,) = verdict.duels(every, "hakmem", ["a", "b"])
        return duel

    def test_the_best_peer_of_odd_rounds_is_judged_on_even_ones(self) -> None:
        """`a` is best in odd rounds; what it and `b` take in even ones does not choose."""
        duel = self.judged(runs("p", "hakmem", [100, 12, 100, 11]), runs("p", "a", [8, 10, 8, 20]), runs("p", "b", [9, 1, 9, 1]))
        self.assertEqual((duel.peer, duel.ratio, duel.low, duel.verdict), ("a", 1.1, None, "open"))

    def test_a_verdict_is_of_the_whole_interval(self) -> None:
        peer = runs("p", "a", [10, 10, 10, 10, 10, 10])
        for even, word in (([20, 21, 22], "lost"), ([9, 21, 22], "open"), ([8, 8.1, 8.2], "ahead"),
                           ([10, 10.1, 10.2], "level"), ([10.2, 10.4, 10.5], "near")):
            ours = [cpu for one in even for cpu in (0, one)]
            self.assertEqual(self.judged(runs("p", "hakmem", ours), peer).verdict, word)

    def test_a_least_of_many_rounds_meets_no_least_of_few(self) -> None:
        every = verdict.runs_of([*runs("p", "a", [9, 9, 1]), *runs("p", "b", [9, 9])], "ready")
        self.assertEqual(verdict.against(verdict.common(every, ["a", "b"]), "a", "b", verdict.least_cpu), 1)

    def test_without_an_even_round_there_is_no_verdict(self) -> None:
        every = verdict.runs_of([*runs("p", "hakmem", [1]), *runs("p", "a", [1])], "ready")
        self.assertEqual(verdict.duels(every, "hakmem", ["a"]), [])

    def test_means_are_over_programs_that_both_have(self) -> None:
        every = verdict.runs_of([*runs("p", "a", [4]), *runs("p", "b", [1]), *runs("q", "a", [1])], "ready")
        self.assertEqual(verdict.against(every, "a", "b", verdict.least_cpu), 4)
        self.assertIsNone(verdict.against(every, "a", "c", verdict.least_cpu))


class Sessions(Scratch):
    TINY = Real("tiny", "-", (), ("/bin/sh", "-c", "echo $((6 * 7))"), "dash")

    def test_from_end_to_end(self) -> None:
        """What is done is not done again, and a program that fails has a row that says why."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        found, _ = find_allocators(self.places.so_file, [])
        both = [Configuration(one.name, one) for one in found if one.name in ("hakmem", "glibc")]
        broken = Real("broken", "-", (), ("/bin/sh", "-c", "exit 3"), "dash")
        order = Order([self.TINY, broken], both, "asis", 2, 60, folder / "rows.csv")
        self.assertEqual(measure_all(self.places, order), 1)
        done = rows.read(order.output)
        self.assertEqual([(row.program, row.round) for row in done], [("tiny", 1)] * 2 + [("tiny", 2)] * 2)
        self.assertEqual(len({row.digest for row in done}), 1)
        self.assertTrue(all(row.faults > 0 and row.peak_kib > 0 for row in done))
        self.assertEqual({turn.program.name for turn in turns(order, 2)}, {"broken"})
        with redirect_stdout(StringIO()) as said:
            report(order.output)
        self.assertIn("hakmem: CPU ÷ best peer", said.getvalue())
        self.assertIn("| tiny | open |", said.getvalue())

    def order_of(self, rounds: int, minutes: float, *names: str) -> Order:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        ours = [Configuration(name, Allocator(name, None, "", "aa")) for name in names]
        return Order([self.TINY], ours, "ready", rounds, 60, folder / "rows.csv", minutes)

    def test_after_two_rounds_the_best_three_peers_go_on(self) -> None:
        order = self.order_of(4, 0, "hakmem", "hakmem-copy", "a", "b", "glibc", "c", "d")
        for name, cpu in (("hakmem", 9), ("hakmem-copy", 9), ("a", 5), ("b", 4), ("glibc", 8), ("c", 3), ("d", 2)):
            for row in runs("tiny", name, [cpu, 7, 1]):
                rows.append(order.output, row)
        found = {turn.configuration.name for turn in turns(order, 4)}
        self.assertEqual(found, {"hakmem", "hakmem-copy", "b", "glibc", "c", "d"})
        self.assertEqual(len(finalists(order, {})), 6)

    def test_rounds_are_added_while_a_verdict_is_open(self) -> None:
        for ms, goes_on in (([10, 10, 10, 20, 10, 30], True), ([10] * 6, False), ([10, 10, 10, 10], True)):
            order = self.order_of(len(ms), 1, "hakmem", "glibc")
            for name in ("hakmem", "glibc"):
                for row in runs("tiny", name, ms if name == "hakmem" else [10] * 6):
                    rows.append(order.output, row)
            self.assertEqual(bool(turns(order, len(ms) + 1)), goes_on, ms)

    def test_minutes_begin_after_the_rounds(self) -> None:
        """Two rounds take longer than the minutes, and leave a verdict open."""
        found, _ = find_allocators(self.places.so_file, [])
        both = [Configuration(one.name, one) for one in found if one.name in ("hakmem", "glibc")]
        slow = replace(self.TINY, words=("/bin/sh", "-c", "sleep 0.3; echo 42"))
        for minutes, added in ((0, False), (0.01, True)):
            order = replace(self.order_of(2, minutes), configurations=both, regime="asis", programs=[slow])
            self.assertEqual(measure_all(self.places, order), 0)
            self.assertEqual(max(row.round for row in rows.read(order.output)) > 2, added)

    def test_instructions_are_counted(self) -> None:
        """Of all processes, proven, and the same within a thousandth in a second run."""
        found, _ = find_allocators(self.places.so_file, [])
        ours = [Configuration(one.name, one) for one in found if one.name == "hakmem"]
        order = replace(self.order_of(1, 0), configurations=ours, regime="counted")
        self.assertEqual(count_all(self.places, order), 0)
        self.assertEqual(count_all(self.places, replace(order, output=order.output.with_name("again"))), 0)
        once, again = (rows.read(path)[0].instructions for path in (order.output, order.output.with_name("again")))
        self.assertGreater(once, 100000)
        self.assertAlmostEqual(once / again, 1, 3)
        with redirect_stdout(StringIO()) as said:
            report(order.output)
        self.assertIn("| instructions |", said.getvalue())

    def test_the_mode_of_huge_pages_is_put_back(self) -> None:
        """After an error and a signal, too; a second judge is refused meanwhile."""
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "enabled"
        for end in (None, Refusal("no"), Stopped(signal.SIGTERM)):
            file.write_text("always [madvise] never")
            with suppress(Refusal, Stopped), system_mode("always", file):
                self.assertEqual(file.read_text(), "always")
                with self.assertRaisesRegex(Refusal, "another judge"), system_mode("always", file):
                    self.fail("both")
                if end is not None:
                    raise end
            self.assertEqual(file.read_text(), "madvise", end)

    def test_a_mode_that_cannot_be_set_is_refused(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "odd").write_text("off")
        for name, said in (("none", "No such file"), ("odd", "names no mode")):
            with self.assertRaisesRegex(Refusal, said), system_mode("always", folder / name):
                self.fail(name)
        with system_mode("ready", folder / "none"):
            pass

    def test_a_steered_peer_runs_with_its_variable(self) -> None:
        """And no other does, not even where the caller has it: the program fails without."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        found, _ = find_allocators(None, [])
        wishes = Wishes(1, 1, "asis", None, [], "glibc,glibc-huge", [], folder / "rows.csv", 60)
        both = columns(found, wishes, counts=False)
        self.assertEqual([one.name for one in both], ["glibc", "glibc-huge"])
        asks = replace(self.TINY, words=("/bin/sh", "-c", 'test "$GLIBC_TUNABLES" = glibc.malloc.hugetlb=1'))
        order = Order([asks], both, "asis", 1, 60, wishes.output)
        with mock.patch.dict("os.environ", {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}):
            self.assertEqual(measure_all(self.places, order), 1)
        (row,) = rows.read(order.output)
        self.assertEqual((row.configuration, row.allocator, row.settings),
                         ("glibc-huge", "glibc-huge", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"))

    def test_another_allocator_has_no_row(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        glibc = next(one for one in find_allocators(None, [])[0] if one.name == "glibc")
        env = Real("env", "-", (), ("/usr/bin/env", f"LD_PRELOAD={self.places.identity_probe} {self.places.so_file}",
                                    "/bin/true"), "true")
        order = Order([env], [Configuration("glibc", glibc)], "asis", 1, 60, folder / "rows.csv")
        self.assertEqual(measure_all(self.places, order), 1)
        self.assertEqual(rows.read(order.output), [])

    def test_damaged_rows_are_refused(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        file = folder / "rows.csv"
        rows.append(file, runs("p", "a", [1])[0])
        whole = file.read_text()
        for text in ("", "a,b\n", whole.replace("2048", "x")):
            file.write_text(text)
            with self.assertRaises(Refusal):
                rows.read(file)

    def test_every_input_is_made(self) -> None:
        for row in table.PROGRAMS:
            for text in row.files.values():
                self.assertGreater(len(text()), 100, row.name)

    def test_the_command(self) -> None:
        self.assertEqual(lab("judge", "--list").returncode, 0)
        taken = ("--config", "glibc-huge:price=speed", "--allocators", "glibc")  # a name of a column, if of another call's
        for wrong in (taken, ("--programs", "xmlint"), ("--config", "a:prize=1"), ("--allocators", "none"), ("--regime", "cold")):
            done = lab("judge", *wrong, "--output", "/no/such/folder/x.csv")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertEqual(lab("judge", "report", "/no/such.csv").returncode, 2)


if __name__ == "__main__":
    unittest.main()
