# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab jobs`: its verdicts on answers that are known, and one job from end to end."""

from __future__ import annotations

import csv
import tempfile
import unittest
from pathlib import Path

from laboratory import lab

from hakmem.base.errors import Refusal
from hakmem_lab.jobs.answer import verdict_of
from hakmem_lab.jobs.model import BARE, FOLDER, TOOLS, Job, Way, job_of, jobs_of
from hakmem_lab.jobs.report import range_text, verdict_cell

SAYS = r"truth: (?P<number>\d+) bytes"


def judged(text: str, **more: str) -> str:
    way = Way("hakmem", ("true",), site="leak_here", figure=r"(?P<number>[\d.]+) (?P<unit>[KM]iB) in leak", **more)
    job = Job("01", Path(), "", "", "", (), "", SAYS, False, {})
    return verdict_of(job, way, text)[0]


class Verdicts(unittest.TestCase):
    def test_the_place_and_its_bytes_within_a_tenth(self) -> None:
        for text, verdict in (
            ("truth: 10485760 bytes\n10.9 MiB in leak_here", "right"),
            ("truth: 10485760 bytes\n11.2 MiB in leak_here", "partly"),  # the place alone
            ("truth: 10485760 bytes\n10.0 MiB in leak_there", "partly"),  # the bytes alone
            ("truth: 10485760 bytes\n1.0 MiB in leak_there", "wrong"),
            ("10.0 MiB in leak_here", "partly"),  # the program did not come to its truth
            ("", "wrong"),
        ):
            self.assertEqual(judged(text), verdict, text)

    def test_a_bound_is_never_exceeded(self) -> None:
        right = "truth: 10485760 bytes\n10.0 MiB in leak_here"
        self.assertEqual(judged(right, at_most="partly"), "partly")
        self.assertEqual(judged("", at_most="partly"), "wrong")
        self.assertEqual(judged(right, at_most="cannot"), "cannot")

    def test_cells(self) -> None:
        row = {"verdict": "right", "commands": "2"}
        self.assertEqual(verdict_cell([row, {**row, "verdict": "partly"}], []), "right, partly, 2")
        self.assertEqual((verdict_cell([{"verdict": "cannot", "commands": ""}], []), verdict_cell([], [])), ("cannot", "–"))
        self.assertEqual((range_text([1.26, 10.04], 1), range_text([1.0, 1.02], 1), range_text([], 1)), ("1.3 to 10.0", "1.0", "–"))


class Jobs(unittest.TestCase):
    def test_ten_jobs_with_every_tool(self) -> None:
        """A tool that is not tried has a reason; the place of a tool that is tried is looked for."""
        jobs = jobs_of([])
        self.assertEqual(len(jobs), 10)
        for job in jobs:
            self.assertEqual(set(job.ways), {BARE, *TOOLS}, job.name)
            for way in job.ways.values():
                self.assertTrue(way.cannot or (way.lines and (way.site or way.tool == BARE)), (job.name, way.tool))

    def test_what_is_wrong_is_one_line(self) -> None:
        with self.assertRaisesRegex(Refusal, "no job 11: expected 01-leak-threads, "):
            jobs_of(["11"])
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        whole = (FOLDER / "01-leak-threads" / "job.toml").read_text("utf-8")
        for text in ("title = ", whole.replace("process =", "proces ="), whole.replace("(?P<number>", "(?P<number")):
            (folder / "job.toml").write_text(text, "utf-8")
            with self.assertRaisesRegex(Refusal, r"\A\S+job\.toml: [^\n]+\Z"):
                job_of(folder)
        self.assertEqual(lab("jobs", "--tools", "gdb").returncode, 2)

    def test_from_end_to_end(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        rows = folder / "rows.csv"
        words = ("jobs", "--jobs", "01", "--tools", "hakmem", "--rounds", "1", "-o", str(rows), "--folder", str(folder / "jobs"))
        done = lab(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        with rows.open(encoding="utf-8", newline="") as file:
            bare, own = csv.DictReader(file)
        self.assertEqual((bare["tool"], own["tool"], own["verdict"], own["commands"]), (BARE, "hakmem", "right", "1"))
        self.assertGreater(float(own["cpu_s"]), 0)
        self.assertGreater(float(own["peak_mib"]), 60)
        before = rows.read_text("utf-8")
        self.assertEqual(lab(*words).returncode, 0)
        self.assertEqual(rows.read_text("utf-8"), before, "what is there is not done again")
        self.assertIn("| 01-leak-threads | right, 1 | – |", lab("jobs", "report", str(rows)).stdout)


if __name__ == "__main__":
    unittest.main()
