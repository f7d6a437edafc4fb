# SPDX-License-Identifier: MIT OR Apache-2.0
"""mimalloc: its tests of the interface, and its stress test, from Debian's source, on malloc.

The tests call mi_ functions: standard_names/mimalloc.h makes them the standard functions, where there is one."""

from __future__ import annotations

import re
from pathlib import Path

from judging.side import Ran, Side
from judging.sources import SUITES, compiled, fetched
from judging.verdicts import Verdicts, add

TITLE = "mimalloc"
PACKAGE = "mimalloc"
PART = "`test-api`, `test-api-fill`, `main-override.cpp`, `test-stress`; `mi_` functions are the standard ones"
UNITS = {"test-api": "c", "test-api-fill": "c", "main-override": "cpp", "test-stress": "c"}
ARGUMENTS = {"test-stress": ("8", "25", "20")}
CASE = re.compile(r"test: (.+?)\.\.\. .*?(ok\.|FAILED)", re.DOTALL)


def prepare(folder: Path) -> None:
    tests = fetched("mimalloc", folder) / "test"
    for name, kind in UNITS.items():
        compiler = ["g++", "-std=c++17"] if kind == "cpp" else ["gcc", "-std=gnu11"]
        compiled([*compiler, "-O1", "-w", "-fno-builtin", "-DUSE_STD_MALLOC", f"-I{SUITES / 'standard_names'}",
                  str(tests / f"{name}.{kind}"), "-pthread"], folder / name, folder)


def units(folder: Path) -> list[str]:
    return list(UNITS)


def run(side: Side, folder: Path, unit: str) -> Verdicts:
    return verdicts_of(unit, side.run(str(folder / unit), *ARGUMENTS.get(unit, ())))


def verdicts_of(unit: str, ran: Ran) -> Verdicts:
    verdicts: Verdicts = {(unit, "the run"): ran.ending()}
    for case, word in CASE.findall(ran.text):
        add(verdicts, unit, case, "ok" if word == "ok." else "failed")
    return verdicts
