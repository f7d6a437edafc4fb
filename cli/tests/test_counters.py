# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counters files and the comparison with the probe's counts."""

from __future__ import annotations

import struct
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from hakmem.process.counters import Calls, calls_of, compare, parse_counts, read_counts
from hakmem.process.proof import Record
from hakmem.reading.mapped import is_of


def counters_file(row_bytes: int = 32, **rows: int) -> bytes:
    pad = bytes(row_bytes - 32)
    body = b"".join(struct.pack("<24sQ", name.encode(), value) + pad for name, value in rows.items())
    return struct.pack("<8sII", b"HAKCNT01", len(rows), row_bytes) + body


def record(pid: int, allocs: int, frees: int) -> Record:
    return Record(pid, allocs, frees, 0, False, frozenset(), "/bin/x", "/lib/h.so", "/lib/h.so")


class Files(unittest.TestCase):
    def test_rows_by_name(self) -> None:
        self.assertEqual(parse_counts(counters_file(alloc_big=3, free_big=2)), Counter(alloc_big=3, free_big=2))

    def test_longer_rows_of_a_newer_library(self) -> None:
        self.assertEqual(parse_counts(counters_file(row_bytes=48, alloc_big=3, free_big=2))["free_big"], 2)

    def test_anything_else_counts_nothing(self) -> None:
        whole = counters_file(alloc_big=3)
        for data in (b"", b"HAKCNT01", whole[:-1], b"X" + whole[1:], struct.pack("<8sII", b"HAKCNT01", 9, 0)):
            with self.subTest(data=data):
                self.assertEqual(parse_counts(data), Counter())

    def test_one_file_per_process(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            stem = Path(folder) / "counts"
            Path(f"{stem}.7").write_bytes(counters_file(alloc_big=1))
            Path(f"{stem}.8").write_bytes(counters_file(alloc_big=2))
            Path(f"{stem}.8.1").write_bytes(counters_file(alloc_big=4))
            for other in ("other", "8.0x5.new", "9.1.new"):
                Path(f"{stem}.{other}").write_bytes(counters_file(alloc_big=9))
            self.assertEqual({pid: counts["alloc_big"] for pid, counts in read_counts(stem).items()}, {7: 1, 8: 6})

    def test_what_is_of_a_process(self) -> None:
        for path, of in (("/a/x.7", True), ("/a/x.7.1", True), ("/a/x.1.7", True), ("/a/x.8.1", False), ("/a.7/x", False),
                         ("/a/x.7.windows", False)):
            self.assertEqual(is_of(path, {"7"}), of, path)


class Comparing(unittest.TestCase):
    def test_every_route_counts_once_and_nothing_else_does(self) -> None:
        routes = Counter(
            alloc_magazine=1, alloc_depot=2, alloc_slab=4, alloc_large=8, alloc_big=16, alloc_in_place=32,
            alloc_failed=64, free_magazine=1, free_depot=2, free_slab=4, free_large=8, free_big=16, free_null=32,
            free_local=1000, free_remote=1000, kernel_map=1000, big_hits=1000,
        )
        self.assertEqual(calls_of(routes), Calls(127, 63))

    def test_agreement(self) -> None:
        found = compare([record(7, 5, 4)], {7: Counter(alloc_slab=5, free_slab=4)})
        self.assertEqual((found.probed, found.unserved, found.unseen), (9, 0, 0))

    def test_frees_do_not_make_up_for_allocations(self) -> None:
        found = compare([record(7, 5, 4)], {7: Counter(alloc_slab=4, free_slab=5)})
        self.assertEqual((found.unserved, found.unseen), (1, 1))

    def test_one_process_does_not_make_up_for_another(self) -> None:
        counts = {7: Counter(alloc_slab=3), 8: Counter(alloc_slab=7)}
        self.assertEqual(compare([record(7, 5, 0), record(8, 5, 0)], counts).unserved, 2)

    def test_a_process_without_counters_was_not_served(self) -> None:
        self.assertEqual(compare([record(7, 5, 4)], {}).unserved, 9)

    def test_programs_executed_in_one_process_are_added_up(self) -> None:
        found = compare([record(7, 5, 4), record(7, 1, 1)], {7: Counter(alloc_slab=6, free_slab=5)})
        self.assertEqual((found.probed, found.unserved), (11, 0))


if __name__ == "__main__":
    unittest.main()
