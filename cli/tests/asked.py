# SPDX-License-Identifier: MIT OR Apache-2.0
"""A process on HAKMEM that was started without a setting, for tests that ask it."""

from __future__ import annotations

import subprocess

from support import BUILD, Scratch, clean_environment, end, line_of

PYTHON = "/usr/bin/python3"
LIBRARY = str(BUILD / "libhakmem.so")
READY = "print('ready', flush=True); input()"
MIXED = f"kept = [bytes(n) for n in range(1, 60000, 7)]; big = bytearray(9 << 20); gone = bytearray(7 << 20); del gone; {READY}"


class Asked(Scratch):
    def started(self, code: str, *, file: str = "", **settings: str) -> subprocess.Popen[str]:
        variables = {f"HAKMEM_{name.upper()}": value for name, value in settings.items()}
        process = subprocess.Popen(
            [PYTHON, "-c", code], env=clean_environment(LD_PRELOAD=LIBRARY, PYTHONMALLOC="malloc", **variables),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        self.addCleanup(end, process)
        return process

    def ready(self, code: str = MIXED, **settings: str) -> int:
        process = self.process = self.started(code, **settings)
        line_of(process)
        return process.pid
