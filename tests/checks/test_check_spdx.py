# SPDX-License-Identifier: MIT OR Apache-2.0
"""check_spdx.py finds what is missing, and adds nothing else."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import check_spdx  # noqa: E402

C_LINE = f"/* {check_spdx.LICENCE} */\n"
HASH_LINE = f"# {check_spdx.LICENCE}\n"


class Tree(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def test_a_file_without_the_line_is_found(self) -> None:
        self.write("src/a.c", C_LINE + "int a;\n")
        self.write("src/b.h", "int b;\n")
        self.write("tests/c.py", HASH_LINE)
        self.assertEqual(check_spdx.check(self.root), ([f"src/b.h:1: must be `{C_LINE.strip()}`"], 3))

    def test_it_stands_in_the_first_line_that_is_free(self) -> None:
        self.write("late.c", "int a;\n" + C_LINE)
        self.write("run", "#!/bin/sh\n" + HASH_LINE)
        self.assertEqual(check_spdx.check(self.root)[0], [f"late.c:1: must be `{C_LINE.strip()}`"])

    def test_what_is_added_is_one_line(self) -> None:
        cases = {
            "a.c": ("int a;\n", C_LINE + "int a;\n"), "b.sh": ("#!/bin/sh\n:\n", "#!/bin/sh\n" + HASH_LINE + ":\n"),
            "c.php": ("<?php\nf();\n", "<?php\n" + C_LINE + "f();\n"), "d.py": ("", HASH_LINE),
            "e.cmake": (HASH_LINE + "f()\n", HASH_LINE + "f()\n"),
        }
        for name, (before, _) in cases.items():
            self.write(name, before)
        self.assertEqual(check_spdx.check(self.root, adding=True)[0], [])
        for name, (_, after) in cases.items():
            self.assertEqual((self.root / name).read_text(), after, name)

    def test_a_file_under_another_licence_is_left_alone(self) -> None:
        text = C_LINE.replace("MIT OR Apache-2.0", "GPL-3.0-only")
        path = self.write("a.c", text)
        self.assertEqual(len(check_spdx.check(self.root, adding=True)[0]), 1)
        self.assertEqual(path.read_text(), text)

    def test_data_and_what_was_built_are_no_sources(self) -> None:
        for name in ("a.json", "b.md", "build/c.c", "python/x.egg-info/d.py", "golden.txt"):
            self.write(name, "{}\n")
        self.assertEqual(check_spdx.check(self.root), ([], 0))


if __name__ == "__main__":
    unittest.main()
