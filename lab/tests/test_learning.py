# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab learning`: pictures of processes that learnt, and one line for everything wrong."""

from __future__ import annotations

import struct
import subprocess
import unittest
from pathlib import Path

from laboratory import lab
from support import BUILD, Scratch, clean_environment
from test_learn import BLOCKS, COSTS, PYTHON, ring, windows

from hakmem_lab.learning.sources import curve_of, ladder_of


class Plots(Scratch):
    @property
    def picture(self) -> Path:
        return self.folder / "picture.svg"

    def file(self, name: str, data: bytes) -> str:
        (self.folder / name).write_bytes(data)
        return str(self.folder / name)

    def plot(self, *files: str, to: Path | None = None) -> subprocess.CompletedProcess[str]:
        return lab("learning", "--build", str(BUILD), "-o", str(to or self.picture), *files)

    def drawn(self, *files: str) -> str:
        ended = self.plot(*files)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))
        return self.picture.read_text()

    def learnt(self) -> tuple[str, str]:
        """Files of a process that learnt: of its decisions, and what it was told."""
        variables = {"LD_PRELOAD": str(BUILD / "libhakmem.so"), "HAKMEM_MODE": "evolving",
                     "HAKMEM_DECISIONS_FILE": str(self.folder / "ring"), "HAKMEM_LAB_LEARN_LOG": str(self.folder / "log")}
        subprocess.run([PYTHON, "-c", BLOCKS], env=clean_environment(**COSTS, **variables), check=True)
        (made,), (log,) = self.folder.glob("ring.*"), self.folder.glob("log.*[0-9]")
        return str(made), str(log)

    def test_what_was_paid(self) -> None:
        """Each of forty blocks waits for longer than break-even: who learnt pays half."""
        made, log = self.learnt()
        told = curve_of(BUILD / "hak_redecide", Path(log), log).told
        last = told[-1]
        self.assertEqual(sum(last.taken) + last.passed, 40)
        self.assertGreater(last.taken[0], last.taken[5])
        self.assertLess(last.paid, 0.8 * last.break_even)
        for before, after in zip(told, told[1:]):
            self.assertLessEqual((before.when, before.waits, before.paid), (after.when, after.waits, after.paid))
        text = self.drawn(made, log)
        for said in ("Paid for free blocks", "Keep times of 40 blocks", "The last "):
            self.assertIn(said, text)
        self.assertEqual(self.drawn(made, log), text)

    def test_ratings_and_phases(self) -> None:
        log = self.file("w", windows(1500, shift=1200))
        ladder = ladder_of(BUILD / "hak_retune", Path(log), log)
        self.assertTrue(ladder.is_rated)
        self.assertEqual(ladder.windows[-1].number, 1500)
        self.assertEqual({round(sum(window.ratings)) for window in ladder.windows}, {12 * 1500})
        self.assertIn(ladder.windows[1000].cost, range(900 * 250 // 256, 1100 * 250 // 256))
        self.assertIn("learn", {window.phase for window in ladder.windows})
        self.assertIn(5, {change.kind for change in ladder.changes}, "an alarm")
        text = self.drawn(log)
        self.assertIn("Ratings of big_threshold", text)
        self.assertIn("What 1,500 windows cost", text)

    def test_of_many_windows_some_are_drawn(self) -> None:
        log = self.file("w", windows(9000))
        found = ladder_of(BUILD / "hak_retune", Path(log), log).windows
        self.assertLess(len(found), 2500)
        self.assertEqual(found[-1].number, 9000)

    def test_a_png(self) -> None:
        picture = self.folder / "picture.png"
        self.assertEqual(self.plot(self.file("ring", ring(7)), to=picture).returncode, 0)
        self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")

    def test_one_line(self) -> None:
        good, other = self.file("good", ring(7)), windows(9)
        bad = {"ring": ring(0), "empty": b"", "text": b"HAKDEC", "journal": struct.pack("<8sIIQQ", b"HAKTLD01", 40, 0, 9, 0),
               "cut": other[:-1], "one": windows(1), "version": other[:8] + b"\x40" + other[9:], "magic": b"HAKTLD02" + other}
        for name, data in bad.items():
            self.refused(good, self.file(name, data))
        self.refused(str(self.folder))
        self.refused(str(self.folder / "none"))
        self.refused("999999999")
        self.refused(good, to=self.folder / "picture.pdf")
        self.refused(good, to=self.folder / "none" / "picture.svg")
        self.refused(self.file("itself.svg", ring(7)), to=self.folder / "itself.svg")

    def refused(self, *files: str, to: Path | None = None) -> None:
        ended = self.plot(*files, to=to)
        self.assert_one_line(ended.stderr)
        self.assertEqual((ended.returncode, ended.stdout), (2, ""), ended.stderr)
        self.assertFalse(self.picture.exists())

    def test_a_picture_that_cannot_be_written(self) -> None:
        (self.folder / "folder.svg").mkdir()
        ended = self.plot(self.file("ring", ring(7)), to=self.folder / "folder.svg")
        self.assert_one_line(ended.stderr)
        self.assertEqual(ended.returncode, 1)


if __name__ == "__main__":
    unittest.main()
