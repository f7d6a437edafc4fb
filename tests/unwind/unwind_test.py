# SPDX-License-Identifier: MIT OR Apache-2.0
"""Stacks walked by HAKMEM beside the same stacks walked by libgcc (beside.c)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

NAMES = ("BESIDE", "CASES", "LIBRARY", "EVEN", "ODD")
BESIDE, CASES, LIBRARY, EVEN, ODD = (os.environ[f"HAK_{name}"] for name in NAMES)
LINE = re.compile(r"(?m)^equal (\d+) longer (\d+) shorter (\d+) different (\d+) frames (\d+) (.*)$")
CODE = """
#include <map>
#include <string>
#include <regex>
std::map<std::string, std::string> all;
int main() { all["a"] = "b"; return std::regex_match("aab", std::regex("a+b")); }
"""


class Sums(NamedTuple):
    equal: int
    longer: int
    shorter: int
    different: int
    frames: int


class Beside(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def beside(self, *words: str, step: int = 1, **variables: str) -> Sums:
        """All processes of the command together."""
        file = self.folder / "sums"
        file.unlink(missing_ok=True)
        environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": BESIDE, "HAK_BESIDE_FILE": str(file),
                       "HAK_BESIDE_STEP": str(step), **variables}
        done = subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=100)
        self.assertEqual(done.returncode, 0, words)
        self.said = file.read_text()
        rows = [tuple(map(int, found[:5])) for found in LINE.findall(self.said)]
        return Sums(*map(sum, zip(*rows)))

    def assert_equal(self, sums: Sums, least: int) -> None:
        self.assertEqual((sums.shorter, sums.different), (0, 0), self.said)
        self.assertGreaterEqual(sums.equal, least, self.said)


class Cases(Beside):
    def test_frames_of_compilers(self) -> None:
        """Rooms on the stack, locals aligned beyond what calls keep, exceptions, a frame kept in another register."""
        for how, least in (("rooms", 60), ("aligned", 60), ("exceptions", 1000), ("other", 4)):
            with self.subTest(how):
                sums = self.beside(CASES, how)
                self.assert_equal(sums, least)
                self.assertEqual(sums.longer, 0)

    def test_signal_handlers(self) -> None:
        """That allocate: of a signal that the thread sent, and of a timer at any instruction; on a stack apart, too."""
        for how in ("signals", "signals_apart"):
            with self.subTest(how):
                self.assert_equal(self.beside(CASES, how), 500)

    def test_stacks_of_the_programs_own(self) -> None:
        for how, least in (("contexts", 4000), ("threads", 1200)):
            with self.subTest(how):
                self.assert_equal(self.beside(CASES, how), least)

    def test_code_without_a_table(self) -> None:
        """Is passed by its frame pointer: longer than libgcc's."""
        sums = self.beside(CASES, "without_table")
        self.assert_equal(sums, 0)
        self.assertEqual(sums.longer, 4)

    def test_words_that_are_no_frames(self) -> None:
        """No crash (libgcc's has one), and no address that is none of code."""
        self.beside(CASES, "corrupt", EVEN, HAK_BESIDE_ALONE="1")
        for frames in ("off", "on"):
            variables = {"LD_PRELOAD": LIBRARY, "HAKMEM_PROFILE": "on", "HAKMEM_PROFILE_BYTES": "1",
                         "HAKMEM_PROFILE_FRAMES": frames}
            done = subprocess.run([CASES, "corrupt", EVEN], env=variables, timeout=100)
            self.assertEqual(done.returncode, 0, frames)

    def modules(self, threads: int) -> str:
        for number in range(threads):
            shutil.copy(EVEN, self.folder / f"even{number}.so")
            shutil.copy(ODD, self.folder / f"odd{number}.so")
        return str(self.folder)

    def test_modules_that_replace_each_other(self) -> None:
        """At the same addresses, from which the same calls return out of other frames."""
        self.assert_equal(self.beside(CASES, "storm", self.modules(1), "1", "300"), 1200)

    def test_a_storm_of_modules(self) -> None:
        """By four threads: one may be taken for the one before it while a third thread opens one."""
        sums = self.beside(CASES, "storm", self.modules(4), "4", "300")
        self.assertLess(sums.shorter + sums.different, sums.equal / 200, self.said)
        done = subprocess.run([CASES, "storm", str(self.folder), "4", "300"], timeout=100, env={
            "LD_PRELOAD": LIBRARY, "HAKMEM_PROFILE": "on", "HAKMEM_PROFILE_BYTES": "1"})
        self.assertEqual(done.returncode, 0)


def installed(*names: str) -> Iterator[str]:
    return (path for path in map(shutil.which, names) if path)


class Programs(Beside):
    def test_python(self) -> None:
        code = "import json, re, ssl, threading; json.dumps(list(range(1000)))"
        sums = self.beside("/usr/bin/python3", "-c", code, step=37, PYTHONMALLOC="malloc")
        self.assert_equal(sums, 1000)

    def test_a_compiler(self) -> None:
        source = self.folder / "source.cpp"
        source.write_text(CODE)
        for name in installed("g++"):
            sums = self.beside(name, "-O1", "-c", str(source), "-o", str(self.folder / "object"), step=211)
            self.assert_equal(sums, 1000)

    def test_scripts(self) -> None:
        for words in (("perl", "-e", "$h{$_} = [1 .. 5] for 1 .. 1000"),
                      ("bash", "-c", "for i in 1 2 3; do x=$(echo $i); done"),
                      ("lua5.4", "-e", "local t = {} for i = 1, 3000 do t[i] = {tostring(i)} end")):
            for name in installed(words[0]):
                with self.subTest(name):
                    self.assert_equal(self.beside(name, *words[1:], step=5), 100)

    def test_code_made_at_run_time(self) -> None:
        """The stacks of V8 and of the JVM go through it, where libgcc's end."""
        java = self.folder / "T.java"
        java.write_text("class T { public static void main(String[] a) { System.out.println(a.length); } }")
        for words in (("node", "-e", "let a = []; for (let i = 0; i < 1e4; i++) a.push({i}); JSON.stringify(a)"),
                      ("java", str(java))):
            for name in installed(words[0]):
                with self.subTest(name):
                    sums = self.beside(name, *words[1:], step=41)
                    self.assert_equal(sums, 100)
                    self.assertGreater(sums.longer, 10)


if __name__ == "__main__":
    sys.exit(unittest.main())
