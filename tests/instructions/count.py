# SPDX-License-Identifier: MIT OR Apache-2.0
"""count.py: counts the library's instructions and compares them with the checked-in table.

usage     count.py fast-paths|patterns|traces --library build/release/libhakmem.so --probe PROBE
          [--update | --no-golden] [--show]
what      fast-paths: every straight path exactly, against golden.txt (fast_paths.py). patterns: the slow paths per
          operation within 1 %, against golden_patterns.txt (patterns.py). traces: recorded calls of real programs
          within 1 %, against golden_traces.txt (traces.py). The tables hold for the reference build,
          gcc 12's release; a library of another compiler is held to the rest alone (--no-golden asks for that too).
          --update rewrites the table.
failure   Exit 1 with every breach on a line of its own; 2 when a tool failed or the arguments make no sense.
not here  Time.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True

import callgrind  # noqa: E402
import fast_paths  # noqa: E402
import patterns  # noqa: E402
import traces  # noqa: E402

MOST_LINES = 60  # all rows of the patterns
MEASURES = {"fast-paths": fast_paths.measured, "patterns": patterns.measured, "traces": traces.measured}
REFERENCE_COMPILER = re.compile(r"GCC: \([^)]*\) 12\.")
HINT = "if the change is meant: cmake --build build/release --target golden"

Counted = fast_paths.FastPaths | patterns.Patterns | traces.Traces


def parsed() -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(description="the library's instructions, compared with the checked-in table")
    parser.add_argument("what", choices=MEASURES, help="which table")
    parser.add_argument("--library", dest="so_file", type=Path, required=True, help="the library to preload")
    parser.add_argument("--probe", type=Path, required=True, help="the built fast_paths.cpp, patterns.cpp or hak_replay")
    parser.add_argument("--update", action="store_true", help="rewrite the checked-in table")
    parser.add_argument("--no-golden", action="store_true", help="do not compare with the checked-in table")
    parser.add_argument("--show", action="store_true", help="print the table and where the instructions are spent")
    options = parser.parse_args()
    for path in (options.so_file, options.probe):
        if not path.is_file():
            parser.error(f"no such file: {path}")
    return options


def is_reference_build(library: Path) -> bool:
    """True when gcc 12 compiled all of it."""
    comment = callgrind.run_tool(["readelf", "-p", ".comment", str(library)])
    return bool(REFERENCE_COMPILER.search(comment)) and "clang" not in comment


def cut(lines: list[str]) -> list[str]:
    """The first lines and how many more there are: a change of one function shows in every row."""
    more = len(lines) - MOST_LINES
    return lines if more <= 0 else [*lines[:MOST_LINES], f"... and {more} more"]


def golden_faults(counted: Counted) -> list[str]:
    """Where the build and the checked-in table differ."""
    lines = counted.differences(counted.golden.read_text())
    return [*cut(lines), HINT] if lines else []


def update(counted: Counted) -> int:
    """Rewrites the checked-in table, unless something else was counted than it says."""
    broken = counted.broken()
    print("\n".join([*cut(counted.faults()), f"{counted.golden.name} " + ("kept" if broken else "written")]))
    if not broken:
        counted.golden.write_text(counted.table())
    return 1 if broken else 0


def judge(counted: Counted, compare: bool) -> int:
    """Prints all there is to say against this build."""
    faults = cut(counted.faults()) + (golden_faults(counted) if compare else [])
    print("\n".join(faults) if faults else f"{len(counted)} {counted.what} counted, all as they should be")
    return 1 if faults else 0


def run(options: argparse.Namespace) -> int:
    """The count and what becomes of it."""
    library = options.so_file.resolve()
    reference = is_reference_build(library)
    if options.update and not reference:
        raise callgrind.ToolError("the checked-in tables are made with gcc 12's release build")
    counted = MEASURES[options.what](options.probe.resolve(), library)
    if options.show:
        print("\n".join([counted.table(), *counted.details()]))
    return update(counted) if options.update else judge(counted, reference and not options.no_golden)


def main() -> int:
    """Tool failures are one line."""
    try:
        return run(parsed())
    except (callgrind.ToolError, OSError) as error:
        print(f"count.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
