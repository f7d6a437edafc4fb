# SPDX-License-Identifier: MIT OR Apache-2.0
"""lab/bugs/bugs.cpp on both flavours: message and signal of each error, and which errors no flavour stops.

Run with HAK_TEST_LIBRARY (libhakmem-secure.so), HAK_TEST_NORMAL (libhakmem.so) and HAK_TEST_PROGRAM set.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import unittest

SECURE, NORMAL, PROGRAM = (os.environ[f"HAK_TEST_{name}"] for name in ("LIBRARY", "NORMAL", "PROGRAM"))

DOUBLE = "double free"
INTERIOR = "free of a pointer inside a block"
FOREIGN = "free of a pointer hakmem does not own"
RELEASED = "free of a block already released"
OVERRUN = "write beside a block, found at its free"
WRITTEN = "write after free, found when the block is handed out again"
RESIZED = "free with another size than the block's"
REALIGNED = "free with another alignment than the block's"

# The call with the error ends the program.
AT_ONCE = {
    "double_free": DOUBLE, "double_free_with_one_between": DOUBLE, "double_free_with_thousands_between": DOUBLE,
    "double_free_by_two_threads": DOUBLE, "double_free_of_a_large_block": RELEASED, "free_of_the_next_owners_block": DOUBLE,
    "free_inside_a_block": INTERIOR, "free_inside_a_large_block": INTERIOR, "free_of_the_stack": FOREIGN,
    "free_of_static_data": FOREIGN, "free_of_a_mapping": FOREIGN, "free_of_a_forged_block": FOREIGN,
    "free_inside_the_tables": FOREIGN, "sized_delete_of_another_size": RESIZED, "delete_of_another_alignment": REALIGNED,
    "delete_of_an_aligned_block": REALIGNED, "write_one_byte_behind_and_free": OVERRUN, "write_behind_a_large_block": OVERRUN,
}
# A later free or request ends it.
LATER = {
    "write_one_byte_behind": OVERRUN, "write_64_bytes_behind": OVERRUN,
    "write_after_free": WRITTEN, "write_after_free_to_the_next_owner": WRITTEN,
}
EITHER = {"forged_link": WRITTEN}
# The place before a block is another's, a free one, or a guard: chance. Where it is a free slot that is not handed out, the
# program goes on.
BEFORE = {"write_16_bytes_before", "write_before_and_free"}
# The processor refuses the access: a guard page.
SEGFAULT = {"read_behind_a_large_block"}
# It goes on, and no byte of another block or of the past was seen.
HARMLESS = {
    "read_after_free", "read_after_free_of_the_next_owners_block", "read_of_what_was_never_written",
    "read_of_what_was_never_written_in_a_large_block", "write_after_free_of_a_large_block",
}
# Not stopped, with the reason in docs/security.md.
PASSES = {
    "free_of_the_next_owners_block_after_reuse", "read_behind", "read_before", "read_after_free_of_a_large_block",
}

# The normal flavour: what it promises (docs/guide/troubleshooting.md).
NORMAL_AT_ONCE = {
    "double_free": DOUBLE, "double_free_of_a_large_block": RELEASED, "free_inside_a_large_block": INTERIOR,
    "free_of_the_stack": FOREIGN, "free_of_static_data": FOREIGN, "free_of_a_mapping": FOREIGN,
    "free_of_a_forged_block": FOREIGN, "free_inside_the_tables": FOREIGN,
}
NORMAL_LATER = {
    "double_free_with_one_between": DOUBLE, "double_free_with_thousands_between": DOUBLE,
    "double_free_by_two_threads": DOUBLE, "free_inside_a_block": INTERIOR,
}


def run(library: str, bug: str) -> subprocess.CompletedProcess[str]:
    environment = {"LD_PRELOAD": library, "PATH": os.environ["PATH"]}
    return subprocess.run([PROGRAM, bug], env=environment, capture_output=True, text=True, timeout=100, check=False)


class Bugs(unittest.TestCase):
    def ends(self, library: str, bug: str, text: str, when: str) -> None:
        with self.subTest(bug, library=os.path.basename(library)):
            ended = run(library, bug)
            self.assertEqual(ended.returncode, -signal.SIGABRT, ended.stdout + ended.stderr)
            line = rf"\Ahakmem: {re.escape(text)}: pointer 0x[0-9a-f]+, class (\d+ B|none)(, caller 0x[0-9a-f]+)?\n\Z"
            self.assertRegex(ended.stderr, line)
            said = "done" in ended.stdout
            self.assertIn(when, ("either", "later" if said else "at once"))

    def test_the_library_serves(self) -> None:
        for library in (SECURE, NORMAL):
            files = {os.path.realpath(line) for line in run(library, "--who").stdout.splitlines()}
            self.assertEqual(files, {os.path.realpath(library)})

    def test_errors_end_the_program(self) -> None:
        for when, bugs in (("at once", AT_ONCE), ("later", LATER), ("either", EITHER)):
            for bug, text in bugs.items():
                self.ends(SECURE, bug, text, when)

    def test_what_lies_before_is_chance(self) -> None:
        for bug in BEFORE:
            ended = run(SECURE, bug)
            found = any(text in ended.stderr for text in (OVERRUN, WRITTEN)) and ended.returncode == -signal.SIGABRT
            self.assertTrue(found or ended.returncode in (0, -signal.SIGSEGV), f"{bug}: {ended}")

    def test_guard_pages(self) -> None:
        for bug in SEGFAULT:
            self.assertEqual(run(SECURE, bug).returncode, -signal.SIGSEGV, bug)

    def test_what_goes_on_shows_and_damages_nothing(self) -> None:
        for bug in HARMLESS:
            with self.subTest(bug):
                ended = run(SECURE, bug)
                self.assertEqual((ended.stdout, ended.stderr, ended.returncode), ("done\nend\n", "", 0))

    def test_what_is_not_stopped(self) -> None:
        for bug in PASSES:
            with self.subTest(bug):
                self.assertIn("end", run(SECURE, bug).stdout)

    def test_the_normal_flavour(self) -> None:
        for when, bugs in (("at once", NORMAL_AT_ONCE), ("later", NORMAL_LATER)):
            for bug, text in bugs.items():
                self.ends(NORMAL, bug, text, when)

    def test_every_error_has_its_row(self) -> None:
        listed = set(subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout.split())
        self.assertEqual(listed, {*AT_ONCE, *LATER, *EITHER, *BEFORE, *SEGFAULT, *HARMLESS, *PASSES})


if __name__ == "__main__":
    unittest.main()
