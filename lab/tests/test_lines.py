# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab lines`: exact counts of a library that is known, and HAKMEM's beside it."""

from __future__ import annotations

import subprocess
import tempfile
import unittest
from pathlib import Path

from laboratory import lab
from support import Scratch

from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator, hakmem_at
from hakmem_lab.lines.building import built
from hakmem_lab.lines.counting import PATTERNS, Counts, Row, count
from hakmem_lab.lines.tables import lines_of

# Each call adds one to a counter that all threads share, by a locked instruction.
KNOWN = """\
void *__libc_malloc(unsigned long);
void __libc_free(void *);
static _Alignas(64) long counter[8];
void *malloc(unsigned long n) { __atomic_fetch_add(counter, 1, 5); return __libc_malloc(n); }
void free(void *p) { __atomic_fetch_add(counter, 1, 5); __libc_free(p); }
"""


class Lines(Scratch):
    def known(self) -> Allocator:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "known.c").write_text(KNOWN)
        library = folder / "libknown.so"
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-fno-builtin", "-o", library, folder / "known.c"], check=True)
        return Allocator("known", library, "")

    def test_counts_are_exact(self) -> None:
        """Each call has one locked instruction; the counter's line moves once in a turn."""
        for turn in (1, 4):
            counts = count(built(), Row("burst", 2, turn), self.known(), 4000)
            self.assertAlmostEqual(counts.locked, 1, 2)
            self.assertAlmostEqual(counts.stores, 1 / turn, 2)
            self.assertAlmostEqual(counts.loads, 1 / turn, 2)
            self.assertLess(counts.instructions, 20)

    def test_every_pattern_runs_on_hakmem(self) -> None:
        hakmem = hakmem_at(self.places.so_file)
        assert isinstance(hakmem, Allocator)
        for pattern in PATTERNS:
            counts = count(built(), Row(pattern, 4, 8), hakmem, 4000)
            self.assertGreater(counts.instructions, 13, pattern)

    def test_another_allocator_has_no_figure(self) -> None:
        other = Allocator("other", self.places.identity_probe, "")
        with self.assertRaisesRegex(Refusal, "something else"):
            count(built(), Row("burst", 2, 8), other, 2000)

    def test_rows_behind_are_named(self) -> None:
        row = Row("burst", 2, 8)
        found = {(row, "hakmem"): Counts(10, 0.5, 0, 0), (row, "a"): Counts(20, 0.25, 0, 0), (row, "b"): None}
        text = "\n".join(lines_of([row], ["hakmem", "a", "b"], found))
        self.assertIn("HAKMEM has the least in 0 of 1 rows; more than the best peer in: burst 2 (a)", text)
        self.assertIn("| burst, 2, 8 | 10.0 | 20.0 | – |", text)

    def test_the_command(self) -> None:
        for wrong in (("--patterns", "rigns"), ("--threads", "3"), ("--turns", "0"), ("--allocators", "none")):
            done = lab("lines", *wrong)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)


if __name__ == "__main__":
    unittest.main()
