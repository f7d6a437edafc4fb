# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every program of tests/wrongfree on libhakmem-secure.so: each ends at its call, with one line that names the caller.

Run with HAK_TEST_LIBRARY (libhakmem-secure.so) and HAK_TEST_PROGRAMS (the folder of tests/wrongfree's programs) set.
"""

import re
import signal
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "wrongfree"))

from wrongfree_test import CASES, CHECKED, DOUBLE, INTERIOR, RUNS, Wrong, expected_line, run  # noqa: E402

# What the state of each 16 bytes tells, and the normal flavour does not: that a run was freed before.
SECURE = {
    "double_free_run": Wrong(DOUBLE, "none"), "double_free_large": Wrong(DOUBLE, "none"),
    "double_free_run_at_once": Wrong(DOUBLE, "none"), "double_free_run_one_between": Wrong(DOUBLE, "none"),
    "realloc_given_back": Wrong(DOUBLE, "none"), "double_free_of_mid": Wrong(DOUBLE, "none"),
    "interior_run_to_magazine": Wrong(INTERIOR, "none"),
}  # a block of 32 KiB is a run here: its canary needs 8 bytes more


class WrongFree(unittest.TestCase):
    def test_every_kind_ends_at_its_call(self) -> None:
        for name, wrong in (CASES | RUNS | CHECKED | SECURE).items():
            with self.subTest(name):
                result = run(name)
                self.assertEqual(result.returncode, -signal.SIGABRT, f"{name} was not stopped: {result.stderr!r}")
                pointer, start, end = result.stdout.split()
                match = expected_line(Wrong(wrong.text, wrong.block_class), pointer).fullmatch(result.stderr)
                assert match is not None, f"{name} (pointer {pointer}) said {result.stderr!r}"
                self.assertTrue(int(start, 16) <= int(match[1], 16) < int(end, 16), f"caller of {name}: {match[0]}")

    def test_malloc_inside_malloc(self) -> None:
        result = run("reentry")
        self.assertEqual(result.returncode, -signal.SIGABRT, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertTrue(re.match(r"hakmem: malloc or free called again inside itself", result.stderr), result.stderr)

    def test_right_frees_pass(self) -> None:
        result = run("right_frees")
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
