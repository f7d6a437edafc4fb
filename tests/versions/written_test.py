# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files that a library of another version writes are read by these commands and this library, and a policy by that one: it
works, or one line says why not.

HAK_TEST_LIBRARY names libhakmem.so, HAK_TEST_BUILD the folder with the tools. HAK_TEST_OLD is a build folder of another
commit (versions.sh makes one); without it the library itself writes the files, and all must work.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LIBRARY = Path(os.environ["HAK_TEST_LIBRARY"]).resolve()
BUILD = os.environ["HAK_TEST_BUILD"]
OLD = os.environ.get("HAK_TEST_OLD")
OTHER = Path(OLD).resolve() / "libhakmem.so" if OLD else LIBRARY
HAKMEM = Path(sys.executable).with_name("hakmem")
PROGRAM = "rows = [bytes(n) for n in range(2000, 60000, 7)]; more = [bytes(3 << 20) for n in range(20)]; del rows, more"
EVOLVING = {"HAKMEM_MODE": "evolving", "HAKMEM_LAB_LEARN_KEEP": "on"}


def ran(library: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """A program of Python, each of whose objects is from malloc."""
    env = {"LD_PRELOAD": str(library), "PATH": os.environ["PATH"], "PYTHONMALLOC": "malloc"} | settings
    command = ["/usr/bin/python3", "-S", "-c", PROGRAM]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=100, check=False)


class Written(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def written(self, setting: str, **settings: str) -> Path:
        """The only file that the other library writes for this setting."""
        place = self.folder / setting
        place.mkdir()
        ended = ran(OTHER, **{f"HAKMEM_{setting}": str(place / "file")}, **settings)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        files = [path for path in place.iterdir() if not path.name.endswith(".lock")]
        self.assertEqual(len(files), 1, files)
        return files[0]

    def expect_read(self, *words: object) -> None:
        ended = subprocess.run([HAKMEM, *map(str, words)], capture_output=True, text=True, timeout=100, check=False)
        self.expect_sense(ended.returncode, ended.stdout, ended.stderr)

    def expect_sense(self, status: int, text: str, said: str) -> None:
        """Read without a word, or refused in one line."""
        print(f"{self.id().rsplit('.', 1)[1]}: " + (said.strip() or "read"), flush=True)
        if status == 0 and said == "":
            self.assertNotEqual(text, "")
            return
        self.assertIsNotNone(OLD, said)
        self.assertEqual(status, 2)
        self.assertRegex(said, r"\Ahakmem: [^\n]+\n\Z")
        self.assertNotIn("is missing", said)

    def test_profile(self) -> None:
        self.expect_read("profile", self.written("PROFILE_FILE", HAKMEM_PROFILE_BYTES="64K"))

    def test_table_of_samples(self) -> None:
        self.expect_read("profile", self.written("PROFILE_TABLE", HAKMEM_PROFILE_BYTES="64K"))

    def test_trace(self) -> None:
        """The files of its processes are packed, and the pack is read."""
        file = self.folder / "calls.hakt"
        env = {"PATH": os.environ["PATH"], "PYTHONMALLOC": "malloc"}
        words = ["trace", "--library", OTHER, "-o", file, "/usr/bin/python3", "-S", "-c", PROGRAM]
        ended = subprocess.run([HAKMEM, *map(str, words)], env=env, capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.expect_read("sites", "--build", BUILD, "--trace", file)

    def test_policy(self) -> None:
        self.expect_read("policy", self.written("POLICY_FILE", **EVOLVING))

    def expect_start(self, library: Path, policy: Path, mode: str) -> None:
        """The program runs, and says nothing of the policy or one line."""
        ended = ran(library, HAKMEM_MODE=mode, HAKMEM_POLICY_FILE=str(policy))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertRegex(ended.stderr, r"\A(hakmem: policy_file: [^\n]+\n)?\Z")
        print(f"{mode}: {ended.stderr.strip() or 'read'}", flush=True)
        if OLD is None:
            self.assertEqual(ended.stderr, "")

    def test_policy_at_start(self) -> None:
        """Also one that both versions have written, in the version that wrote first."""
        policy = self.written("POLICY_FILE", **EVOLVING)
        turns = ((LIBRARY, "frozen"), (LIBRARY, "evolving"), (OTHER, "frozen"), (OTHER, "evolving"), (LIBRARY, "frozen"))
        for library, mode in turns:
            with self.subTest(library=str(library), mode=mode):
                self.expect_start(library, policy, mode)


if __name__ == "__main__":
    unittest.main()
