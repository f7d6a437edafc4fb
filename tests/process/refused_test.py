# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernel calls that are refused, by ENOSYS as by an old kernel and by EPERM as by a filter: asked once, and done without.

HAK_TEST_LIBRARY is libhakmem.so, HAK_TEST_WITHOUT the launcher (without.c), HAK_TEST_THREADS and HAK_TEST_STATIC the
programs (threads.c) that preload it and that are linked with libhakmem-override.a. HAK_TEST_SCALE above 1: each program.
"""

from __future__ import annotations

import os
import re
import subprocess
import unittest
from pathlib import Path

LIBRARY, WITHOUT = Path(os.environ["HAK_TEST_LIBRARY"]), os.environ["HAK_TEST_WITHOUT"]
THREADS, STATIC = os.environ["HAK_TEST_THREADS"], os.environ["HAK_TEST_STATIC"]
THOROUGH = int(os.environ.get("HAK_TEST_SCALE", "1")) > 1
ERRORS = ("ENOSYS", "EPERM")
# Those that only improve; without them as much memory goes back. HAKMEM makes neither of the last two, nor will it.
OPTIONAL = ("populate", "cold", "wipeonfork", "dump", "hugepage", "membarrier", "clock", "affinity", "robust_list", "limits",
            "process_madvise", "vma_name")
MATTER = ("populate", "wipeonfork", "membarrier", "clock")
# A process asks once; for membarrier musl asks once more, for itself.
ASKED_ONCE = {"populate": r"madvise\(.*MADV_POPULATE", "wipeonfork": r"madvise\(.*MADV_WIPEONFORK", "membarrier": r"membarrier\("}

Result = subprocess.CompletedProcess[str]


def run(call: str, error: str, *command: str, before: tuple[str, ...] = ()) -> Result:
    environment = {"PATH": os.environ["PATH"], "LANG": "C", "HAK_TEST_PRELOAD": str(LIBRARY)}
    return subprocess.run([*before, WITHOUT, call, error, *command], env=environment, capture_output=True, text=True,
                          timeout=200, check=False)


class Refused(unittest.TestCase):
    def expect_done(self, result: Result) -> None:
        self.assertEqual((result.returncode, result.stderr), (0, ""), f"{result.args}: {result.stdout}")
        self.assertTrue(result.stdout.endswith("done\n"), result.stdout)

    def test_each_call(self) -> None:
        for call in OPTIONAL:
            for error in ERRORS:
                brief = ("flood" if error == "ENOSYS" and call in MATTER else "keys",)
                for what in ("flood", "keys", "fork") if THOROUGH else brief:
                    with self.subTest(call=call, error=error, what=what):
                        self.expect_done(run(call, error, THREADS, what))

    def test_fork_without_a_wiped_page(self) -> None:
        """And without the list by which a thread of glibc is known."""
        for call in ("wipeonfork", "robust_list"):
            self.expect_done(run(call, "ENOSYS", THREADS, "fork"))

    def test_all_advice(self) -> None:
        """No memory goes back; all else goes on."""
        for error in ERRORS:
            for what in ("keys", "stack", *(("fork",) if THOROUGH else ())):
                self.expect_done(run("madvise", error, THREADS, what))

    def test_files(self) -> None:
        """No /proc, no control group of any version, no pressure: in a static program, which opens nothing else."""
        for error in ERRORS:
            self.expect_done(run("files", error, STATIC, "keys"))

    def test_asked_once(self) -> None:
        for call, pattern in ASKED_ONCE.items():
            for error in ERRORS:
                with self.subTest(call=call, error=error):
                    asked = self.refusals(call, error, pattern)
                    self.assertLessEqual(asked, 2 if call == "membarrier" else 1)

    def refusals(self, call: str, error: str, pattern: str) -> int:
        trace = ("strace", "-f", "-qq", "-o", "/dev/stderr", "-e", "trace=madvise,membarrier")
        result = run(call, error, THREADS, "grow" if call == "populate" else "keys", before=trace)
        self.assertTrue(result.stdout.endswith("done\n"), result.stdout)
        return len(re.findall(rf"{pattern}.*= -1 {error}", result.stderr))


if __name__ == "__main__":
    unittest.main()
