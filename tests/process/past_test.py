# SPDX-License-Identifier: MIT OR Apache-2.0
"""What earlier runs of a program say of the next one: in files of a folder, one for each program.

Run with the variables of process_case.py set.
"""

import os
import re
import subprocess
import unittest
from pathlib import Path

from learn_case import LearnCase, sealed
from process_case import Result, environment, page_cost, program, run

MIB = 48
LITTLE, MUCH = 16, 40  # MiB left after the first fall
# A page fetched again costs far more than its rent for the length of a run; free memory still needs proof to stay.
COSTS = {"HAKMEM_LAB_COST_CALL": "2000", "HAKMEM_LAB_COST_PAGE": page_cost(1000), "HAKMEM_PRICE": "100000"}
NAME = re.compile(r"process_falls-[0-9a-f]{16}\.policy")


class Past(LearnCase):
    def falls(self, *words: str, mib: int = MIB, mode: str = "evolving", **settings: str) -> Result:
        paths = {"HAKMEM_POLICY_FILE": f"{self.folder}/"}
        return run(program("falls"), str(mib), *words, **(COSTS | paths | {"HAKMEM_MODE": mode} | settings))

    def left(self, *words: str, **more: object) -> int:
        result = self.falls(*words, **more)  # type: ignore[arg-type]
        self.expect_quiet_success(result)
        return int(result.stdout)

    def file(self) -> Path:
        (file,) = self.folder.iterdir()
        self.assertRegex(file.name, NAME)
        return file

    def runs(self) -> int:
        (row,) = [line for line in self.file().read_text().splitlines() if line.startswith("past")]
        return int(row.split()[1])

    def test_the_second_run_keeps_what_it_frees(self) -> None:
        self.assertLessEqual(self.left(), LITTLE)
        self.assertGreaterEqual(self.left(), MUCH)
        self.assertGreaterEqual(self.left(), MUCH)
        self.assertEqual(self.runs(), 3)

    def test_the_file_alone_is_enough(self) -> None:
        """Without a mode, and not against one: see test_baseline_neither_reads_nor_writes."""
        for _ in range(2):
            result = run(program("falls"), str(MIB), **COSTS, HAKMEM_POLICY_FILE=f"{self.folder}/")
            self.expect_quiet_success(result)
        self.assertGreaterEqual(int(result.stdout), MUCH)
        self.assertEqual(self.runs(), 2)

    def test_a_frozen_run_does_and_writes_nothing(self) -> None:
        self.left()
        before = self.file().read_bytes()
        self.assertGreaterEqual(self.left(mode="frozen"), MUCH)
        self.assertEqual(self.file().read_bytes(), before)

    def test_a_shadow_only_counts(self) -> None:
        self.left()
        self.assertLessEqual(self.left(mode="shadow"), LITTLE)
        self.assertEqual(self.runs(), 2)

    def test_baseline_neither_reads_nor_writes(self) -> None:
        self.left()
        self.assertLessEqual(self.left(mode="baseline"), LITTLE)
        self.assertEqual(self.runs(), 1)

    def test_a_misspelt_mode_writes_nothing(self) -> None:
        self.left()
        self.assertIn("HAKMEM_MODE=Frozen ignored", self.falls(mode="Frozen").stderr)
        self.assertEqual(self.runs(), 1)

    def test_a_limit_comes_first(self) -> None:
        self.left()
        self.assertLessEqual(self.left(HAKMEM_SOFT_LIMIT="24M"), 24)

    def test_each_program_has_a_file_of_its_own(self) -> None:
        self.left()
        before = self.file().read_bytes()
        self.learner("12", HAKMEM_MODE="evolving", HAKMEM_POLICY_FILE=f"{self.folder}/")
        names = sorted(file.name.partition("-")[0] for file in self.folder.iterdir())
        self.assertEqual(names, ["process_falls", "process_learner"])
        (file,) = self.folder.glob("process_falls*")
        self.assertEqual(file.read_bytes(), before)

    def test_a_small_heap_leaves_no_file(self) -> None:
        self.left(mib=1)
        self.expect_quiet_success(run("/bin/true", HAKMEM_MODE="evolving", HAKMEM_POLICY_FILE=f"{self.folder}/"))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_runs_at_the_same_time_all_count(self) -> None:
        variables = environment(True, HAKMEM_MODE="evolving", HAKMEM_POLICY_FILE=f"{self.folder}/")
        many = [subprocess.Popen([program("falls"), "8"], env=variables, stdout=subprocess.DEVNULL) for _ in range(20)]
        self.assertEqual([one.wait(60) for one in many], [0] * len(many))
        self.assertEqual(self.runs(), len(many))

    def test_a_child_of_fork_writes_nothing(self) -> None:
        self.left("fork")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_folder_that_is_not_there(self) -> None:
        nowhere = str(self.folder / "none") + "/"
        result = self.falls(HAKMEM_POLICY_FILE=nowhere)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, rf"\Ahakmem: policy_file: {re.escape(nowhere)} cannot be opened \(error 2\)\n\Z")

    def test_a_folder_that_others_may_write_is_not_read(self) -> None:
        self.left()
        os.chmod(self.folder, 0o777)
        result = self.falls()
        self.assertLessEqual(int(result.stdout), LITTLE)
        self.assertRegex(result.stderr, r"\Ahakmem: policy_file: \S+ ignored: [^\n]+\n\Z")

    def test_a_damaged_file_is_not_acted_on(self) -> None:
        """Nothing of it: neither by this run nor in what it writes."""
        self.left()
        rows = self.file().read_text().splitlines()
        self.file().write_text("\n".join([rows[0], "past 5 60000 500000 4000000 0", "end 2 0000000000000000", ""]))
        result = self.falls()
        self.assertIn("ignored: line 3 is not as it was written", result.stderr)
        self.assertLess(int(result.stdout), LITTLE)
        (row,) = [line.split() for line in self.file().read_text().splitlines() if line.startswith("past")]
        self.assertEqual(row[1], "1")
        self.assertLess(int(row[4]), 4000000)

    def test_rows_of_no_run(self) -> None:
        self.left()
        file = self.file()
        for fields in ("0 1 1 1 1", "1 1 1 1", "1 1 1 1 1 1", f"1 1 1 1 {1 << 32}", "1 1 1 1 -1", "1 1 1 1 1\npast 1 1 1 1 1"):
            file.write_text(sealed(["hakmem-policy 2", *f"past {fields}".split("\n")]))
            result = self.falls()
            self.assertLessEqual(int(result.stdout), LITTLE, fields)
            self.assertRegex(result.stderr, r"\Ahakmem: policy_file: \S+ ignored: line \d is not as it was written\n\Z")

    def test_a_row_of_the_largest_numbers(self) -> None:
        self.left()
        most = " ".join([str((1 << 32) - 1)] * 5)
        self.file().write_text(sealed(["hakmem-policy 2", f"past {most}"]))
        self.assertLessEqual(self.left(), LITTLE, "what giving back saved is as much")


if __name__ == "__main__":
    unittest.main()
