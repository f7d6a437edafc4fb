# SPDX-License-Identifier: MIT OR Apache-2.0
"""scripts/dist.py: the archive is the same each time, and what is built from it elsewhere is, byte for byte, what is
built here. libhakmem.so is compiled once more for that, and with HAK_TEST_SCALE above 1 (`make stress`) all libraries."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HAK_TEST_BUILD"])
COMPILER = os.environ["HAK_TEST_COMPILER"]
WHOLE = int(os.environ.get("HAK_TEST_SCALE", "1")) > 1
TARGET = "libraries" if WHOLE else "hakmem"
LIBRARIES = ("libhakmem.so", *(("libhakmem.a", "libhakmem-override.a", "libhakmem-dl.so") if WHOLE else ()))
ANSWER = """import ctypes
ask = ctypes.CDLL(None).hak_bytes_in_use
ask.restype = ctypes.c_size_t
print(ask() > 4096)"""


def run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SOURCE_DATE_EPOCH"))}
    return subprocess.run([str(word) for word in command], cwd=cwd, env={**kept, **variables},
                          capture_output=True, text=True, check=False)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Archive(unittest.TestCase):
    """One unpacked archive for all of them: tests run in the order of their names."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="hakmem-dist-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.file = cls.folder / "first.tar.gz"
        cls.said = run(sys.executable, ROOT / "scripts/dist.py", "-o", cls.file)
        with tarfile.open(cls.file) as archive:
            archive.extractall(cls.folder / "a place of another length")
        (cls.top,) = (cls.folder / "a place of another length").iterdir()

    def succeeds(self, done: subprocess.CompletedProcess[str]) -> str:
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_1_it_is_the_same_each_time(self) -> None:
        self.succeeds(self.said)
        second = self.folder / "second.tar.gz"
        self.succeeds(run(sys.executable, ROOT / "scripts/dist.py", "-o", second))
        self.assertEqual(digest(second), digest(self.file))

    def test_2_an_unpacked_one_makes_the_same(self) -> None:
        self.assertFalse((self.top / ".git").exists())
        again = self.folder / "again.tar.gz"
        self.succeeds(run(self.top / "scripts/dist.py", "-o", again, cwd=self.top))
        self.assertEqual(digest(again), digest(self.file))

    def test_3_its_checks_pass(self) -> None:
        for check in ("check_spdx.py", "check_style.py"):
            self.succeeds(run(sys.executable, self.top / "scripts" / check, cwd=self.top))

    def test_4_it_builds_the_bytes_that_were_built_here(self) -> None:
        out = self.folder / "out"
        self.succeeds(run("cmake", "--preset", "release", "-B", out, "-DHAK_BUILD_TESTS=OFF",
                          f"-DCMAKE_C_COMPILER={COMPILER}", cwd=self.top))
        self.succeeds(run("cmake", "--build", out, "--target", TARGET))
        differ = [name for name in LIBRARIES if digest(out / name) != digest(BUILD / name)]
        self.assertEqual(differ, [])
        for name in LIBRARIES:
            text = (out / name).read_bytes()
            self.assertNotIn(str(self.folder).encode(), text, f"{name} names the folder it was built in")

    def test_5_a_program_runs_on_it(self) -> None:
        done = run("/usr/bin/python3", "-c", ANSWER, LD_PRELOAD=str(self.folder / "out/libhakmem.so"))
        self.assertEqual((done.stdout, done.stderr), ("True\n", ""))

    def test_6_what_cannot_be_written_is_told_in_a_line(self) -> None:
        done = run(sys.executable, self.top / "scripts/dist.py", "-o", self.folder / "none/x.tar.gz", cwd=self.top)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\Adist: .*No such file or directory.*\n\Z")
        done = run(sys.executable, self.top / "scripts/dist.py", cwd=self.top, SOURCE_DATE_EPOCH="today")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "dist: SOURCE_DATE_EPOCH=today: not a number of seconds\n")


if __name__ == "__main__":
    unittest.main()
