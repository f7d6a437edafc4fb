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
from hakmem_lab.csv_rows import read_rows
from hakmem_lab.lines.building import built
from hakmem_lab.lines.counting import PATTERNS, Counts, Row, count
from hakmem_lab.lines.tables import Line, lines_of

# Blocks are never free again. Before each call stands BEFORE, behind it AFTER.
KNOWN = """\
#include <pthread.h>
static _Alignas(64) struct { long count, used; int lock; pthread_mutex_t mutex; } shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static _Alignas(64) char memory[1 << 26];
void *malloc(unsigned long n) {
  BEFORE;
  char *p = memory + shared.used;
  shared.used += (n + 15) & -16ul;
  AFTER;
  return p;
}
void free(void *p) { (void)p; BEFORE; AFTER; }
"""
ADDITION = ("__atomic_fetch_add(&shared.count, 1, 5)", "")
SPIN = ("while (__atomic_exchange_n(&shared.lock, 1, 2)) {}", "__atomic_store_n(&shared.lock, 0, 3)")
MUTEX = ("pthread_mutex_lock(&shared.mutex)", "pthread_mutex_unlock(&shared.mutex)")


class Lines(Scratch):
    def known(self, parts: tuple[str, str]) -> Allocator:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "known.c").write_text(KNOWN)
        library, names = folder / "libknown.so", [f"-D{name}={text}" for name, text in zip(("BEFORE", "AFTER"), parts)]
        words = ["gcc", "-O2", "-shared", "-fPIC", "-fno-builtin", *names, "-o", library, folder / "known.c", "-lpthread"]
        subprocess.run(words, check=True)
        return Allocator("known", library, "")

    def test_counts_are_exact(self) -> None:
        """Each call has one locked instruction; the counter's line moves once in a turn."""
        for turn in (1, 4):
            counts = count(built(), Row("burst", 2, turn), self.known(ADDITION), 4000)
            self.assertAlmostEqual(counts.locked, 1, 2)
            self.assertEqual(counts.locks, 0)
            self.assertAlmostEqual(counts.stores, 1 / turn, 2)
            self.assertAlmostEqual(counts.loads, 1 / turn, 2)
            self.assertLess(counts.instructions, 20)

    def test_a_lock_is_told_from_a_locked_instruction(self) -> None:
        """Also where libc has both, as with most allocators: its mutex takes two locked instructions."""
        for parts, locked in ((SPIN, 1), (MUTEX, 2)):
            counts = count(built(), Row("burst", 2, 8), self.known(parts), 4000)
            self.assertAlmostEqual(counts.locked, locked, 2)
            self.assertAlmostEqual(counts.locks, 1, 2)
            self.assertLess(counts.longest, 60)

    def test_the_longest_hold_is_found(self) -> None:
        """Of two holds in a call the first; a lock that is not dropped within the call is none."""
        first = ("while (__atomic_exchange_n(&shared.lock, 1, 2)) {} for (int i = 0; i < 500; i++) __asm__ volatile(\"\");"
                 "__atomic_store_n(&shared.lock, 0, 3); while (__atomic_exchange_n(&shared.lock, 1, 2)) {}")
        counts = count(built(), Row("burst", 2, 8), self.known((first, "__atomic_store_n(&shared.lock, 0, 3)")), 4000)
        self.assertAlmostEqual(counts.locks, 2, 2)
        self.assertAlmostEqual(counts.longest, 1000, delta=600)
        counts = count(built(), Row("burst", 2, 8), self.known(("__atomic_exchange_n(&shared.lock, shared.lock + 1, 2)", "")), 4000)
        self.assertEqual((counts.locks, counts.longest), (0, 0))

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
        found = {(row, "hakmem"): Counts(10, 0.5, 0.1, 0, 0, 9), (row, "a"): Counts(20, 0.25, 0.1, 0, 0, 8), (row, "b"): None}
        text = "\n".join(lines_of([row], ["hakmem", "a", "b"], found))
        self.assertIn("HAKMEM has the least in 0 of 1 rows; more than the best peer in: burst 2 by 8 (a)", text)
        self.assertIn("| burst, 2 | 10.0 | 20.0 | – |", text)

    def test_of_several_turns_all_are_shown(self) -> None:
        rows = [Row("burst", 2, turn) for turn in (1, 8, 64)]
        found = {(row, name): Counts(row.turn + more, 0, 0, 0, 0, 0) for row in rows for name, more in (("hakmem", 0), ("a", 1))}
        text = "\n".join(lines_of(rows, ["hakmem", "a"], found))
        self.assertIn("| burst, 2 | 8.0 | 9.0 |", text)
        self.assertIn("| burst, 2 | 1.0, 8.0, 64.0 | 2.0, 9.0, 65.0 |", text)

    def test_the_csv_has_every_row(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        done = lab("lines", "--patterns", "burst", "--threads", "2", "--turns", "1,8", "--allocators", "hakmem,glibc",
                   "--calls", "2000", "--output", str(folder / "lines.csv"))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = read_rows(folder / "lines.csv", Line, "hakmem-lab lines")
        self.assertEqual({(one.turn, one.allocator) for one in found}, {(1, "hakmem"), (8, "hakmem"), (1, "glibc"), (8, "glibc")})

    def test_the_command(self) -> None:
        for wrong in (("--patterns", "rigns"), ("--threads", "3"), ("--turns", "0"), ("--allocators", "none")):
            done = lab("lines", *wrong)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)


if __name__ == "__main__":
    unittest.main()
