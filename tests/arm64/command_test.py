# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command `hakmem` in a root of Debian for arm64, under qemu-user: what a user would try first, and what it refuses.

HAK_TEST_BUILD names the build folder with the libraries and tools for AArch64; see root.py for the root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from root import BASE, HERE, ROOT, inside  # noqa: E402

CHECKOUT = ROOT / "opt" / "hakmem"
SQL = ("sqlite3", ":memory:", "select 1 + 1")


def setUpModule() -> None:
    """As a checkout that was built there. A tool is its own file, without what starts it in the cross build."""
    build = Path(os.environ["HAK_TEST_BUILD"])
    shutil.rmtree(CHECKOUT, ignore_errors=True)
    shutil.copytree(HERE.parents[1] / "cli", CHECKOUT / "cli", ignore=shutil.ignore_patterns("__pycache__", "tests"))
    (CHECKOUT / "build" / "release").mkdir(parents=True)
    for file in (*build.glob("libhak*.so*"), *build.glob("hak_*")):
        own = file.with_name(f"{file.name}.elf")
        if file.is_file() and file.suffix != ".elf":
            shutil.copy(own if own.exists() else file, CHECKOUT / "build" / "release" / file.name)


class Command(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory(dir=ROOT / "tmp")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def hakmem(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        command = inside(self.folder, BASE | {"PYTHONDONTWRITEBYTECODE": "1"}, "/opt/hakmem/cli/bin/hakmem", *arguments)
        ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual(ended.returncode, status, f"{ended.stdout}\n{ended.stderr}")
        return ended

    def test_doctor(self) -> None:
        said = self.hakmem("doctor", "sqlite3").stdout
        self.assertIn("served /bin/true", said)
        self.assertIn("HAKMEM would serve sqlite3; all is well", said)

    def test_exec(self) -> None:
        self.assertEqual(self.hakmem("exec", "--", *SQL).stdout, "2\n")
        self.assertIn("served       by HAKMEM: malloc and free are HAKMEM's", self.hakmem("exec", "--stats", "--", *SQL).stderr)

    def test_run(self) -> None:
        said = self.hakmem("run", "--runs", "1", "--", *SQL)
        self.assertEqual(said.stdout, "2\n")
        self.assertIn("served by HAKMEM: malloc and free are those of /opt/hakmem/build/release/libhakmem.so", said.stderr)

    def test_profile_and_report(self) -> None:
        program = "words = [str(n) * 9 for n in range(99999)]"
        said = self.hakmem("exec", "--profile=heap.pb.gz", "--", "python3", "-c", program).stderr
        self.assertIn("heap profile heap.pb.gz", said)
        self.assertIn("_PyEval_EvalFrameDefault", said)
        self.assertIn("in use by HAKMEM's counters", self.hakmem("report", "heap.pb.gz", "-o", "page.html").stdout)
        self.assertIn("_PyEval_EvalFrameDefault", (self.folder / "page.html").read_text(encoding="utf-8"))

    def test_other_processors(self) -> None:
        for architecture in ("armhf", "s390x"):
            for command in ("exec", "run"):
                with self.subTest(f"{command} {architecture}"):
                    path = f"/opt/foreign/hello-{architecture}"
                    said = self.hakmem(command, "--", path, status=2)
                    self.assertEqual((said.stdout, said.stderr), ("", (f"hakmem: {path}: hello-{architecture} is built for another kind "
                                                                       "of machine than libhakmem.so; HAKMEM cannot serve it\n")))


if __name__ == "__main__":
    unittest.main()
