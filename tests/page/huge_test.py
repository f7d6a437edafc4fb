# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem report` of a process that has 10 GiB in 100,000 places (sites.c, which touches a page in 16).

HAK_TEST_LIBRARY names libhakmem.so, HAK_TEST_PROGRAM sites.c, built. CPU seconds are printed and not judged.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from browser import Browser, found

LIBRARY, PROGRAM = os.environ["HAK_TEST_LIBRARY"], os.environ["HAK_TEST_PROGRAM"]
COMMAND = Path(sys.executable).with_name("hakmem")
PLACES, HEAP_BYTES = 100_000, 10 << 30
RESIDENT_MOST = 2 << 30  # of the process and of the command
OPEN = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def free_bytes() -> int:
    text = Path("/proc/meminfo").read_text()
    match = re.search(r"MemAvailable: +(\d+) kB", text)
    return int(match[1]) << 10 if match else 0


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@unittest.skipIf(free_bytes() < RESIDENT_MOST, "less than 2 GiB of memory are free")
class Huge(unittest.TestCase):
    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)
        variables = {"LD_PRELOAD": LIBRARY, "HAKMEM_PROFILE_TABLE": str(self.folder / "table"), "HAKMEM_PROFILE_BYTES": "65536"}
        self.process = subprocess.Popen([PROGRAM, str(PLACES), str(HEAP_BYTES)], stdout=subprocess.PIPE, text=True,
                                        env=dict(os.environ, **variables))
        self.addCleanup(self.process.communicate)
        self.addCleanup(self.process.kill)
        assert self.process.stdout is not None
        self.assertEqual(self.process.stdout.readline(), "ready\n")

    def asked(self, *words: str) -> str:
        before, start = cpu_seconds(), time.monotonic()
        done = subprocess.run([COMMAND, *words], capture_output=True, text=True, cwd=self.folder)
        print(f"hakmem {words[0]}: {cpu_seconds() - before:.1f} s of CPU, {time.monotonic() - start:.1f} s", flush=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_it_can_be_asked(self) -> None:
        pid = str(self.process.pid)
        self.asked("stats", pid)
        self.assertRegex(self.asked("explain", pid), r"live blocks")
        text = self.asked("report", pid, "--seconds", "0", "-o", "page.html")
        self.assertRegex(text, r"10\.\d GiB \(1\d,\d{3},\d{3},\d{3} B\) in use by HAKMEM's counters")
        blocks = re.search(r"(\d+) blocks sampled", text)
        self.assertGreater(int(blocks[1]) if blocks else 0, PLACES * 3 // 4)
        self.assertLess((self.folder / "page.html").stat().st_size, 1 << 20)
        if found():
            self.open_page()

    def open_page(self) -> None:
        browser = Browser()
        self.addCleanup(browser.close)
        for size in ((390, 844), (1280, 900)):
            browser.open(self.folder / "page.html", *size)
            print(f"the page, {size[0]} px wide: loaded after {browser.value(OPEN):.0f} ms", flush=True)
            self.assertLess(browser.value("document.querySelectorAll('*').length"), 2_000)


if __name__ == "__main__":
    unittest.main()
