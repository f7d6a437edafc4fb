# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab corpus`: real programs recorded, what is missing told, and nothing replaced unasked."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
import unittest

from laboratory import LAB, lab
from support import BUILD, ROOT, Scratch, clean_environment
from trace_reader import read_trace

from hakmem_lab.corpus.table import PROGRAMS

WHAT_THE_COMMAND_NEEDS = ("sh", "env", "readlink")


class Corpus(Scratch):
    def corpus(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return lab("corpus", "--build", str(BUILD), "-o", str(self.folder / "out"), *arguments, **variables)

    def made(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "out").iterdir())

    def poor_path(self) -> str:
        """Where none of the programs is found."""
        folder = self.folder / "bin"
        folder.mkdir()
        for name in WHAT_THE_COMMAND_NEEDS:
            (folder / name).symlink_to(str(shutil.which(name)))
        return str(folder)


class Recording(Corpus):
    def test_what_is_installed_is_recorded_and_what_is_missing_is_told(self) -> None:
        done = self.corpus("g++", "python3", PATH=self.poor_path())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        missing, recorded = done.stdout.splitlines()
        self.assertEqual(missing, "g++: not recorded, g++ is missing (apt-get install g++)")
        self.assertRegex(recorded, r"^python3: 1 process, 1 thread, [\d,]+ events, ")
        self.assertEqual(self.made(), ["python3.hakt"])
        (process,) = read_trace(self.folder / "out" / "python3.hakt").values()
        self.assertEqual(process.command[1:], ["-I", "json_and_dicts.py"])
        self.assertGreater(process.announced, 1000)

    def test_input_output_and_variables_are_the_programs_own(self) -> None:
        done = self.corpus("sqlite3")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(done.stdout.splitlines()), 1, "what sqlite3 says is not this command's output")

    def test_ctrl_c_leaves_what_was_finished(self) -> None:
        command = [LAB, "corpus", "--build", str(BUILD), "-o", str(self.folder / "out"), "python3", "redis-server"]
        with subprocess.Popen(command, env=clean_environment(TMPDIR=str(self.folder)), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None and running.stderr is not None
            self.assertRegex(running.stdout.readline(), "^python3: ")
            self.await_folder()
            running.send_signal(signal.SIGINT)
            self.assertEqual(running.stdout.read(), "")
            self.assert_one_line(running.stderr.read())
        self.assertEqual(running.returncode, -signal.SIGINT)
        self.assertEqual(self.made(), ["python3.hakt"])
        self.assertEqual(list(self.folder.glob("hakmem-*")), [])

    def await_folder(self) -> None:
        """Until the second program is being recorded."""
        while not list((self.folder / "out").glob(".hakmem-trace-*/calls.*")):
            time.sleep(0.02)

    def test_a_program_that_fails_is_told(self) -> None:
        (self.folder / "bin").mkdir()
        failing = self.folder / "bin" / "sqlite3"
        failing.write_text("#!/bin/sh\nls /nowhere\nexit 7\n")
        failing.chmod(0o755)
        done = self.corpus("sqlite3", PATH=f"{failing.parent}:/usr/bin:/bin")
        self.assertEqual(done.returncode, 1)
        self.assertIn("sqlite3: exited with 7: ", done.stdout)


class Refusing(Corpus):
    def assert_refused(self, done: subprocess.CompletedProcess[str], *words: str) -> None:
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assert_one_line(done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_a_trace_that_is_there_stays(self) -> None:
        there = self.folder / "out" / "z3.hakt"
        there.parent.mkdir()
        there.write_text("mine")
        self.assert_refused(self.corpus("z3", "python3"), "z3.hakt is there already", "--force")
        self.assertEqual((there.read_text(), self.made()), ("mine", ["z3.hakt"]))

    def test_a_name_that_is_none(self) -> None:
        self.assert_refused(self.corpus("sqlite"), "sqlite: no such program in the corpus (nearest: sqlite3)")

    def test_none_is_installed(self) -> None:
        done = self.corpus("z3", PATH=self.poor_path())
        self.assertEqual(done.returncode, 2)
        self.assert_one_line(done.stderr)


class Table(unittest.TestCase):
    def test_packages_are_those_that_make_corpus_installs(self) -> None:
        lines = (ROOT / "scripts" / "corpus.txt").read_text().splitlines()
        listed = dict(line.split(": ") for line in lines if not line.startswith("#"))
        self.assertEqual({row.name: row.package for row in PROGRAMS if row.name != "python3-malloc"}, listed)

    def test_inputs_are_the_same_each_time(self) -> None:
        for row in PROGRAMS:
            if row.text:
                self.assertEqual(row.text(), row.text())


if __name__ == "__main__":
    unittest.main()
