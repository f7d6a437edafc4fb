# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of constants is about this source, and is complete in itself."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
from hakmem_lab.constants import page  # noqa: E402
from hakmem_lab.constants import rows as table  # noqa: E402

CSV, PAGE = ROOT / "lab/docs/constants.csv", ROOT / "lab/docs/constants.md"


def row(**changed: str) -> table.Row:
    cells = dict.fromkeys(table.KEPT, "") | {"name": "A", "file": "a.c", "before": "A = ", "value": "4", "half": "2"}
    return table.Row(**(cells | {"status": "stays"} | changed))


class Source(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def faults(self, text: str, **changed: str) -> list[str]:
        (self.root / "a.c").write_text(text)
        return table.faults(self.root, [row(**changed)])

    def test_the_value_that_is_there(self) -> None:
        self.assertEqual(self.faults("enum { A = 4, AA = 4 };"), [])

    def test_another_value(self) -> None:
        for text in ("enum { A = 5 };", "enum { A = 40 };", "enum { BA = 4 };", "enum { A = 4, C, A = 4 };", ""):
            self.assertEqual(len(self.faults(text)), 1, text)

    def test_no_such_file(self) -> None:
        self.assertEqual(len(table.faults(self.root, [row()])), 1)

    def test_what_else_a_variant_needs(self) -> None:
        self.assertEqual(self.faults("A = 4; B = 1;", also="a.c|B = 1|B = 2|B = 0"), [])
        self.assertEqual(len(self.faults("A = 4;", also="a.c|B = 1|B = 2|B = 0")), 1)

    def test_edits(self) -> None:
        self.assertEqual(table.edits(row(also="a.c|B|C|D"), "half"), [("a.c", "A = 4", "A = 2"), ("a.c", "B", "C")])

    def test_settings_of_each_side(self) -> None:
        self.assertEqual(row(settings="P=1|P=2 Q=3").settings_of("double"), {"P": "2", "Q": "3"})
        self.assertEqual(row(settings="P=1").settings_of("double"), {"P": "1"})
        self.assertEqual(row().settings_of("half"), {})


class Table(unittest.TestCase):
    def setUp(self) -> None:
        self.rows = table.read(CSV)

    def test_is_true_of_the_source(self) -> None:
        self.assertEqual(table.faults(ROOT, self.rows), [])

    def test_each_row_says_why(self) -> None:
        for one in self.rows:
            self.assertTrue(one.decides and one.why, one.name)

    def test_each_variant_that_the_model_reaches_was_measured(self) -> None:
        for one in self.rows:
            for side in table.SIDES:
                measured = one.reach == "model" and one.side(side) != ""
                self.assertEqual(one.measured[f"{side}_cost"] != "", measured, one.name)

    def test_names_are_of_one_row(self) -> None:
        names = [one.name for one in self.rows]
        self.assertEqual(len(names), len(set(names)))

    def test_the_page_has_it(self) -> None:
        self.assertTrue(page.tables(self.rows) in PAGE.read_text(), "the page holds another table: make constants")


if __name__ == "__main__":
    unittest.main()
