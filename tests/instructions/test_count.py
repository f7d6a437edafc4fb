# SPDX-License-Identifier: MIT OR Apache-2.0
"""A known allocator is counted exactly; a lock, a call, a second path, another route and a changed row are found."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import callgrind  # noqa: E402
import fast_paths  # noqa: E402
import patterns  # noqa: E402
import traces  # noqa: E402

FAST_PATHS = Path()
PATTERNS = Path()
LIBRARY = Path("/opt/libthis.so")
CLASSES = 72 + 4  # of slots and of runs
KNOWN = {"malloc": 6, "free": 1, "new": 7, "delete": 1, "new_array": 8, "new_nothrow": 9, "delete_sized": 1,
         "calloc": 8, "realloc": 4}


class KnownAllocator(unittest.TestCase):
    """known.S, assembled in four ways."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.so_file = Path(folder.name).resolve() / "known.so"

    def assemble(self, *defines: str) -> None:
        source = Path(__file__).with_name("known.S")
        subprocess.run(["gcc", "-shared", "-nostdlib", *defines, "-o", str(self.so_file), str(source)], check=True)

    def measured(self, *defines: str) -> fast_paths.FastPaths:
        self.assemble(*defines)
        return fast_paths.measured(FAST_PATHS, self.so_file)

    def test_every_path_has_its_known_length(self) -> None:
        measured = self.measured()
        self.assertEqual({(case.function, len(case.times)) for case in measured.cases}, set(KNOWN.items()))
        self.assertEqual(len(measured.cases), CLASSES * 2 * len(KNOWN))
        self.assertEqual(measured.faults(), [])

    def test_a_lock_prefix_is_found(self) -> None:
        faults = [fault for fault in self.measured("-DLOCKED").faults() if fault.startswith("malloc of 48 B")]
        self.assertEqual(len(faults), 1, faults)
        self.assertIn("lock xadd", faults[0])

    def test_a_call_is_found(self) -> None:
        faults = self.measured("-DCALLING").faults()
        self.assertTrue(all(fault.startswith("free of") and "call" in fault for fault in faults), faults[:3])
        self.assertEqual(len(faults), CLASSES * 2)

    def test_a_second_path_is_found(self) -> None:
        faults = [fault for fault in self.measured("-DUNEVEN").faults() if fault.startswith("new of 1024 B")]
        self.assertEqual(len(faults), 1, faults)
        self.assertIn("not the fast path", faults[0])

    def test_a_pattern_of_pairs_has_its_known_length(self) -> None:
        self.assemble()
        dumps = patterns.run_scenario(PATTERNS, self.so_file, ["run_pairs", "65536"])
        counts: dict[patterns.Key, patterns.Count] = {}
        patterns.add_dump(counts, dumps[0])
        self.assertEqual([dump.title for dump in dumps], ["run_pair 65536 256 pair"])
        self.assertEqual(counts[patterns.Key("run_pair", 65536)].cost, patterns.Cost(6 + 1, 0))


class FastPathRules(unittest.TestCase):
    """Rules that need no run."""

    def case(self, function: str, class_bytes: int, instructions: int) -> fast_paths.Case:
        return fast_paths.Case(function, class_bytes, class_bytes, {a: fast_paths.CALLS for a in range(instructions)})

    def test_targets(self) -> None:
        self.assertEqual(fast_paths.target_faults(self.case("malloc", 1024, 16)), [])
        self.assertEqual(len(fast_paths.target_faults(self.case("malloc", 1024, 17))), 1)
        self.assertEqual(fast_paths.target_faults(self.case("malloc", 1152, 22)), [])
        self.assertEqual(len(fast_paths.target_faults(self.case("malloc", 1152, 23))), 1)
        self.assertEqual(len(fast_paths.target_faults(self.case("free", 16, 19))), 1)
        self.assertEqual(fast_paths.target_faults(self.case("realloc", 16, 99)), [])

    def test_forbidden_instructions(self) -> None:
        for text in ("lock cmpxchg %rdx,(%rdi)", "xchg   %rax,0x8(%rdi)", "call   1234 <slow>", "call   *0x8(%rax)"):
            self.assertTrue(fast_paths.forbidden(text, "malloc"), text)
        for text in ("xchg   %ax,%ax", "jmp    1234 <slow>", "mov    (%rdi),%rax"):
            self.assertFalse(fast_paths.forbidden(text, "malloc"), text)
        self.assertFalse(fast_paths.forbidden("call   1040 <memset@plt>", "calloc"))
        self.assertTrue(fast_paths.forbidden("call   1040 <memset@plt>", "malloc"))

    def test_calloc_counts_up_to_1_kib(self) -> None:
        text = fast_paths.table([self.case("calloc", 1024, 8), self.case("calloc", 1152, 9)])
        rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual([row[8] for row in rows], ["calloc", "8", "-"])


DUMPS = """\
desc: Trigger: Client Request: refill 64 10 malloc
ob=/opt/libthis.so
fn=malloc
0x10 10
0x12 10
cob=/lib/libother.so
cfn=memcpy
calls=10 0x99
0x14 500
0x16 10
ob=/lib/libother.so
fn=memcpy
0x99 500
ob=/opt/libthis.so
fn=hak_slab_fill
0x20 7
totals: 537
desc: Trigger: Client Request: refill 64 10 malloc
ob=/opt/libthis.so
fn=hak_slab_fill
0x20 13
totals: 13
desc: Trigger: Program termination
ob=/opt/libthis.so
fn=free
0x30 99
totals: 99
"""


class Dumps(unittest.TestCase):
    """Reading what callgrind wrote."""

    def test_only_the_library_counts_and_calls_only_where_they_ran(self) -> None:
        first, second = callgrind.parse_dumps(DUMPS, LIBRARY)
        self.assertEqual(first.title, "refill 64 10 malloc")
        self.assertEqual(first.times, {0x10: 10, 0x12: 10, 0x16: 10, 0x20: 7})
        self.assertEqual(first.functions, {"malloc": 30, "hak_slab_fill": 7})
        self.assertEqual(second.functions, {"hak_slab_fill": 13})

    def test_no_dump_is_an_error(self) -> None:
        with self.assertRaisesRegex(callgrind.ToolError, "no dump"):
            callgrind.parse_dumps("desc: Trigger: Program termination\n", LIBRARY)

    def test_dumps_of_one_pattern_are_added_up(self) -> None:
        counts: dict[patterns.Key, patterns.Count] = {}
        for dump in callgrind.parse_dumps(DUMPS, LIBRARY):
            patterns.add_dump(counts, dump)
        self.assertEqual(list(counts), [patterns.Key("refill", 64)])
        self.assertEqual(counts[patterns.Key("refill", 64)].cost, patterns.Cost(50 / 20, 20 / 20))


class Tolerance(unittest.TestCase):
    """A row may differ by 1 % in either direction."""

    def measured(self, pattern: str, slow: int, *functions: str) -> patterns.Patterns:
        ran = {"malloc": 20000, "hak_magazine_take": slow} | {name: 0 for name in functions}
        return patterns.Patterns({patterns.Key(pattern, 64): patterns.Count("malloc", 100, ran)})

    def golden(self, slow: int) -> str:
        return self.measured("refill", slow).table()

    def test_the_table_reads_back(self) -> None:
        self.assertEqual(patterns.parse_table(self.golden(2341)),
                         {patterns.Key("refill", 64): patterns.Cost(223.41, 23.41)})

    def test_one_percent_is_allowed_both_ways(self) -> None:
        for slow in (9900, 9950, 10000, 10100):
            self.assertEqual(self.measured("refill", slow).differences(self.golden(10000)), [], slow)

    def test_more_is_told_on_one_line(self) -> None:
        worse = self.measured("refill", 10120).differences(self.golden(10000))
        better = self.measured("refill", 9000).differences(self.golden(10000))
        self.assertEqual(worse, ["refill of 64 B, slow: golden 100.000, this build 101.200, +1.2 %"])
        self.assertEqual(better, ["refill of 64 B, all: golden 300.000, this build 290.000, -3.3 %",
                                  "refill of 64 B, slow: golden 100.000, this build 90.000, -10.0 %"])

    def test_a_slow_path_that_was_never_taken_is_told(self) -> None:
        self.assertEqual(self.measured("refill", 0).differences(self.golden(0)), [])
        self.assertEqual(self.measured("refill", 1).differences(self.golden(0)),
                         ["refill of 64 B, slow: golden 0.000, this build 0.010, +inf %"])

    def test_a_probe_without_scenarios_is_an_error(self) -> None:
        with self.assertRaisesRegex(callgrind.ToolError, "lists no scenario"):
            patterns.scenarios(Path("/bin/true"))

    def test_new_and_vanished_rows_are_told(self) -> None:
        self.assertEqual(self.measured("flush", 10000).differences(self.golden(10000)),
                         ["refill of 64 B: in the checked-in table only", "flush of 64 B: not in the checked-in table"])

    def test_a_torn_table_is_an_error(self) -> None:
        with self.assertRaisesRegex(callgrind.ToolError, "does not read"):
            patterns.parse_table(self.golden(10000) + "flush 64\n")

    def test_another_route_is_found(self) -> None:
        self.assertEqual(self.measured("refill", 1, "hak_slab_fill").faults(), [])
        self.assertEqual(self.measured("refill", 1, "hak_depot_take").faults(),
                         ["refill of 64 B: hak_slab_fill did not run", "refill of 64 B: hak_depot_take ran"])
        self.assertEqual(self.measured("unheard_of", 1).faults(),
                         ["unheard_of of 64 B: no route is written down (ROUTES in patterns.py)"])


class RecordedCalls(unittest.TestCase):
    """Tables of traces, written by hand."""

    def build(self, instructions: int, function: str = "malloc") -> traces.Traces:
        return traces.Traces({"program": traces.Count(10, Counter({function: instructions}))})

    def test_a_table_is_read_as_it_was_written(self) -> None:
        self.assertEqual(self.build(1000).differences(self.build(1000).table()), [])

    def test_one_percent_is_allowed_and_more_is_named(self) -> None:
        golden = self.build(1000).table()
        self.assertEqual(self.build(1010).differences(golden), [])
        self.assertEqual(self.build(1020).differences(golden), ["program: golden 100.000, this build 102.000, +2.0 %"])

    def test_a_row_too_many_and_one_too_few_are_named(self) -> None:
        golden = self.build(1000).table().replace("program", "another")
        self.assertEqual(len(self.build(1000).differences(golden)), 2)

    def test_calls_that_another_library_served_are_no_count(self) -> None:
        self.assertEqual(len(self.build(1000, "hak_process_start").broken()), 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fast-paths", type=Path, required=True)
    parser.add_argument("--patterns", type=Path, required=True)
    options, rest = parser.parse_known_args()
    FAST_PATHS, PATTERNS = options.fast_paths.resolve(), options.patterns.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
