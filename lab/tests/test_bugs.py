# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab bugs`: verdicts of runs, and the errors that HAKMEM's flavours are known to find."""

from __future__ import annotations

import unittest

from laboratory import lab
from support import BUILD

from hakmem_lab.bugs.table import Outcome, cell, summary


def outcome(words: str, status: int) -> Outcome:
    return Outcome(frozenset(words.split()), status)


class Verdicts(unittest.TestCase):
    def test_when_and_what(self) -> None:
        self.assertEqual(outcome("", -6).verdict, "at once")
        self.assertEqual(outcome("done", -11).verdict, "later")
        self.assertEqual(outcome("done end", 0).verdict, "passes")
        self.assertEqual(outcome("damages done end", 0).verdict, "passes, damages")
        self.assertEqual(outcome("leaks done end", 1).verdict, "later, leaks")

    def test_runs_that_differ(self) -> None:
        found, passed = outcome("", -6), outcome("done end", 0)
        self.assertEqual(cell([found, found]), "at once")
        self.assertEqual(cell([found, passed, found]), "at once (2 of 3)")
        self.assertEqual(summary(["at once", "at once (2 of 3)", "later, damages", "passes"]), "2 at once, 1 later")


class Table(unittest.TestCase):
    def test_hakmem(self) -> None:
        ended = lab("bugs", "--runs", "1", "--allocators", "hakmem,glibc", "--build", str(BUILD))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        rows = {cells[1].strip(): [cell.strip() for cell in cells[2:6]]
                for line in ended.stdout.splitlines() if (cells := line.split("|"))[0] == "" and len(cells) > 5}
        self.assertEqual(rows["error"][:3], ["hakmem", "hakmem, checks=on", "hakmem, guard_bytes=1"])
        self.assertEqual(rows["double free with one between"][:3], ["later", "at once", "at once"])
        self.assertEqual(rows["write after free"][:3], ["passes", "passes", "at once"])
        self.assertEqual(rows["free of the stack"][:3], ["at once"] * 3)

    def test_no_such_allocator(self) -> None:
        ended = lab("bugs", "--allocators", "nothing")
        self.assertEqual(ended.returncode, 2)
        self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)


if __name__ == "__main__":
    unittest.main()
