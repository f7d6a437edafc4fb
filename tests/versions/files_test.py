# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files of an older HAKMEM (files/, by commit 1e3a75f3 of 2026-11-25) are read by this one, or refused in one line.

HAK_TEST_LIBRARY names libhakmem.so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FILES = Path(__file__).with_name("files")
LIBRARY = os.environ["HAK_TEST_LIBRARY"]
HAKMEM = Path(sys.executable).with_name("hakmem")


def hakmem(*words: object) -> tuple[int, str, str]:
    ended = subprocess.run([HAKMEM, *map(str, words)], capture_output=True, text=True, timeout=100, check=False)
    return ended.returncode, ended.stdout, ended.stderr


class OldFiles(unittest.TestCase):
    def test_a_policy_is_shown(self) -> None:
        status, out, said = hakmem("policy", FILES / "policy-1")
        self.assertEqual((status, said), (0, ""))
        self.assertIn("break-even", out)

    def test_a_policy_is_read_at_start_and_written_in_the_new_format(self) -> None:
        for mode, first in (("frozen", "hakmem-policy 1"), ("evolving", "hakmem-policy 3")):
            with self.subTest(mode), tempfile.TemporaryDirectory() as scratch:
                policy = Path(scratch) / "policy"
                shutil.copy(FILES / "policy-1", policy)
                policy.chmod(0o600)
                env = {"LD_PRELOAD": LIBRARY, "HAKMEM_MODE": mode, "HAKMEM_POLICY_FILE": str(policy), "PATH": os.environ["PATH"]}
                ended = subprocess.run(["ls", "/"], env=env, capture_output=True, text=True, timeout=100, check=False)
                self.assertEqual(ended.returncode, 0)
                self.assertRegex(ended.stderr, r"^(hakmem: policy_file: \S+: 4 of its 9 rows ignored: no module of theirs is loaded\n)?$")
                self.assertEqual(policy.read_text(encoding="utf-8").splitlines()[0], first)

    def test_a_profile_is_read(self) -> None:
        status, out, said = hakmem("profile", FILES / "profile.1")
        self.assertEqual((status, said), (0, ""))
        self.assertIn("559 MiB", out)

    def test_a_table_of_samples_is_refused_in_one_line(self) -> None:
        path = FILES / "table.1"
        self.assertEqual(hakmem("profile", path), (2, "", f"hakmem: {path}: a table of samples, of another version of HAKMEM\n"))


if __name__ == "__main__":
    unittest.main()
