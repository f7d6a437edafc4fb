# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the tests of whole processes share: running a program of this folder on the library, and judging how it went.

HAK_TEST_LIBRARY names libhakmem.so, HAK_TEST_PROGRAMS the folder of this folder's programs.
"""

import os
import resource
import subprocess
import unittest
from collections.abc import Callable
from pathlib import Path

LIBRARY = Path(os.environ["HAK_TEST_LIBRARY"])
PROGRAMS = Path(os.environ["HAK_TEST_PROGRAMS"])
MIB = 1 << 20
PAGE = os.sysconf("SC_PAGESIZE")

Result = subprocess.CompletedProcess[str]


def program(name: str) -> str:
    return str(PROGRAMS / f"process_{name}")


def program_file(name: str) -> str:
    """To be read: under an emulator the program itself lies beside the file that starts it (tests/emulate.c)."""
    behind = Path(program(name) + ".elf")
    return str(behind) if behind.exists() else program(name)


def environment(preload: bool, **settings: str) -> dict[str, str]:
    """Nothing but what is said: no setting of the caller's shell gets in."""
    base = {"PATH": os.environ["PATH"], "LANG": "C"}
    if preload:
        base["LD_PRELOAD"] = str(LIBRARY)
    return base | settings


def run(
    *command: str, preload: bool = True, before: Callable[[], None] | None = None, **settings: str
) -> Result:
    return subprocess.run(
        command,
        env=environment(preload, **settings),
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
        preexec_fn=before,
    )


def page_cost(ns: int) -> str:
    """What a page of the kernel costs, by a setting. ns: for each 4 KiB of it, as most of the cost is to clear it."""
    return str(ns * PAGE // 4096)


class ProcessCase(unittest.TestCase):
    """Shared checks."""

    def expect_quiet_success(self, result: Result, output: str | None = None) -> None:
        self.assertEqual((result.returncode, result.stderr), (0, ""), f"{result.args}: {result.stdout}")
        if output is not None:
            self.assertEqual(result.stdout, output, str(result.args))


def limit(what: int, value: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(what, (value, value))
