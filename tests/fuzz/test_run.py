# SPDX-License-Identifier: MIT OR Apache-2.0
"""A wrong command line of run.py: one line that says what is wrong, and status 2."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUN = Path(__file__).resolve().parent / "run.py"
KINDS = ("events", "operations", "policy", "python", "settings", "system", "unwind")


class WrongUse(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="hakmem-fuzz-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, kind: str) -> Path:
        """It ends at once, as a fuzzer whose time is up."""
        file = self.folder / f"{kind}_fuzz"
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
        return file

    def refused(self, text: str, *words: object, **more: str) -> None:
        command = [sys.executable, str(RUN), *map(str, words)]
        ended = subprocess.run(command, env=os.environ | more, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((ended.stderr, ended.stdout, ended.returncode), (f"run.py: {text}\n", "", 2))

    def test_hours(self) -> None:
        for kind in KINDS:
            self.program(kind)
        for hours in ("", "a day", "0", "-1", "nan", "inf", "1e308"):
            with self.subTest(hours=hours):
                self.refused(f"HOURS is a number above 0, not '{hours}'", "all", self.folder, hours)

    def test_a_folder_without_fuzzers(self) -> None:
        missing = self.folder / "events_fuzz"
        text = f"no fuzzer {missing}: `make fuzz` builds them, with clang and its libFuzzer"
        self.refused(text, "all", self.folder, "1")
        missing.mkdir()
        self.refused(text, "all", self.folder, "1")
        self.refused(text, missing, "events")

    def test_kinds_and_lengths(self) -> None:
        program = self.program("events")
        self.refused("no kind event: the kinds are " + ", ".join(KINDS), program, "event")
        self.refused("FUZZ_SECONDS is a whole number above 0, not '1.5'", program, "events", FUZZ_SECONDS="1.5")
        self.refused("FUZZ_RUNS is a whole number above 0, not 'all'", program, "events", FUZZ_RUNS="all")

    def test_a_file_that_is_no_program(self) -> None:
        program = self.program("events")
        program.write_text("fuzz")
        self.refused(f"{program} cannot be started: Exec format error", program, "events")

    def test_words(self) -> None:
        for words in ((), ("all",), ("a", "b", "c")):
            self.refused("usage: run.py PROGRAM KIND, or run.py all FOLDER HOURS", *words)

    def test_a_right_one_runs(self) -> None:
        command = [sys.executable, str(RUN), str(self.program("events")), "events"]
        self.assertEqual(subprocess.run(command, check=False, timeout=60).returncode, 0)


if __name__ == "__main__":
    unittest.main()
