# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of `hakmem run --peers --html`, of known runs, in a real browser.

HAK_TEST_LIBRARY, HAK_TEST_PROGRAM and HAK_TEST_SOURCE are those of page_test.py.
"""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

from browser import Browser
from page_test import CONTRASTS, DESK, NASTY, PHONE

from hakmem.base.html_page import filled
from hakmem.process.launch import Figures
from hakmem.process.peers import Allocator
from hakmem.process.samples import Sample
from hakmem.running.peers_page import POINTS_MOST, TEMPLATE, page_data
from hakmem.running.service import Manner, Moments
from hakmem.running.trial import Trial
from hakmem.running.trials import Trials

SECOND = 1_000_000_000


def trial(cpu_us: int, end_mib: int) -> Trial:
    """Of 10 s: 200 MiB, and from the fifth second on `end_mib`."""
    figures = Figures(7, 10 * SECOND, cpu_us, 0, 200 << 10, 0, 0, 0, 0, 0, 0, 0, 0)
    samples = [Sample(n * SECOND // 100, (200 if n < 500 else end_mib) << 10, 0, 0, 1) for n in range(1001)]
    return Trial(figures, Moments(None, None, 10 * SECOND), [], "", samples)


def trials(program: str) -> Trials:
    names = {"hakmem": 34, "glibc": 180, NASTY[0]: 190}
    runs = {name: [trial(1_000_000 + n, end) for n in range(4)] for name, end in names.items()}
    allocators = [Allocator(name, None, "1.0") for name in names]
    return Trials(program, Manner(), allocators, runs, {NASTY[3]: NASTY[1]}, notes=[NASTY[2]])


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def text(self, selector: str) -> str:
        return str(self.browser.value(f"document.querySelector({json.dumps(selector)}).textContent"))

    def test_what_it_shows_on_a_phone_and_a_desk_light_and_dark(self) -> None:
        data = page_data(trials(f"program {'long-word' * 30} {NASTY[0]}"))
        self.assertTrue(all(len(run) <= POINTS_MOST for curves in data["curves"] for run in curves["runs"]))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "page.html"
            file.write_text(filled(TEMPLATE, data))
            for size, dark in ((PHONE, False), (PHONE, True), (DESK, False), (DESK, True)):
                with self.subTest(size=size, dark=dark):
                    self.browser.open(file, *size, dark=dark)
                    self.shows_all()
                    self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), size[0])
                    self.assertEqual(self.browser.value(CONTRASTS), [])
                    self.assertEqual(self.browser.complaints, [])

    def shows_all(self) -> None:
        self.assertEqual(self.text("#sentence"),
                         "CPU time: no difference; wall time: no difference; peak memory: no difference; least "
                         "memory over time: HAKMEM (117 MiB; others 190 to 195); "
                         "least memory at the end: HAKMEM (34 MiB; others 180 to 190).")
        self.assertIn("HAKMEM: 34 MiB at its end", self.text("#legend"))
        self.assertEqual(self.browser.value("document.querySelectorAll('polyline').length"), 12)
        self.assertEqual(self.browser.value("document.querySelectorAll('.best').length"), 2)
        for text in (NASTY[1], NASTY[2], NASTY[3], "each was proven"):
            self.assertIn(text, self.text("#notes"))


if __name__ == "__main__":
    unittest.main()
