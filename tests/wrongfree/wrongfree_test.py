# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every kind of wrong free ends the program with its one line, and right ones with none.

Run with HAK_TEST_LIBRARY (libhakmem.so) and HAK_TEST_PROGRAMS (the folder of the small programs) set.
"""

import os
import re
import signal
import subprocess
import unittest
from dataclasses import dataclass
from pathlib import Path

LIBRARY = os.environ["HAK_TEST_LIBRARY"]
PROGRAMS = Path(os.environ["HAK_TEST_PROGRAMS"])

DOUBLE = "double free"
INTERIOR = "free of a pointer inside a block"
FOREIGN = "free of a pointer hakmem does not own"
GIVEN_BACK = "free of a block already released"
REENTRY = "malloc or free called again inside itself (from a signal handler)"
PAGE = int(os.environ.get("HAK_EMULATED_PAGE", os.sysconf("SC_PAGESIZE")))
# The class of 100,000 bytes, in whole pages.
RUN = f"{-(-106496 // PAGE) * PAGE} B"


@dataclass(frozen=True)
class Wrong:
    """What one program's line says; `at_call`: it is caught by the call itself, which is then named."""

    text: str
    block_class: str
    at_call: bool = True


CASES: dict[str, Wrong] = {
    "double_free_at_once": Wrong(DOUBLE, "112 B"),
    "double_free_of_smallest": Wrong(DOUBLE, "16 B"),
    "double_free_of_mid": Wrong(DOUBLE, "32768 B"),
    "double_free_sized": Wrong(DOUBLE, "112 B"),
    "double_free_one_between": Wrong(DOUBLE, "112 B", at_call=False),
    "double_free_after_flush": Wrong(DOUBLE, "112 B", at_call=False),
    "two_threads": Wrong(DOUBLE, "112 B", at_call=False),
    "interior": Wrong(INTERIOR, "112 B", at_call=False),
    "interior_unaligned": Wrong(INTERIOR, "112 B", at_call=False),
    "interior_to_depot": Wrong(INTERIOR, "112 B", at_call=False),
    "interior_large": Wrong(INTERIOR, "none"),
    "interior_large_unit": Wrong(INTERIOR, "none"),
    "interior_run": Wrong(INTERIOR, "none"),
    "interior_run_unit": Wrong(INTERIOR, "none"),
    "interior_big": Wrong(INTERIOR, "none"),
    "double_free_run": Wrong(GIVEN_BACK, "none"),
    "double_free_large": Wrong(GIVEN_BACK, "none"),
    "double_free_big": Wrong(GIVEN_BACK, "none"),
    "double_free_huge": Wrong(GIVEN_BACK, "none"),
    "slab_given_back": Wrong(GIVEN_BACK, "none"),
    "stack": Wrong(FOREIGN, "none"),
    "static_data": Wrong(FOREIGN, "none"),
    "code": Wrong(FOREIGN, "none"),
    "unmapped": Wrong(FOREIGN, "none"),
    "null_page": Wrong(FOREIGN, "none"),
    "not_canonical": Wrong(FOREIGN, "none"),
    "kernel_address": Wrong(FOREIGN, "none"),
    "tagged": Wrong(FOREIGN, "none"),
    "tagged_big": Wrong(FOREIGN, "none"),
    "realloc_tagged": Wrong(FOREIGN, "none"),
    "mismatched": Wrong(FOREIGN, "none"),
    "mapped": Wrong(FOREIGN, "none"),
    "beyond_the_range": Wrong(FOREIGN, "none"),
    "realloc_foreign": Wrong(FOREIGN, "none"),
    "realloc_to_zero_foreign": Wrong(FOREIGN, "none"),
    "realloc_given_back": Wrong(GIVEN_BACK, "none"),
    "usable_size_foreign": Wrong(FOREIGN, "none"),
    "operator_delete": Wrong(FOREIGN, "none"),
    "double_free_far": Wrong(DOUBLE, "112 B", at_call=False),
    "interior_last_slot": Wrong(INTERIOR, "112 B", at_call=False),
    "interior_eight": Wrong(INTERIOR, "112 B", at_call=False),
    "interior_sixteen": Wrong(INTERIOR, "112 B", at_call=False),
    "double_free_forty_between": Wrong(DOUBLE, "112 B", at_call=False),
    "double_free_after_reuse": Wrong(DOUBLE, "112 B", at_call=False),
    "double_free_in_child": Wrong(DOUBLE, "112 B", at_call=False),
}

# By the class of a run, in the magazine, which is whole pages.
RUNS: dict[str, Wrong] = {
    "interior_run_to_magazine": Wrong(INTERIOR, RUN, at_call=False),
    "double_free_run_at_once": Wrong(DOUBLE, RUN),
    "double_free_run_one_between": Wrong(GIVEN_BACK, "none", at_call=False),
}

# Of these the program is told nothing, as checks=off hands the block out again: it ends with status 0.
UNSEEN = ("double_free_and_three", "interior_then_malloc", "realloc_freed")

# With checks=on all are caught at the call, and these then say something else: no magazine holds what was freed.
CHECKED: dict[str, Wrong] = {
    "double_free_and_three": Wrong(DOUBLE, "112 B"),
    "interior_then_malloc": Wrong(INTERIOR, "112 B"),
    "realloc_freed": Wrong(DOUBLE, "112 B"),
    "interior_run_to_magazine": Wrong(INTERIOR, "none"),
    "double_free_run_at_once": Wrong(GIVEN_BACK, "none"),
}


def run(name: str, checks: str = "off") -> subprocess.CompletedProcess[str]:
    """The program under libhakmem.so, with no settings but the defaults and `checks`."""
    environment = {"LD_PRELOAD": LIBRARY, "PATH": os.environ["PATH"], "HAKMEM_CHECKS": checks}
    if "HAK_EMULATED_PAGE" in os.environ:
        environment["HAK_EMULATED_PAGE"] = os.environ["HAK_EMULATED_PAGE"]
    return subprocess.run(
        [str(PROGRAMS / name)], env=environment, capture_output=True, text=True, timeout=100, check=False
    )


def expected_line(wrong: Wrong, pointer: str) -> re.Pattern[str]:
    caller = r", caller 0x([0-9a-f]+)" if wrong.at_call else ""
    line = re.escape(f"hakmem: {wrong.text}: pointer ") + pointer + re.escape(f", class {wrong.block_class}")
    return re.compile(line + caller + r"\n")


class WrongFree(unittest.TestCase):
    def test_every_kind(self) -> None:
        for name, wrong in CASES.items():
            with self.subTest(name):
                self.check(name, wrong)

    def test_runs(self) -> None:
        for name, wrong in RUNS.items():
            with self.subTest(name):
                self.check(name, wrong)

    def test_what_passes_without_checks(self) -> None:
        for name in UNSEEN:
            with self.subTest(name):
                result = run(name)
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_every_kind_at_the_call_with_checks(self) -> None:
        for name, wrong in (CASES | RUNS | CHECKED).items():
            with self.subTest(name):
                self.check(name, Wrong(wrong.text, wrong.block_class), "on")

    def check(self, name: str, wrong: Wrong, checks: str = "off") -> None:
        result = run(name, checks)
        self.assertEqual(result.returncode, -signal.SIGABRT, f"{name} was not stopped: {result.stderr!r}")
        pointer, start, end = result.stdout.split()
        match = expected_line(wrong, pointer).fullmatch(result.stderr)
        if match is None:
            self.fail(f"{name} (pointer {pointer}) said {result.stderr!r}")
        if wrong.at_call:
            self.assertTrue(int(start, 16) <= int(match[1], 16) < int(end, 16), f"caller of {name}: {match[0]}")

    def test_malloc_inside_malloc(self) -> None:
        result = run("reentry")
        self.assertEqual(result.returncode, -signal.SIGABRT, result.stderr)
        self.assertRegex(result.stderr, re.escape(f"hakmem: {REENTRY}: pointer 0x") + r"[0-9a-f]+, class \S+.*\n\Z")
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_right_frees_pass(self) -> None:
        for checks in ("off", "on"):
            result = run("right_frees", checks)
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_every_program_has_its_case(self) -> None:
        sources = {path.stem for path in Path(__file__).parent.glob("*.c*")}
        self.assertEqual(sources, set(CASES) | set(RUNS) | set(UNSEEN) | {"reentry", "right_frees"})


if __name__ == "__main__":
    unittest.main()
