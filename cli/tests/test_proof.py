# SPDX-License-Identifier: MIT OR Apache-2.0
"""The records of the probe libraries, and the launcher's list beside them."""

from __future__ import annotations

import struct
import tempfile
import unittest
from pathlib import Path

from hakmem.process.proof import (
    RECORD_BYTES,
    USED_BYTES,
    Executed,
    Record,
    count_children,
    parse_record,
    read_executed,
    read_records,
    without_record,
)


def record_bytes(pid: int = 7, forks: int = 0, forked: tuple[int, ...] = (), magic: bytes = b"HAKPRF01") -> bytes:
    header = struct.pack("<8sIIQQQQQ", magic, RECORD_BYTES, 1, pid, 5, 4, forks, 1).ljust(1024, b"\0")
    pids = struct.pack(f"<{len(forked)}I", *forked).ljust(4096, b"\0")
    paths = b"".join(path.ljust(1024, b"\0") for path in (b"/bin/x", b"/lib/m.so", b"/lib/f.so"))
    return header + pids + paths


def record(pid: int, forks: int = 0, forked: tuple[int, ...] = ()) -> Record:
    return Record(pid, 0, 0, forks, True, frozenset(forked), "/bin/x", "/lib/h.so", "/lib/h.so")


class Records(unittest.TestCase):
    def test_fields(self) -> None:
        expected = Record(7, 5, 4, 2, True, frozenset({8, 9}), "/bin/x", "/lib/m.so", "/lib/f.so")
        self.assertEqual(parse_record(record_bytes(forks=2, forked=(8, 9))), expected)

    def test_malloc_and_free_must_both_be_the_library(self) -> None:
        found = parse_record(record_bytes())
        assert found is not None
        self.assertFalse(found.served_by(Path("/lib/m.so")))
        self.assertIn("/lib/m.so (malloc) and /lib/f.so (free)", found.server)

    def test_unfinished(self) -> None:
        self.assertIsNone(parse_record(record_bytes(magic=bytes(8))))

    def test_a_file_holds_one_record_per_executed_program(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            stem = Path(folder) / "proof"
            padding = bytes(RECORD_BYTES - USED_BYTES)
            Path(f"{stem}.7").write_bytes(record_bytes() + padding + record_bytes() + padding)
            Path(f"{stem}.8").write_bytes(record_bytes(pid=8)[:100])
            self.assertEqual([found.pid for found in read_records(stem)], [7, 7])


class Children(unittest.TestCase):
    def test_none(self) -> None:
        self.assertEqual(count_children([record(7)], 7), 0)

    def test_forked_and_executing_is_one_child(self) -> None:
        self.assertEqual(count_children([record(7, 2, (8, 9)), record(8)], 7), 2)

    def test_spawned_without_fork(self) -> None:
        self.assertEqual(count_children([record(7), record(8), record(9)], 7), 2)

    def test_more_forks_than_the_record_lists(self) -> None:
        self.assertEqual(count_children([record(7, 1030, tuple(range(100, 1124)))], 7), 1030)


class Executions(unittest.TestCase):
    def test_list(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "list"
            self.assertIsNone(read_executed(path))
            path.write_bytes(b"7 /bin/x\x008 /bin/a b\x00")
            self.assertEqual(read_executed(path), [Executed(7, "/bin/x"), Executed(8, "/bin/a b")])

    def test_each_execution_needs_a_record_of_its_own(self) -> None:
        twice = [Executed(7, "/bin/x"), Executed(7, "/bin/x")]
        self.assertEqual(without_record(twice, [record(7), record(7)]), [])
        self.assertEqual(without_record([*twice, Executed(8, "/bin/y")], [record(7), record(7)]),
                         [Executed(8, "/bin/y")])

    def test_an_unreadable_programs_path_is_not_known(self) -> None:
        """Execute permission alone: the kernel shows its path to itself, not to the launcher."""
        self.assertEqual(without_record([Executed(7, "")], [record(7)]), [])
        twice = [Executed(7, "/bin/x"), Executed(7, "")]
        self.assertEqual(without_record(twice, [record(7), record(7)]), [])
        self.assertEqual(without_record(twice, [record(7)]), twice)
        self.assertEqual(without_record([Executed(7, ""), Executed(8, "")], [record(7)]), [Executed(8, "")])


if __name__ == "__main__":
    unittest.main()
