# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of faults is true of the tree: each text stands once in its file. And the runner's own parts."""
from __future__ import annotations

import csv
import sys
import tempfile
import unittest
from pathlib import Path

import ctest
import faults
import run

RECORD = faults.FOLDER / "results.csv"


class Table(unittest.TestCase):
    def test_each_text_stands_once_in_its_file(self) -> None:
        table = faults.read_faults()
        self.assertGreaterEqual(len(table), 100)
        wrong = []
        for fault in table:
            try:
                fault.seeded(faults.ROOT)
            except faults.BadTable as trouble:
                wrong.append(str(trouble))
        self.assertEqual(wrong, [])

    def test_each_fault_has_a_layer_with_units(self) -> None:
        self.assertEqual({f.layer for f in faults.read_faults()} - run.UNITS_OF_LAYER.keys(), set())

    def test_recorded_verdicts_are_about_faults_of_the_table(self) -> None:
        digests = {fault.name: fault.digest for fault in faults.read_faults()}
        with RECORD.open(newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["fault"] for row in rows if digests.get(row["fault"]) != row["digest"]], [])


class Seeding(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        (self.root / "src/os").mkdir(parents=True)
        (self.root / "src/os/a.c").write_text("x + 1;\ny + 1;\n")

    def fault(self, old: str, file: str = "os/a.c") -> faults.Fault:
        return faults.Fault("some", file, "kind", "breaks", old, "z")

    def test_replaces_the_text(self) -> None:
        self.assertEqual(self.fault("y + 1").seeded(self.root), "x + 1;\nz;\n")

    def test_refuses_a_text_that_is_gone_or_stands_twice_in_one_line(self) -> None:
        for old, times in (("w", 0), (" + 1", 2)):
            why = f"^some: its text stands {times} times in src/os/a.c, not once$"
            with self.assertRaisesRegex(faults.BadTable, why):
                self.fault(old).seeded(self.root)
        with self.assertRaisesRegex(faults.BadTable, "^some: no file src/os/b.c$"):
            self.fault("x", "os/b.c").seeded(self.root)

    def test_refuses_a_table_with_a_missing_field_or_a_name_twice(self) -> None:
        whole = '[[fault]]\nname="n"\nfile="f"\nkind="k"\nbreaks="b"\nold="o"\nnew="w"\n'
        path = self.root / "os.toml"
        for text, why in ((whole.replace('kind="k"\n', ""), "os.toml: n: fields are"),
                          (whole + whole, "two faults have the name n"),
                          (whole.replace('"w"', '"o"'), "os.toml: n: the fault is no change")):
            path.write_text(text)
            with self.assertRaisesRegex(faults.BadTable, why):
                faults.read_faults(self.root)

    def test_chooses_by_name_layer_or_file(self) -> None:
        table = [self.fault("x"), self.fault("y", "base/b.c")]
        self.assertEqual([f.old for f in faults.chosen(table, ["base"])], ["y"])
        self.assertEqual([f.old for f in faults.chosen(table, ["os/a.c"])], ["x"])
        self.assertEqual(len(list(faults.chosen(table, ["some"]))), 2)
        with self.assertRaisesRegex(faults.BadTable, "^no fault, layer or file of the table is called cache$"):
            faults.chosen(table, ["cache"])


class Targets(unittest.TestCase):
    def test_a_test_of_programs_has_its_libraries_built_anew(self) -> None:
        self.assertEqual(run.stage_of_tests("unit_slab"), run.Stage(("tests/unit/unit_slab",), "(unit_slab)$"))
        self.assertEqual(run.stage_of_tests("wrongfree").targets, ("libraries", "tests/wrongfree/all"))
        self.assertEqual(run.stage_of_tests("soak_short").targets, ("all",))
        late = run.stages_of(faults.read_faults()[0], frozenset({"unit_slab"}))[2:-1]
        self.assertEqual({stage.targets[0] for stage in late}, {"libraries"})


class Running(unittest.TestCase):
    def program(self, name: str, text: str) -> ctest.Test:
        return ctest.Test(name, (sys.executable, "-c", text), ".", {"MARK": "7"}, frozenset())

    def endings(self, *tests: ctest.Test, to_the_end: bool = False) -> list[tuple[str, str]]:
        limits = {test.name: 5.0 if test.name != "slow" else 0.3 for test in tests}
        return [(e.test, e.how) for e in ctest.run(tests, limits, 1, to_the_end)]

    def test_stops_at_the_first_failure(self) -> None:
        good = self.program("good", "import os; assert os.environ['MARK'] == '7'")
        bad = self.program("bad", "raise SystemExit(3)")
        self.assertEqual(self.endings(good, bad, good), [("good", "passed"), ("bad", "failed")])
        self.assertEqual(len(self.endings(good, bad, good, to_the_end=True)), 3)

    def test_ends_a_test_beyond_its_limit_with_its_children(self) -> None:
        slow = self.program("slow", "import subprocess; subprocess.run(['sleep', '60'])")
        self.assertEqual(self.endings(slow), [("slow", "time limit")])

    def test_a_fault_that_survived_goes_on_where_it_stopped(self) -> None:
        fault = faults.read_faults()[0]
        row = {"fault": fault.name, "verdict": "survived", "stages": "2", "digest": fault.digest}
        self.assertEqual(run.stages_passed(fault, {}), 0)
        self.assertEqual(run.stages_passed(fault, {fault.name: row}), 2)
        self.assertEqual(run.stages_passed(fault, {fault.name: {**row, "digest": "0"}}), 0)
        self.assertEqual(run.stages_passed(fault, {fault.name: {**row, "verdict": "caught"}}), run.STAGES)


if __name__ == "__main__":
    unittest.main()
