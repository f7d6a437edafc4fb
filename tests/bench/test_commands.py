"""`hakmem micro` and the programs below it, run as a user would. No figure is judged, only its proof."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["HAK_BUILD"])
FORWARDER = Path(os.environ["HAK_FORWARDER"])
LIBRARY = BUILD / "libhakmem.so"
NOT_PROVEN = 3
BAD_USAGE = 2


def hakmem(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hakmem", *words, "--build", str(BUILD)]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def micro(*words: str) -> subprocess.CompletedProcess[str]:
    return hakmem("micro", "--rounds", "1", "--seconds", "0.01", *words)


def program(name: str, *words: str, preload: Path | None = None) -> subprocess.CompletedProcess[str]:
    variables = dict(os.environ) | ({"LD_PRELOAD": str(preload)} if preload else {})
    return subprocess.run([BUILD / "bench" / name, *words], capture_output=True, text=True, env=variables)


def names_of(listing: str) -> list[str]:
    return [line.split()[0] for line in listing.splitlines()]


class Programs(unittest.TestCase):
    def test_every_row_runs_on_hakmem_and_proves_it(self) -> None:
        rows = names_of(program("hak_micro", "list").stdout)
        self.assertGreaterEqual(len(rows), 13)
        for row in rows:
            with self.subTest(row=row):
                done = program("hak_micro", row, "--seconds", "0", "--proof", preload=LIBRARY)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stderr, "")
                self.assertRegex(done.stdout, rf"^{row} ns=\d")
                self.assertIn("\nhak_owns=yes\n", done.stdout)
                self.assertIn("\nglibc_served=no\n", done.stdout)

    def test_the_proof_names_glibc_when_nothing_is_preloaded(self) -> None:
        proof = program("hak_micro", "pair", "--seconds", "0", "--proof").stdout
        self.assertIn("\nglibc_served=yes\n", proof)
        self.assertIn("\nhak_owns=absent\n", proof)

    def test_contention_counts_futex_calls(self) -> None:
        for pattern in ("burst", "exchange"):
            with self.subTest(pattern=pattern):
                words = (pattern, "16", "--seconds", "0", "--futex", "--proof")
                done = program("hak_contention", *words, preload=LIBRARY)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, rf"^{pattern} threads=16 ns=\S+ .*futex=\d")
                self.assertIn("\nhak_owns=yes\n", done.stdout)

    def test_bad_words_get_one_line(self) -> None:
        for words in ((), ("nonsense",), ("pair", "--nonsense")):
            with self.subTest(words=words):
                done = program("hak_micro", *words)
                self.assertEqual(done.returncode, BAD_USAGE)
                self.assertEqual(len(done.stderr.splitlines()), 1)


class Micro(unittest.TestCase):
    def refused(self, done: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        last = done.stderr.strip().splitlines()[-1]
        self.assertTrue(last.startswith("hakmem: "), last)
        for word in words:
            self.assertIn(word, last)

    def test_one_row_shows_every_allocator(self) -> None:
        done = micro("--filter", "pair")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("hakmem", "glibc", "mimalloc", "jemalloc", "tcmalloc", "pair", "ratio"):
            self.assertIn(word, done.stdout)

    def test_markdown_and_csv_are_written(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("out.md", "out.csv"):
                path = Path(folder) / name
                done = micro("--filter", "pair,lifo", "--allocators", "hakmem,glibc", "--output", str(path))
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("| pair | ", (Path(folder) / "out.md").read_text())
            with (Path(folder) / "out.csv").open() as file:
                cells = {(row["row"], row["allocator"]) for row in csv.DictReader(file)}
        self.assertEqual(cells, {(row, name) for row in ("pair", "lifo_100") for name in ("hakmem", "glibc")})

    def test_a_forwarder_that_claims_to_be_hakmem_is_refused(self) -> None:
        done = micro("--filter", "pair", "--allocators", "hakmem", "--library", str(FORWARDER))
        self.refused(done, NOT_PROVEN, "no figure for hakmem", "served by glibc", FORWARDER.name)

    def test_a_forwarding_peer_is_refused(self) -> None:
        done = micro("--filter", "pair", "--allocators", "other", "--peer", f"other={FORWARDER}")
        self.refused(done, NOT_PROVEN, "no figure for other", "served by glibc")

    def test_another_allocator_is_not_taken_for_hakmem(self) -> None:
        probe = BUILD / "libhakident.so"
        done = micro("--filter", "pair", "--allocators", "hakmem", "--library", str(probe))
        self.refused(done, NOT_PROVEN, "no figure for hakmem", "libc.so.6")

    def test_bad_words_are_refused(self) -> None:
        self.refused(micro("--filter", "nonsense"), BAD_USAGE, "--filter nonsense", "pair")
        self.refused(micro("--allocators", "nonsense"), BAD_USAGE, "--allocators nonsense")
        self.refused(micro("--peer", "x=/nonsense"), BAD_USAGE, "--peer x=/nonsense")
        self.refused(micro("--output", "figures.txt"), BAD_USAGE, "figures.txt")
        self.refused(micro("--output", "/nonsense/figures.md"), BAD_USAGE, "no such folder")
        self.refused(micro("--library", "/nonsense.so"), BAD_USAGE, "/nonsense.so")

    def test_a_crash_is_named_and_the_rest_is_shown(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            crashing = Path(folder) / "crash.so"
            source = "void *malloc(unsigned long n) { return (void *)(n * 0); } void free(void *p) { (void)p; }"
            command = ["gcc", "-shared", "-fPIC", "-fno-builtin", "-xc", "-", "-o", crashing]
            subprocess.run(command, input=source, text=True, check=True)
            done = micro("--filter", "pair", "--allocators", "hakmem,none", "--peer", f"none={crashing}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no figure: pair on none: it exited with 1: bench: malloc returned NULL", done.stdout)


if __name__ == "__main__":
    unittest.main()
