"""count.py counts a known allocator exactly, and finds a lock, a call and a second path where there is one."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import count  # noqa: E402

PROBE = Path()
KNOWN = {"malloc": 6, "free": 1, "new": 7, "delete": 1, "delete_sized": 1, "calloc": 8, "realloc": 4}


class KnownAllocator(unittest.TestCase):
    """known.S, assembled in four ways."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.so_file = Path(folder.name).resolve() / "known.so"

    def dumps(self, *defines: str) -> list[count.Dump]:
        source = Path(__file__).with_name("known.S")
        subprocess.run(["gcc", "-shared", "-nostdlib", *defines, "-o", str(self.so_file), str(source)], check=True)
        text, moved = count.run_probe(PROBE, self.so_file)
        self.assertEqual(moved, [])
        return count.parse_dumps(text, self.so_file)

    def faults(self, *defines: str) -> list[str]:
        return count.all_faults(self.dumps(*defines), count.disassembly(self.so_file))

    def test_every_path_has_its_known_length(self) -> None:
        dumps = self.dumps()
        self.assertEqual({(d.function, len(d.times)) for d in dumps}, set(KNOWN.items()))
        self.assertEqual(len(dumps), 72 * 2 * len(KNOWN))
        self.assertEqual(count.all_faults(dumps, count.disassembly(self.so_file)), [])

    def test_a_lock_prefix_is_found(self) -> None:
        faults = [fault for fault in self.faults("-DLOCKED") if fault.startswith("malloc of 48 B")]
        self.assertEqual(len(faults), 1, faults)
        self.assertIn("lock xadd", faults[0])

    def test_a_call_is_found(self) -> None:
        faults = self.faults("-DCALLING")
        self.assertTrue(all(fault.startswith("free of") and "call" in fault for fault in faults), faults[:3])
        self.assertEqual(len(faults), 72 * 2)

    def test_a_second_path_is_found(self) -> None:
        faults = [fault for fault in self.faults("-DUNEVEN") if fault.startswith("new of 1024 B")]
        self.assertEqual(len(faults), 1, faults)
        self.assertIn("not the fast path", faults[0])


class Judgement(unittest.TestCase):
    """Rules that need no run."""

    def dump(self, function: str, class_bytes: int, instructions: int) -> count.Dump:
        return count.Dump(function, class_bytes, class_bytes, {a: count.CALLS for a in range(instructions)})

    def test_targets(self) -> None:
        self.assertEqual(count.target_faults(self.dump("malloc", 1024, 16)), [])
        self.assertEqual(len(count.target_faults(self.dump("malloc", 1024, 17))), 1)
        self.assertEqual(count.target_faults(self.dump("malloc", 1152, 22)), [])
        self.assertEqual(len(count.target_faults(self.dump("malloc", 1152, 23))), 1)
        self.assertEqual(len(count.target_faults(self.dump("free", 16, 19))), 1)
        self.assertEqual(count.target_faults(self.dump("realloc", 16, 99)), [])

    def test_forbidden_instructions(self) -> None:
        for text in ("lock cmpxchg %rdx,(%rdi)", "xchg   %rax,0x8(%rdi)", "call   1234 <slow>", "call   *0x8(%rax)"):
            self.assertTrue(count.forbidden(text, "malloc"), text)
        for text in ("xchg   %ax,%ax", "jmp    1234 <slow>", "mov    (%rdi),%rax"):
            self.assertFalse(count.forbidden(text, "malloc"), text)
        self.assertFalse(count.forbidden("call   1040 <memset@plt>", "calloc"))
        self.assertTrue(count.forbidden("call   1040 <memset@plt>", "malloc"))

    def test_calloc_counts_up_to_1_kib(self) -> None:
        text = count.table([self.dump("calloc", 1024, 8), self.dump("calloc", 1152, 9)])
        rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual([row[6] for row in rows], ["calloc", "8", "-"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--probe", type=Path, required=True)
    options, rest = parser.parse_known_args()
    PROBE = options.probe.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
