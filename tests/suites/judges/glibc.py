# SPDX-License-Identifier: MIT OR Apache-2.0
"""glibc: its tests of malloc, each a program whose exit status is the verdict."""

from __future__ import annotations

from pathlib import Path

from judging.side import Side
from judging.sources import SUITES, logged
from judging.verdicts import Verdicts

TITLE = "glibc"
PACKAGE = "libc6"
PART = "all tests of `malloc/`, without those of its inside"


def prepare(folder: Path) -> None:
    logged([str(SUITES / "build_glibc.sh"), str(folder)], folder, folder / "script.log", "glibc's tests cannot be built")


def units(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "bin").iterdir())


def run(side: Side, folder: Path, unit: str) -> Verdicts:
    ran = side.run(str(folder / "bin" / unit), limit_s=200)
    return {(unit, "exit"): f"status {ran.status}" if ran.status > 0 else ran.ending()}
