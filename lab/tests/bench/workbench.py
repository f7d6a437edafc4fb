# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the tests of the runner share: a context with the built tools, a few allocators, one row of a C program."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from hakmem.process.launch import Launcher
from hakmem.process.peers import GLIBC, HAKMEM, Allocator
from hakmem.process.places import find_places
from hakmem_lab.bench.cell import Benchmark, Context

BUILD = Path(os.environ["HAK_BUILD"])
ON_HAKMEM = Allocator(HAKMEM, (BUILD / "libhakmem.so").resolve(), "built")
ON_GLIBC = Allocator(GLIBC, None, "installed")
SECONDS, TIMEOUT = 0.01, 60.0


class WithContext(unittest.TestCase):
    """Every test has an empty folder."""

    def setUp(self) -> None:
        self.scratch = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hakmem-")))
        self.context = self.with_timeout(TIMEOUT)

    def with_timeout(self, seconds: float) -> Context:
        places = find_places(BUILD, None)
        return Context(places, self.scratch, Launcher(places.launcher, self.scratch), SECONDS, seconds)


def row(name: str, program: str = "hak_micro", threads: int = 1, once: bool = False) -> Benchmark:
    return Benchmark(name, program, "as the program says", threads, once, BUILD / "bench" / program)


def real_row(name: str) -> Benchmark:
    return Benchmark(name, "real", "one run", once=True)
