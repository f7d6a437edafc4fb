# SPDX-License-Identifier: MIT OR Apache-2.0
"""glibc's tests of malloc end on HAKMEM as on glibc, but for those that glibc.txt names with the reason.

HAK_TEST_LIBRARY names libhakmem.so, HAK_TEST_PROGRAMS the folder in which build_glibc.sh put the tests. Proof that
HAKMEM served: the counters file of a process, in which it has counted calls.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from hakmem.process.counters import parse_counts

LIBRARY = Path(os.environ["HAK_TEST_LIBRARY"])
PROGRAMS = Path(os.environ["HAK_TEST_PROGRAMS"])
TABLE = Path(__file__).with_name("glibc.txt")
LIMIT = 200  # seconds of one test


def read_table() -> dict[str, tuple[int, int]]:
    rows = [line.split(maxsplit=3) for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {name: (int(there), int(here)) for name, there, here, _ in rows}


def status(program: Path, environment: dict[str, str], folder: Path) -> tuple[int, str]:
    ended = subprocess.run([program], env={"LC_ALL": "C", "PATH": os.environ["PATH"]} | environment, cwd=folder,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT, check=False)
    return ended.returncode, ended.stdout.decode(errors="replace")[-400:]


def calls_counted(folder: Path) -> int:
    counts = (parse_counts(file.read_bytes()) for file in folder.glob("counters.*"))
    return sum(number for each in counts for name, number in each.items() if name.startswith("alloc_"))


class Glibc(unittest.TestCase):
    def judge(self, program: Path, expected: tuple[int, int]) -> bool:
        """Whether HAKMEM proved that it served: a process that a signal ends leaves no counters."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            there, said = status(program, {}, folder)
            self.assertEqual(there, expected[0], f"on glibc:\n{said}")
            here, said = status(program, {"LD_PRELOAD": str(LIBRARY), "HAKMEM_COUNT_CALLS": "on",
                                          "HAKMEM_COUNTERS_FILE": str(folder / "counters")}, folder)
            self.assertEqual(here, expected[1], f"on HAKMEM:\n{said}")
            return calls_counted(folder) > 0

    def test_each(self) -> None:
        table = read_table()
        programs = sorted(PROGRAMS.iterdir())
        self.assertGreater(len(programs), 30)
        self.assertLessEqual(set(table), {each.name for each in programs})
        proven = 0
        for program in programs:
            with self.subTest(program.name):
                proven += self.judge(program, table.get(program.name, (0, 0)))
        print(f"{len(programs)} tests, {len(table)} otherwise than on glibc or failing on both; proven served: {proven}")
        self.assertGreater(proven, len(programs) - 5)


if __name__ == "__main__":
    unittest.main()
