# SPDX-License-Identifier: MIT OR Apache-2.0
"""What HAKMEM adds to a tiny process: page faults and peak RSS beyond those of the same program without a preload.

Run with the variables of process_case.py set. Addresses are random, and with them how many pages of a file the kernel
maps at once: each figure is the mean of RUNS runs, taken in turns. A preloaded library that holds nothing costs 5 to 6
faults and 20 KiB, which are counted here. A page longer than 4 KiB is one fault and all of the page; what of libc's heap
is some pages of 4 KiB is one page there, so as many faults more are HAKMEM's, whose classes have a page each.
"""

import os
import re
import shutil
import subprocess
import unittest
from statistics import mean

from process_case import LIBRARY, program

RUNS = 100
TRIES = 3
NOT_TRACED = 77
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") >> 10
FIGURES = re.compile(r"faults=(\d+) peak_kib=(\d+)")


def cost(command: list[str], preload: bool) -> tuple[int, int]:
    """Faults and peak of one run."""
    environment = {"PATH": os.environ["PATH"], "LANG": "C"}
    if preload:
        environment["LD_PRELOAD"] = str(LIBRARY)
    # The tracer is linked statically: the preload is for the command.
    result = subprocess.run([program("at_end"), *command], env=environment, stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, check=False)
    if result.returncode == NOT_TRACED:
        raise unittest.SkipTest("processes may not be traced here")
    figures = FIGURES.search(result.stdout)
    assert result.returncode == 0 and figures, f"{command}: {result.returncode} {result.stdout}{result.stderr}"
    return int(figures[1]), int(figures[2])


def added(command: list[str]) -> tuple[float, float]:
    """Mean faults and KiB that the preload adds."""
    pairs = [(cost(command, True), cost(command, False)) for _ in range(RUNS)]
    faults, kib = (mean(with_it[i] - without[i] for with_it, without in pairs) for i in (0, 1))
    print(f"{' '.join(os.path.basename(word) for word in command)}: {faults:+.1f} faults, {kib:+.0f} KiB")
    return faults, kib


class TinyProcess(unittest.TestCase):
    def expect_at_most(self, faults: float, kib: float, *command: str, libc_pages: int = 1) -> None:
        """libc_pages: of 4 KiB, that the command's heap has with libc's malloc."""
        if PAGE_KIB > 4:
            faults += libc_pages - 1
            kib += faults * PAGE_KIB
        if shutil.which(command[0]) is None:
            self.skipTest(f"{command[0]} is not installed")
        for _ in range(TRIES):  # beside other programs the kernel's counts of pages lag: the best mean counts
            more_faults, more_kib = added(list(command))
            if more_faults <= faults and more_kib <= kib:
                break
        self.assertLessEqual(more_faults, faults, "page faults")
        self.assertLessEqual(more_kib, kib, "KiB of peak RSS")

    def test_a_program_that_allocates_nothing(self) -> None:
        self.expect_at_most(6, 100, program("tiny"))
        self.expect_at_most(6, 100, "/bin/true")

    def test_one_block(self) -> None:
        self.expect_at_most(10.5, 130, program("tiny"), "once")

    def test_blocks_of_many_sizes(self) -> None:
        self.expect_at_most(27, 200, program("tiny"), "several", libc_pages=9)

    def test_bc(self) -> None:
        self.expect_at_most(10, 140, "bc", "-l", "/dev/null")

    def test_bash(self) -> None:
        self.expect_at_most(27, 230, "bash", "-c", ":", libc_pages=13)

    def test_sed(self) -> None:
        self.expect_at_most(18, 190, "sed", "-n", "p", "/etc/passwd", libc_pages=10)


if __name__ == "__main__":
    unittest.main()
