# SPDX-License-Identifier: MIT OR Apache-2.0
"""A suite's output becomes verdicts, and verdicts of two sides are judged: what differs is explained, unsteady or told."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from judges import cpython, mimalloc, postgresql, redis, ruby  # noqa: E402
from judging.record import Row, keep, kept  # noqa: E402
from judging.side import TIMED_OUT, Ran, opened, processes_served  # noqa: E402
from judging.verdicts import Difference, Verdicts, compared, counts, parse_table, read_table  # noqa: E402

SUITES = Path(__file__).resolve().parent


def never(unit: str) -> tuple[Verdicts, Verdicts]:
    raise AssertionError(f"{unit} ran again")


class Reading(unittest.TestCase):
    def test_redis_takes_colours_values_and_places_out_of_names(self) -> None:
        text = ("[\x1b[0;32;49mok\x1b[0m]: PING (3 ms)\n[ok]: 12 keys use 3.5 bytes (9 ms)\n[ok]: 14 keys use 3.1 bytes (9 ms)\n"
                "[err]: Defrag in tests/unit/x.tcl\n[ignore]: Big: Tag: large\n[1/1 done]: unit/x (2 seconds)\n")
        self.assertEqual(redis.verdicts_of("u", Ran(1, text)), {
            ("u", "the run"): "ok", ("u", "PING"): "ok", ("u", "N keys use N bytes"): "ok", ("u", "Defrag"): "failed",
            ("u", "Big: Tag: large"): "skipped"})

    def test_ruby_knows_failures_by_their_list_and_a_crash_by_the_status(self) -> None:
        text = ("[ 1/3] TestGc#test_a = 0.00 s\n[ 2/3] TestGc#test_b = 0.10 s\n[ 3/3] TestGc#test_c = 0.10 s\n\n"
                "  1) Failure:\nTestGc#test_b [/x/test_gc.rb:3]:\nno\n\n  2) Skipped:\nTestGc#test_c [/x/test_gc.rb:9]:\nnot here\n")
        self.assertEqual(ruby.verdicts_of("u", Ran(-11, text)), {
            ("u", "the run"): "signal 11", ("u", "TestGc#test_a"): "ok", ("u", "TestGc#test_b"): "failed",
            ("u", "TestGc#test_c"): "skipped"})

    def test_cpython_has_cases_and_a_crash_of_the_whole(self) -> None:
        report = ('<testsuites><testsuite><testcase name="test.test_gc.A.one"/><testcase name="test.test_gc.A.two"><failure/></testcase>'
                  '<testcase name="test.test_gc.A.three"><skipped/></testcase></testsuite></testsuites>')
        self.assertEqual(cpython.verdicts_of("test_gc", Ran(2, "0:00:01 load avg: 1.0 [1/1/1] test_gc failed (1 failure)\n"), report), {
            ("test_gc", "as a whole"): "failed", ("test_gc", "A.one"): "ok", ("test_gc", "A.two"): "failed",
            ("test_gc", "A.three"): "skipped"})
        self.assertEqual(cpython.verdicts_of("test_gc", Ran(2, "0:00:01 [1/1/1] test_gc crashed (Exit code -11)\n"), ""),
                         {("test_gc", "as a whole"): "crashed"})

    def test_postgresql_reads_both_forms_of_a_line(self) -> None:
        text = "test tablespace                   ... ok          304 ms\n     boolean                      ... FAILED       59 ms\n"
        self.assertEqual(postgresql.verdicts_of("u", Ran(1, text)),
                         {("u", "the run"): "ok", ("u", "tablespace"): "ok", ("u", "boolean"): "failed"})

    def test_mimalloc_passes_over_what_a_case_prints(self) -> None:
        text = "test: a...  ok.\ntest: b...  usable: 3\nok.\ntest: c...  \n  FAILED: c: f.c:3\n"
        self.assertEqual(mimalloc.verdicts_of("u", Ran(TIMED_OUT, text)),
                         {("u", "the run"): "timed out", ("u", "a"): "ok", ("u", "b"): "ok", ("u", "c"): "failed"})


class Judging(unittest.TestCase):
    def test_alike_is_not_run_again(self) -> None:
        found = compared({("u", "a"): "failed"}, {("u", "a"): "failed"}, {}, never, 2)
        self.assertEqual((found.unexplained, found.explained, found.unsteady), ([], {}, set()))

    def test_a_lasting_difference_is_told_and_a_passing_one_is_unsteady(self) -> None:
        there = {("u", "a"): "ok", ("u", "b"): "ok", ("v", "c"): "ok"}
        here = {("u", "a"): "failed", ("u", "b"): "failed"}
        found = compared(there, here, {}, lambda unit: ({("u", "a"): "ok", ("u", "b"): "ok"}, {("u", "a"): "failed", ("u", "b"): "ok"})
                         if unit == "u" else ({("v", "c"): "ok"}, {}), 2)
        self.assertEqual(found.unexplained, [Difference("u", "a", "ok", "failed"), Difference("v", "c", "ok", "absent")])
        self.assertEqual(found.unsteady, {("u", "b")})

    def test_an_explanation_holds_for_the_verdicts_that_it_names(self) -> None:
        table = parse_table(["# words", "u | a | ok | failed | as it should", "v | * | ok | skipped | all of it | here"])
        here = {("u", "a"): "failed", ("v", "b"): "skipped"}
        found = compared({("u", "a"): "ok", ("v", "b"): "ok"}, here, table, never, 2)
        self.assertEqual(list(found.explained.values()), ["as it should", "all of it | here"])
        crashed = {("u", "a"): "signal 11"}
        found = compared({("u", "a"): "ok"}, crashed, table, lambda unit: ({("u", "a"): "ok"}, crashed), 1)
        self.assertEqual(found.unexplained, [Difference("u", "a", "ok", "signal 11")])

    def test_a_line_without_a_reason_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "u | a | ok"):
            parse_table(["u | a | ok | failed"])

    def test_every_list_of_differences_can_be_read(self) -> None:
        for path in sorted((SUITES / "differences").glob("*.txt")):
            with self.subTest(path.name):
                self.assertTrue((SUITES / "judges" / f"{path.stem}.py").is_file())
                self.assertTrue(read_table(path))

    def test_counts_begin_with_what_passed(self) -> None:
        self.assertEqual(counts({("u", str(n)): word for n, word in enumerate(["skipped", "status 1", "ok", "failed", "ok"])}),
                         "2 ok, 1 skipped, 1 failed, 1 status 1")


class Sides(unittest.TestCase):
    def test_a_process_without_hakmem_is_not_counted_and_a_sleeper_is_ended(self) -> None:
        with tempfile.TemporaryDirectory() as scratch, opened("hakmem", "libc.so.6", Path(scratch) / "run") as side:
            ran = side.run("sh", "-c", "echo begun; sleep 100", limit_s=1)
            self.assertEqual((ran.status, ran.text, processes_served(side)), (TIMED_OUT, "begun\n", 0))
            self.assertEqual(side.run("sh", "-c", "kill -SEGV $$").ending(), "signal 11")


class Recording(unittest.TestCase):
    def test_a_row_takes_the_place_of_the_suites_earlier_row(self) -> None:
        row = Row("redis", "redis", "redis-server 7", "all", 2, 3, "3 ok", "2 ok, 1 failed", 9, 0, "2026-11-29", [],
                  [["u", "a", "ok", "failed"]])
        with tempfile.TemporaryDirectory() as scratch:
            for name in ("redis", "cpython", "redis"):
                keep(Path(scratch), Row(**(vars(row) | {"name": name})))
            self.assertEqual(sorted(kept(Path(scratch))), ["cpython", "redis"])
            self.assertIn("| u | a | ok | failed | **not explained** |", (Path(scratch) / "suites.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
