# SPDX-License-Identifier: MIT OR Apache-2.0
"""run.py: runs real programs on glibc and on a preloaded allocator and compares what they do, byte for byte.

usage     run.py [--library FILE] [--all] [--rounds N] [--record FOLDER] [--outputs FOLDER] [case ...]
          run.py --list | --page FOLDER
what      Without names, every case in cases/, with --all those in programs/ too. README.md beside this file says how
          a case is written.
failure   Exit 1 when a case failed (its outputs stay below the folder of outputs), 2 when the arguments make no sense
          or nothing could run, 130 after Ctrl-C. A program that is not installed is skipped in one line.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from hakmem.base.errors import Refusal, Stopped  # noqa: E402
from hakmem.process.places import find_places  # noqa: E402
from hakmem.base.stop import signal_name, stops  # noqa: E402
from rich.console import Console  # noqa: E402

from harness.filters import FilterError, Rule, load_rules  # noqa: E402
from harness.packages import missing_packages  # noqa: E402
from harness.record import Record, Row, row_of, skipped_row, write_page  # noqa: E402
from harness.runner import REAL, Tools, case_names, run_case  # noqa: E402

SHOWN_LINES = 60
console = Console(highlight=False, soft_wrap=True)


def parsed() -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(description="real programs on glibc and on another allocator, compared")
    parser.add_argument("--library", dest="so_file", type=Path, help="the allocator to preload (default: libhakmem.so)")
    parser.add_argument("--build", type=Path, help="where library and tools were built (default: build/release)")
    parser.add_argument("--outputs", type=Path, help="where the outputs of failed cases stay")
    parser.add_argument("--all", action="store_true", help="those of programs/ too")
    parser.add_argument("--rounds", type=int, default=1, help="runs on each allocator; the least use of each counts")
    parser.add_argument("--record", type=Path, metavar="FOLDER", help="keep programs.json and programs.md there")
    parser.add_argument("--page", type=Path, metavar="FOLDER", help="make programs.md anew from programs.json there")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("case", nargs="*", help="names of cases (default: all of cases/)")
    options = parser.parse_args()
    unknown = sorted(set(options.case) - set(case_names()))
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}")
    if options.so_file is not None and not options.so_file.is_file():
        parser.error("--library must name a file")
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def wanted(options: argparse.Namespace) -> list[str]:
    """The names of the cases to run."""
    return options.case or (case_names() if options.all else case_names("cases"))


class Run:
    """The cases of one call, one after the other."""

    def __init__(self, options: argparse.Namespace, rules: list[Rule]) -> None:
        places = find_places(options.build, options.so_file)
        self.tools = Tools(places.so_file, places.launcher)
        self.rules = rules
        self.rounds = options.rounds
        self.outputs = (options.outputs or Path(tempfile.gettempdir()) / "hakmem-real").resolve()

    def one_case(self, name: str) -> Row:
        """Runs a case and prints one line, or the differences."""
        if missing := missing_packages(name):
            row = skipped_row(name, f"not installed: {' '.join(missing)}")
        else:
            begin = time.monotonic()
            with console.status(f"{name} on glibc and on {self.tools.so_file.name}"):
                verdict = run_case(name, self.tools, self.outputs, self.rules, self.rounds)
            row = row_of(name, verdict, round(time.monotonic() - begin, 1), self.rounds)
        console.print(row.line(), markup=False)
        for line in [f"outputs kept in {self.outputs / name}", *row.lines[:SHOWN_LINES]] if row.failed else []:
            console.print("  " + line.encode("utf-8", "backslashreplace").decode("utf-8"), markup=False)
        return row


def all_cases(options: argparse.Namespace) -> int:
    """Runs what is wanted, records it, and closes with a line."""
    run = Run(options, load_rules(REAL / "filter.txt"))
    record = Record(options.record) if options.record else None
    rows = []
    for name in wanted(options):
        rows.append(run.one_case(name))
        if record:
            record.keep(rows[-1])
    failed, skipped = sum(row.failed for row in rows), sum(row.skipped for row in rows)
    if len(rows) > 1:
        console.print(f"{len(rows) - failed - skipped} as on glibc, {failed} failed, {skipped} not installed")
    return 2 if skipped == len(rows) else 1 if failed else 0


def made_page(options: argparse.Namespace) -> int:
    """The page anew, from what is on record."""
    write_page(options.page)
    return 0


def main() -> int:
    """The exit status."""
    options = parsed()
    if options.list:
        print("\n".join(case_names()))
        return 0
    try:
        with stops.taken():
            return made_page(options) if options.page else all_cases(options)
    except (FilterError, Refusal, OSError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    except Stopped as stop:
        print(f"run.py: stopped by {signal_name(stop.signal_number)}; what it had started was ended", file=sys.stderr)
        return 128 + stop.signal_number


if __name__ == "__main__":
    sys.exit(main())
