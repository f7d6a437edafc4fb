# SPDX-License-Identifier: MIT OR Apache-2.0
"""A program that frees before it allocates again lives within 256 MiB on HAKMEM, whatever sizes it asks for.

Run with HAK_BUILD set. The program is bench/survive.c; `hakmem-lab bench --filter survive --passes limit` runs it on the
other allocators too.
"""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from hakmem_lab.bench.limit import LIMIT_BYTES, inside, memory_group
from hakmem.base.errors import Refusal
from hakmem.process.launch import Figures, Launcher, Streams

BUILD = Path(os.environ["HAK_BUILD"])
LIBRARY = BUILD / "libhakmem.so"
ROWS = ("survive_1", "survive_4")
# Address space is more than memory: survivors keep their neighbours' addresses taken. 384 MiB are just too little.
ADDRESS_SPACE_KIB = 392 << 10
# A group that is always nearly full, and in which others always wait for memory.
PRESSED = {
    "memory.max": f"{LIMIT_BYTES}\n",
    "memory.high": "max\n",
    "memory.current": f"{LIMIT_BYTES - (4 << 20)}\n",
    "memory.pressure": "some avg10=60.00 avg60=60.00 avg300=60.00 total=6000000\n"
                       "full avg10=40.00 avg60=40.00 avg300=40.00 total=4000000\n",
    "cpu.max": "max 100000\n",
}


class Survival(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hakmem-")))

    def run_row(self, row: str, before: list[str], **settings: str) -> Figures:
        """`before`: a command that becomes the one behind it."""
        errors = self.folder / "errors"
        command = [*before, str(BUILD / "bench" / "hak_survive"), row, "need=0"]
        variables = {"PATH": os.environ["PATH"], "LD_PRELOAD": str(LIBRARY)} | settings
        streams = Streams(output=self.folder / "output", errors=errors)
        figures = Launcher(BUILD / "hak_launcher", self.folder).run(command, variables, streams)
        self.assertEqual(figures.status, 0, f"{row} {figures.end} {errors.read_text()}")
        return figures

    def test_in_a_control_group(self) -> None:
        for row in ROWS:
            with self.subTest(row), self.group() as group:
                self.run_row(row, inside(group, []))

    def group(self):
        """Asked for once before, so that the reason is told where there can be none."""
        try:
            with memory_group():
                pass
        except Refusal as refusal:
            self.skipTest(str(refusal))
        return memory_group()

    def test_told_of_a_group_that_is_nearly_full(self) -> None:
        """Where nobody enforces the limit the peak shows that it was kept."""
        for name, text in PRESSED.items():
            (self.folder / name).write_text(text)
        limited = ["sh", "-c", f'ulimit -v {ADDRESS_SPACE_KIB}; exec "$@"', "sh"]
        for row in ROWS:
            with self.subTest(row):
                figures = self.run_row(row, limited, HAKMEM_CGROUP_DIR=str(self.folder))
                self.assertLessEqual(figures.maxrss_kib, LIMIT_BYTES >> 10)


if __name__ == "__main__":
    unittest.main()
