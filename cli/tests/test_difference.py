# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem profile A B` and --since: what grew, what shrank, and how sure that is."""

from __future__ import annotations

import os
import random
import re
import subprocess
import time
import unittest
from pathlib import Path
from typing import Any

from support import BUILD, Scratch, clean_environment, end, hakmem
from test_profile import Estimates, made, peaked

from hakmem.profiling.difference import Read, Side, change_range, changes_of, functions, is_by_chance, stacks
from hakmem.reading.estimate import NOW, PEAK, Evidence, evidence_of, sum_of
from hakmem.reading.pprof import write
from hakmem.reading.symbols import Names

GROWS = (
    "import os, sys\ndef wave(n): return [bytes(1000) for _ in range(n)]\nkept = wave(20000)\nprint('ready', flush=True)\n"
    "sys.stdin.readline()\nkept += wave(30000)\nprint('ready', flush=True)\nsys.stdin.readline()\nos._exit(0)\n"
)


def read_of(profile: Any) -> Read:
    return Read(Path("made"), profile, Names(profile))


class Changes(unittest.TestCase):
    def test_by_function_and_by_stack(self) -> None:
        before = read_of(made(([1, 2], [9, 9, 4, 400]), ([3, 2], [9, 9, 1, 50]), ([4, 2], [1, 1, 1, 70])))
        after = read_of(made(([1, 2], [9, 9, 7, 700]), ([1, 3], [9, 9, 2, 25]), ([5], [9, 9, 3, 333]), ([4, 2], [1, 1, 1, 70])))
        found = changes_of(before, after, NOW, functions)
        self.assertEqual(
            [(c.frames[0].function, c.size, c.after.blocks - c.before.blocks) for c in found],
            [("f5", 333, 3), ("f1", 325, 5), ("f3", -50, -1), ("f4", 0, 0)],
        )
        by_stack = {tuple(frame.function for frame in c.frames): c.size for c in changes_of(before, after, NOW, stacks)}
        self.assertEqual(by_stack, {("f5",): 333, ("f1", "f2"): 300, ("f1", "f3"): 25, ("f3", "f2"): -50, ("f4", "f2"): 0})

    def test_at_the_peak(self) -> None:
        before, after = (read_of(peaked(([1], [1, 1, 1, 1], [1, peak]))) for peak in (500, 300))
        self.assertEqual([c.size for c in changes_of(before, after, PEAK, functions)], [-200])

    def test_the_range_has_the_true_change(self) -> None:
        """In 95 of 100 pairs, as it says; of heaps that are alike, that differ, and of which one has nothing."""
        period, chance, runs = Estimates.PERIOD, random.Random(5), 200
        sampled = Estimates("test_words").sampled
        small, large, few = ((1000, 400),), ((1000, 900), (100000, 9)), ((64, 3000),)
        for one, other in ((small, small), (small, large), (large, few), (few, few), ((), large)):
            inside = surely = 0
            for _ in range(runs):
                sides, truths = [], []
                for heap in (one, other):
                    profile, truth = sampled(heap, chance)
                    size = sum(sample.value[3] for sample in profile.sample)
                    sides.append(Side(size, 0, sum_of(evidence_of(profile)) if heap else Evidence(0, 0, 0.0)))
                    truths.append(truth)
                low, high = change_range(sides[0], sides[1], (period, period))
                inside += low - 1 <= truths[1] - truths[0] <= high + 1
                surely += not is_by_chance(low, high)
            with self.subTest(one=one, other=other):
                self.assertGreaterEqual(inside, 0.92 * runs)
                self.assertLessEqual(surely, 0.08 * runs if one == other else runs)

    def test_what_is_exact_has_no_range(self) -> None:
        self.assertEqual(change_range(Side(5), Side(9), (1, 1)), (4, 4))


class Printed(Scratch):
    def written(self, profile: Any, name: str) -> str:
        write(self.folder / name, profile)
        return str(self.folder / name)

    def profile(self, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        ended = hakmem("profile", *words, COLUMNS="140")
        self.assertEqual(ended.returncode, status, ended.stderr + ended.stdout)
        return ended

    def test_exact_ones(self) -> None:
        one = self.written(made(([1, 2], [9, 900, 4, 4096]), ([3, 2], [9, 900, 1, 2048])), "one")
        two = self.written(made(([1, 2], [9, 900, 7, 9216])), "two")
        for words in ((one, two), ("--since", one, two)):
            lines = self.profile(*words).stdout.splitlines()
            self.assertEqual(lines[:3], [
                "before  6.0 KiB in use in 5 blocks  (one)", "after   9.0 KiB in use in 7 blocks  (two)", "change  +3.0 KiB in use",
            ])
            rows = [re.split(r" {2,}", line.strip()) for line in lines if line.rstrip().endswith(("f1", "f3"))]
            self.assertEqual(rows, [
                ["+5.0 KiB", "4.0 KiB", "9.0 KiB", "+3", "f1"], ["−2.0 KiB", "2.0 KiB", "0 B", "-1", "f3"],
            ])
        leaks = self.profile("--leaks", "--rows", "1", one, two).stdout.splitlines()[3:]
        self.assertEqual(leaks, [
            "", "+5.0 KiB in +3 blocks", "    f1", "    f2", "1 smaller change is not shown (--rows 0)",
        ])

    def test_what_may_be_chance_is_said(self) -> None:
        profiles = [made(([1], [9, 900, 4, size]), ([2], [1, 1, many, many * 600000])) for size, many in ((40000, 100), (50000, 1000))]
        for profile in profiles:
            profile.period = 1 << 16
        out = self.profile(*(self.written(profile, name) for profile, name in zip(profiles, ("one", "two")))).stdout
        self.assertRegex(out, r"(?m)^ *\+9\.8 KiB +−\d+ KiB to \+\d+ KiB +\d +\? hint .* f1 *$")
        self.assertRegex(out, r"(?m)^ *\+515 MiB +\+\d+ MiB to \+\d+ MiB +1,100 +57.2 MiB .* f2 *$")
        self.assertIn("a change whose range has 0 may be chance (?)", out)

    def test_refusals_are_one_line(self) -> None:
        file = self.written(made(([1], [1, 1, 1, 1])), "one")
        for words, said in (
            ((file, file, file), "3 profiles: give one, or two of which the difference is wanted"),
            (("--since", file, file, file), "--since goes with one profile, which is compared with it"),
            (("--by", "alloc_space", file, file), "--by goes with one profile only: .*"),
            (("--peak", file, file), ".*one: no peak_space in this profile: .*"),
            ((file, str(self.folder / "none")), ".*none: no such file or directory"),
            (("-o", str(self.folder / "x"), file, file), "-o goes with one profile only"),
            (("--for", "1", file), r"--for goes with a PID \(see hakmem profile --help\)"),
            (("--for", "1", file, file), "--for goes with one process, and not with --since"),
            (("--for", "1", "--since", file, file), "--for goes with one process, and not with --since"),
            (("--for", "1", "-o", str(self.folder / "x"), str(os.getpid())), "-o goes with one profile only"),
        ):
            self.assertRegex(self.profile(*words, status=2).stderr, rf"\Ahakmem: {said}\n\Z")

    def test_a_process_since_a_mark(self) -> None:
        environment = clean_environment(
            LD_PRELOAD=str(BUILD / "libhakmem.so"), HAKMEM_PROFILE_TABLE=str(self.folder / "table"), HAKMEM_PROFILE_BYTES="4K",
            PYTHONMALLOC="malloc",
        )
        process = subprocess.Popen(
            ["/usr/bin/python3", "-c", GROWS], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        mark, pid = str(self.folder / "mark.pb.gz"), str(process.pid)
        with process:
            assert process.stdin and process.stdout
            self.assertEqual(process.stdout.readline(), "ready\n")
            self.profile("-o", mark, pid)
            process.stdin.write("\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "ready\n")
            out = self.profile("--since", mark, pid).stdout
            process.stdin.close()
        found = re.search(r"change  ≈ \+(\d+\.\d) MiB", out)
        assert found, out
        self.assertAlmostEqual(float(found[1]), 30000 * 1152 / (1 << 20), delta=2)

    def test_what_grows_from_now_on(self) -> None:
        """A constant cache that was filled before is no growth."""
        code = ("import time\ndef fetch(): return bytes(1000)\ndef audit(): return bytes(5000)\n"
                "cache, kept = [fetch() for _ in range(20000)], []\nprint('ready', flush=True)\n"
                "while True:\n  kept.append(audit()); cache[len(kept) % 20000] = fetch(); time.sleep(0.0005)\n")
        environment = clean_environment(LD_PRELOAD=str(BUILD / "libhakmem.so"), HAKMEM_PROFILE_TABLE=str(self.folder / "table"),
                                        HAKMEM_PROFILE_BYTES="4K", PYTHONMALLOC="malloc")
        process = subprocess.Popen(["/usr/bin/python3", "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(end, process)
        assert process.stdout
        self.assertEqual(process.stdout.readline(), "ready\n")
        begin = time.monotonic()
        out = self.profile("--for", "1", str(process.pid)).stdout
        self.assertGreater(time.monotonic() - begin, 1)
        first = next(line for line in out.splitlines() if "<string>:" in line)
        self.assertRegex(first, r"^ *\+\d.* audit \(<string>:3\)", out)
        found = re.search(r"change  ≈ \+(\d+(?:\.\d)?) (MiB|KiB)", out)
        assert found, out
        self.assertGreater(float(found[1]), 0)


if __name__ == "__main__":
    unittest.main()
