# SPDX-License-Identifier: MIT OR Apache-2.0
"""A process with a table of samples that executes another program while it is looked at: refused, as two programs in one
answer are none."""

from __future__ import annotations

import unittest
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

from asked import Asked
from support import line_of

from hakmem.base.errors import Refusal
from hakmem.profiling import difference, profile
from hakmem.profiling.profile import Wishes
from hakmem.report import page, timeline

AGAIN = (
    "import os, sys\nkept = [bytes(n) for n in range(9000)]\nprint('ready', flush=True)\nif input() == 'exec':\n"
    "    os.execv(sys.executable, [sys.executable, '-c', \"print('there', flush=True); input()\"])"
)
WISHES = Wishes(None, False, 20, "inuse_space")


class Image(Asked):
    def setUp(self) -> None:
        super().setUp()
        self.executed = False
        self.pid = self.ready(AGAIN, profile_table=str(self.folder / "table"), profile_bytes="4096")

    def executes(self, *_: Any) -> None:
        """At the first call: it is another program from then on."""
        if self.executed:
            return
        self.executed = True
        assert self.process.stdin is not None
        self.process.stdin.write("exec\n")
        self.process.stdin.flush()
        self.assertEqual(line_of(self.process), "there")

    def another(self, work: str) -> Any:
        return self.assertRaisesRegex(Refusal, f"^process {self.pid} became another program while it was {work}$")

    def test_report(self) -> None:
        order = page.Order([str(self.pid)], self.folder / "page.html", 0.1)
        with mock.patch.object(timeline.time, "sleep", self.executes), self.another("watched"):
            page.make_page(order)
        self.assertFalse((self.folder / "page.html").exists())

    def test_growth(self) -> None:
        with mock.patch.object(difference.time, "sleep", self.executes), self.another("watched"):
            difference.show_growth(str(self.pid), WISHES, 0.1)

    def test_profile(self) -> None:
        true = profile.read

        def read_after(file: Path) -> Any:
            found = true(file)
            self.executes()
            return found

        with mock.patch.object(profile, "read", read_after), self.another("read"):
            profile.show_profile(str(self.pid), WISHES)

    def test_one_that_goes_on_is_answered(self) -> None:
        with redirect_stdout(StringIO()) as said:
            self.assertEqual(page.make_page(page.Order([str(self.pid)], self.folder / "page.html", 0.1)), 0)
            self.assertEqual(profile.show_profile(str(self.pid), WISHES), 0)
        self.assertRegex(said.getvalue(), "(?s)page.html: .* in use by HAKMEM's counters; .*with callees")


if __name__ == "__main__":
    unittest.main()
