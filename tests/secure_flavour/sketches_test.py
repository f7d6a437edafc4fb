# SPDX-License-Identifier: MIT OR Apache-2.0
"""First steps of attacks (sketches.cpp) on both flavours: what each reaches. `sketches_test.py --table` prints all.

Run with HAK_TEST_LIBRARY (libhakmem-secure.so), HAK_TEST_NORMAL (libhakmem.so) and HAK_TEST_PROGRAM set.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import unittest

SECURE, NORMAL, PROGRAM = (os.environ[f"HAK_TEST_{name}"] for name in ("LIBRARY", "NORMAL", "PROGRAM"))
PROCESSES = 16


def run(library: str, name: str) -> subprocess.CompletedProcess[str]:
    environment = {"LD_PRELOAD": library, "PATH": os.environ["PATH"]}
    return subprocess.run([PROGRAM, name], env=environment, capture_output=True, text=True, timeout=100, check=False)


def outcome(library: str, name: str) -> str:
    """What was printed, and how the process ended: the error's text, or the signal."""
    ended = run(library, name)
    line = re.match(r"hakmem: ([^:]+):", ended.stderr)
    end = line[1] if line else signal.Signals(-ended.returncode).name if ended.returncode < 0 else ""
    return "; ".join(filter(None, [*ended.stdout.split("\n"), end]))


def distances(library: str) -> int:
    """Different distances from the first block to the mapping below, of so many processes."""
    return len({run(library, "distance").stdout for _ in range(PROCESSES)})


def show_table() -> None:
    names = subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout.split()
    print("| sketch | normal flavour | secure flavour |\n|---|---|---|")
    for name in names:
        cells = [f"{distances(each)} of {PROCESSES} differ" if name == "distance" else outcome(each, name)
                 for each in (NORMAL, SECURE)]
        print(f"| {name} | {' | '.join(cells)} |")


class Sketches(unittest.TestCase):
    def test_a_write_into_the_block_behind_is_found_at_a_free(self) -> None:
        self.assertEqual(outcome(SECURE, "overflow").split("; ")[-1], "write beside a block, found at its free")
        self.assertEqual(outcome(NORMAL, "overflow"), "reached; went on")

    def test_a_freed_block_is_not_the_next_one(self) -> None:
        soon = re.fullmatch(r"(\d+), (\d+) of 200", outcome(SECURE, "reuse"))
        assert soon is not None
        self.assertLess(int(soon[2]), 100)
        self.assertEqual(outcome(NORMAL, "reuse"), "200, 200 of 200")

    def test_nothing_of_the_past_is_seen(self) -> None:
        self.assertEqual(outcome(SECURE, "stale"), "0 of 56")
        self.assertEqual(outcome(SECURE, "fresh"), "0 of 224000")
        self.assertEqual(outcome(NORMAL, "stale"), "56 of 56")

    def test_a_big_block_ends_at_a_guard(self) -> None:
        self.assertIn(outcome(SECURE, "big"), ("SIGSEGV", "far apart"))

    def test_the_tables(self) -> None:
        for library in (SECURE, NORMAL):
            self.assertIn(outcome(library, "free_map"), ("free of a pointer hakmem does not own", "none"))
            self.assertNotIn("went on", outcome(library, "write_map"))


if __name__ == "__main__":
    show_table() if "--table" in sys.argv else unittest.main()
