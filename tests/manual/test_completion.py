# SPDX-License-Identifier: MIT OR Apache-2.0
"""completions/ in the shells themselves: what each offers behind a beginning. zsh is typed to, on a terminal."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHELLS = ROOT / "completions"
BASH = f"""
source {SHELLS}/hakmem.bash
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hakmem hakmem
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
FIRST = {"run", "trace", "replay", "profile", "decisions", "policy"}
PATIENCE = 60


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "a.hakt").touch()
        (self.folder / "afolder").mkdir()

    def run_shell(self, *command: str) -> set[str]:
        environment = {**os.environ, "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder), "TERM": "dumb"}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {line.split("\t")[0] for line in done.stdout.splitlines() if line}


class Bash(Case):
    def offered(self, *words: str) -> set[str]:
        return self.run_shell("bash", "--norc", "-c", BASH, "bash", "hakmem", *words)

    def test_commands_and_what_is_below_them(self) -> None:
        self.assertLessEqual(FIRST, self.offered(""))
        self.assertEqual(self.offered("exp"), {"explain"})

    def test_options(self) -> None:
        self.assertEqual(self.offered("run", "--ru"), {"--runs"})
        self.assertEqual(self.offered("report", "--o"), {"--output"})
        self.assertEqual(self.offered("run", "--runs", ""), set())

    def test_files_and_folders(self) -> None:
        self.assertEqual(self.offered("replay", "a"), {"a.hakt", "afolder"})
        self.assertEqual(self.offered("run", "--build", "a"), {"afolder"})
        self.assertEqual(self.offered("trace", "-o", "a."), {"a.hakt"})

    def test_programs_and_their_own_words(self) -> None:
        self.assertIn("true", self.offered("run", "tru"))
        self.assertIn("true", self.offered("trace", "-o", "x", "--", "tru"))
        self.assertEqual(self.offered("run", "ls", "--ru"), set())
        self.assertEqual(self.offered("run", "ls", "a."), {"a.hakt"})


class Fish(Case):
    def offered(self, line: str) -> set[str]:
        return self.run_shell("fish", "--no-config", "-c", f"source {SHELLS}/hakmem.fish; complete -C '{line}'")

    def test_commands_options_and_files(self) -> None:
        self.assertLessEqual(FIRST, self.offered("hakmem "))
        self.assertEqual(self.offered("hakmem exp"), {"explain"})
        self.assertEqual(self.offered("hakmem run --ru"), {"--runs"})
        self.assertEqual(self.offered("hakmem run --runs "), set())
        self.assertEqual(self.offered("hakmem replay a"), {"a.hakt", "afolder/"})
        self.assertEqual(self.offered("hakmem run --build a"), {"afolder/"})

    def test_programs_and_their_own_words(self) -> None:
        self.assertIn("true", self.offered("hakmem run tru"))
        self.assertIn("true", self.offered("hakmem trace -o x -- tru"))
        self.assertNotIn("--runs", self.offered("hakmem run ls --ru"))
        self.assertIn("a.hakt", self.offered("hakmem run --runs 3 ls a."))


class Zsh(Case):
    READY = "ready\r"
    START = "fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; echo re''ady\n"
    DELETE_LINE = "\x15"

    def setUp(self) -> None:
        super().setUp()
        shutil.copy(SHELLS / "_hakmem", self.folder)
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            self.become_zsh()
        self.addCleanup(os.waitpid, self.child, 0)
        self.addCleanup(os.close, self.terminal)
        self.says(self.START, self.READY)

    def become_zsh(self) -> None:
        try:
            os.chdir(self.folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "COLUMNS": "200", "PS1": "> "})
        finally:
            os._exit(127)

    def says(self, typed: str, expected: str) -> None:
        """What is expected comes to stand on the terminal."""
        os.write(self.terminal, typed.encode())
        text, end = "", time.monotonic() + PATIENCE
        while expected not in text and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                text += os.read(self.terminal, 65536).decode(errors="replace")
        self.assertIn(expected, text)

    def completes(self, line: str, whole: str) -> None:
        self.says(f"{line}\t", whole)
        os.write(self.terminal, self.DELETE_LINE.encode())

    def test_commands_options_and_files(self) -> None:
        for line, whole in (
            ("hakmem exp", "hakmem explain "), ("hakmem report --se", "hakmem report --seconds "),
            ("hakmem run --ru", "hakmem run --runs "), ("hakmem replay a.", "hakmem replay a.hakt "),
            ("hakmem run --build af", "hakmem run --build afolder/"), ("hakmem trace -o a.", "hakmem trace -o a.hakt "),
        ):
            self.completes(line, whole)

    def test_programs_and_their_own_words(self) -> None:
        for line, whole in (
            ("hakmem run whoam", "hakmem run whoami "), ("hakmem run -- whoam", "hakmem run -- whoami "),
            ("hakmem trace -o x whoam", "hakmem trace -o x whoami "), ("hakmem run ls a.", "hakmem run ls a.hakt "),
        ):
            self.completes(line, whole)


if __name__ == "__main__":
    unittest.main()
