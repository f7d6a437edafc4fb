# SPDX-License-Identifier: MIT OR Apache-2.0
"""check_names.py finds static names of every shape, and those that stand in two files."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import check_names  # noqa: E402


class Names(unittest.TestCase):
    def test_names_of_every_shape(self) -> None:
        for text in ("static int it(int a) { return a; }\n", "static int it(void);\n", "HAK_INLINE void *it(void) {\n}\n",
                     "static HAK_NOINLINE struct box it(struct box b) {\n}\n", "static int it = 1;\n", "static int it;\n",
                     "static HAK_TABLE_AT(3) struct {\n  int a;\n} it;\n", "static const char it[] = {1, 2};\n",
                     "static const struct row {\n  int a;\n} it[2] = {\n  {1},\n};\n", "static struct row it[4][5];\n",
                     "struct a { int b; };\nenum { C };\nstatic bool it(void) { return f(1); }\n"):
            self.assertEqual(check_names.static_names(text), {"it"}, text)

    def test_what_is_not_static_at_file_level(self) -> None:
        for text in ("int f(void) {\n  static int n;\n  return n++;\n}\n", "extern int n;\n", "/* static int n; */\n",
                     "#define X static int n;\n", "static_assert(1 == 1, \"n\");\n"):
            self.assertEqual(check_names.static_names(text), set(), text)


class Tree(unittest.TestCase):
    def doubles(self, **files: str) -> dict[str, list[str]]:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "src/os").mkdir(parents=True)
            for name, text in files.items():
                (Path(folder) / f"src/os/{name}.c").write_text(text, encoding="utf-8")
            return check_names.doubles(Path(folder))

    def test_a_name_in_two_files_is_found(self) -> None:
        self.assertEqual(self.doubles(a="static int it;\n", b="static void it(void) { }\n"), {"it": ["os/a.c", "os/b.c"]})

    def test_a_name_twice_in_one_file_is_one(self) -> None:
        self.assertEqual(self.doubles(a="static int it(void);\nstatic int it(void) { }\n", b="static int other;\n"), {})


if __name__ == "__main__":
    unittest.main()
