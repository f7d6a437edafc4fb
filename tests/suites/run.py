# SPDX-License-Identifier: MIT OR Apache-2.0
"""run.py: runs the test suites of other projects on glibc and on HAKMEM, and compares how each case ends.

usage     run.py [--library FILE] [--folder FOLDER] [--record FOLDER] [--units WORD] [suite ...]
          run.py --list | --page FOLDER
what      Without names, every suite. Both sides run one after the other; a case that differs runs twice more.
failure   Exit 1 if a case ends otherwise on HAKMEM and differences/SUITE.txt does not say why, or if no process was served
          by HAKMEM; 2 if the arguments make no sense or a suite cannot be had.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from hakmem.base.errors import Refusal  # noqa: E402

from judging.record import Row, keep, row_of, write_page  # noqa: E402
from judging.side import Side, opened, processes_served  # noqa: E402
from judging.verdicts import Verdicts, compared, read_table  # noqa: E402

TRIES = 2
GLIBC = "libc.so.6"


def suite_names() -> list[str]:
    return sorted(path.stem for path in (HERE / "judges").glob("*.py") if path.stem != "__init__")


def parsed() -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(description="test suites of other projects on glibc and on HAKMEM, compared")
    parser.add_argument("--library", type=Path, default=Path("build/release/libhakmem.so"), help="libhakmem.so")
    parser.add_argument("--folder", type=Path, default=Path("build/suites"), help="takes sources and what is made of them")
    parser.add_argument("--record", type=Path, metavar="FOLDER", help="keep suites.json and suites.md there")
    parser.add_argument("--page", type=Path, metavar="FOLDER", help="make suites.md anew from suites.json there")
    parser.add_argument("--units", default="", metavar="WORD", help="only units whose names contain WORD; nothing is recorded")
    parser.add_argument("--list", action="store_true", help="print the names of the suites")
    parser.add_argument("suite", nargs="*", help="names of suites (default: all)")
    options = parser.parse_args()
    if unknown := sorted(set(options.suite) - set(suite_names())):
        parser.error(f"no such suite: {', '.join(unknown)}; there are {', '.join(suite_names())}")
    if not options.library.is_file():
        parser.error(f"no library {options.library}: make build makes it, or --library names one")
    return options


class Suite:
    """One suite, prepared in its folder."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.name = name
        self.module: Any = importlib.import_module(f"judges.{name}")
        self.folder = (options.folder / name).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.module.prepare(self.folder)
        self.units = [unit for unit in self.module.units(self.folder) if options.units in unit]
        self.library = str(options.library.resolve())

    def side(self, hakmem: bool) -> Any:
        name, library = ("hakmem", self.library) if hakmem else ("glibc", GLIBC)
        return opened(name, library, self.folder / "run")

    def verdicts(self, side: Side, units: list[str]) -> Verdicts:
        found: Verdicts = {}
        for unit in units:
            found |= self.module.run(side, self.folder, unit)
        return found

    def again(self, unit: str) -> tuple[Verdicts, Verdicts]:
        """A unit on both sides."""
        both = []
        for hakmem in (False, True):
            with self.side(hakmem) as side:
                both.append(self.verdicts(side, [unit]))
        return both[0], both[1]

    def judge(self) -> Row:
        """Both sides, and what differs."""
        with self.side(False) as side:
            there = self.verdicts(side, self.units)
        with self.side(True) as side:
            here = self.verdicts(side, self.units)
            processes = processes_served(side)
        found = compared(there, here, read_table(HERE / "differences" / f"{self.name}.txt"), self.again, TRIES)
        return row_of(self.name, self.module, self.units, found, processes)


def judged(name: str, options: argparse.Namespace) -> bool:
    """Runs a suite, prints it and keeps it. Returns whether it failed."""
    row = Suite(name, options).judge()
    print(row.line(), flush=True)
    for difference in row.unexplained:
        print("      unexplained: " + " | ".join(difference), flush=True)
    if row.processes == 0:
        print("      HAKMEM served no process", flush=True)
    if options.record and not options.units:
        keep(options.record, row)
    return bool(row.unexplained) or row.processes == 0


def main() -> int:
    """The exit status."""
    options = parsed()
    if options.list:
        print("\n".join(suite_names()))
        return 0
    try:
        if options.page:
            write_page(options.page)
            return 0
        failed = [name for name in options.suite or suite_names() if judged(name, options)]
    except (Refusal, OSError, ValueError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
