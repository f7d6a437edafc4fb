# SPDX-License-Identifier: MIT OR Apache-2.0
"""Standard streams that are closed, full, or that nobody reads: no status is wrong for them, and nothing is a traceback."""

from __future__ import annotations

import subprocess
import unittest

from hakmem import __version__
from support import BUILD, COMMAND, Scratch, clean_environment

VERSION = f"hakmem {__version__}\n"
FULL = "hakmem: standard output: No space left on device\n"
BROKEN_PIPE = 141
RUN = f"run --build {BUILD} --runs 1"


class Streams(Scratch):
    def shell(self, words: str) -> subprocess.CompletedProcess[str]:
        """`words` follow the command; its status, not that of what reads it."""
        script = f"set -o pipefail; {COMMAND} {words}"
        return subprocess.run(["bash", "-c", script], env=clean_environment(), capture_output=True, text=True)

    def check(self, words: str, status: int, output: str, errors: str | None = "") -> None:
        with self.subTest(words=words):
            ended = self.shell(words)
            self.assertEqual((ended.returncode, ended.stdout), (status, output), ended.stderr)
            self.assertNotIn("Traceback", ended.stderr)
            self.assertNotIn("Exception ignored", ended.stderr)
            if errors is not None:
                self.assertEqual(ended.stderr, errors)

    def test_closed(self) -> None:
        self.check("--version 2>&-", 0, VERSION)
        self.check("--version <&-", 0, VERSION)
        self.check("--version >&-", 0, "")
        self.check("--version <&- >&- 2>&-", 0, "")
        self.check("frobnicate 2>&-", 2, "")
        self.check("no-such 2>&- >&-", 2, "")

    def test_closed_around_a_program(self) -> None:
        self.check(f"{RUN} echo hello 2>&-", 0, "hello\n")
        self.check(f"{RUN} echo hello >&-", 0, "", None)
        self.check(f"{RUN} echo hello <&- >&- 2>&-", 0, "")
        self.check(f"{RUN} sh -c 'exit 4' <&- >&- 2>&-", 4, "")
        self.check(f"{RUN} cat <&-", 0, "", None)
        self.check(f"{RUN} --stdin - cat <&-", 0, "", None)
        self.check(f"{RUN} sh -c 'exec <&- >&- 2>&-; /bin/true'", 0, "", None)

    def test_what_is_opened_later_takes_no_closed_stream(self) -> None:
        """The program's standard error would be one of the command's own files."""
        self.check(f"{RUN} sh -c 'readlink /proc/self/fd/2' 2>&-", 0, "/dev/null\n")

    def test_full(self) -> None:
        self.check("--version >/dev/full", 1, "", FULL)
        self.check("--help >/dev/full", 1, "", FULL)
        self.check(">/dev/full", 1, "", FULL)
        self.check(f"bench --list --build {BUILD} >/dev/full", 1, "", FULL)
        self.check("--version 2>&- >/dev/full", 1, "")
        self.check("--version 2>/dev/full", 0, VERSION)
        self.check(f"{RUN} echo hello 2>/dev/full", 0, "hello\n")

    def test_nobody_reads(self) -> None:
        self.check(f"bench --list --build {BUILD} | (exec <&-; sleep 2)", BROKEN_PIPE, "")
        self.check("--help | (exec <&-; sleep 2)", BROKEN_PIPE, "")
        self.check(f"{RUN} true 2>&1 | (exec <&-; sleep 2)", 0, "")

    def test_nobody_reads_the_program(self) -> None:
        gone = "as nobody reads its output any longer; it was not measured\n"
        self.check(f"{RUN} seq 1000000 | head -1", BROKEN_PIPE, "1\n",
                   f"hakmem: the program was killed by SIGPIPE, {gone}")

    def test_a_full_disk_is_the_programs_failure(self) -> None:
        ended = self.shell(f"{RUN} echo hello >/dev/full")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("(the first writes where this command does, the others to files)", ended.stderr)

    def test_a_folder(self) -> None:
        self.check("--version </", 2, "", "hakmem: standard input is a folder\n")

    def test_letters_that_the_locale_lacks(self) -> None:
        ended = subprocess.run(
            [COMMAND, "run", "--build", str(BUILD), "--runs", "1", "echo", b"\xff\xc3\xa9"], capture_output=True,
            env=clean_environment(LC_ALL="C", PYTHONUTF8="0"),
        )
        self.assertEqual((ended.returncode, ended.stdout), (0, b"\xff\xc3\xa9\n"), ended.stderr)


if __name__ == "__main__":
    unittest.main()
