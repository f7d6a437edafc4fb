# SPDX-License-Identifier: MIT OR Apache-2.0
"""crowd.py: what is asked once in a while costs as much beside many threads and big blocks as beside few.

usage     crowd.py --library build/release/libhakmem.so --probe PROBE
what      Counts crowd.cpp's questions beside few and beside many, and compares. A count beside many may be MOST times
          that beside few: what goes through all threads or blocks would be as many times as there are more.
failure   Exit 1 with every breach on a line of its own; 2 when a tool failed.
not here  Time. What a count comes to: patterns.py.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import callgrind  # noqa: E402

FEW, MANY = (20, 50), (1400, 4000)
MOST = 1.5
# It says exactly what up to 1,024 threads hold, so it looks at each of these.
MOST_OF = {"mallinfo2": 40.0}
QUESTIONS = {"first_malloc", "mallinfo2", "owns", "child"}


def dumps_of(command: list[str], library: Path) -> str:
    """All dumps of the run, the child's too, which has files of its own."""
    with tempfile.TemporaryDirectory(prefix="hakmem-crowd-") as folder:
        said = callgrind.run_tool([
            "valgrind", "--tool=callgrind", "--collect-atstart=no", "--dump-instr=yes", "--dump-line=no", "--max-threads=4000",
            "--compress-strings=no", "--compress-pos=no", "--combine-dumps=yes", f"--callgrind-out-file={folder}/%p",
            *command], callgrind.counting_environment(library, {"HAKMEM_BACKGROUND_THREAD": "off"}))
        callgrind.checked_lines(said, library)
        return "\n".join(path.read_text() for path in sorted(Path(folder).iterdir()))


def counts(probe: Path, library: Path, crowd: tuple[int, int]) -> dict[str, int]:
    """Question -> instructions of the library."""
    text = dumps_of([str(probe), *(str(n) for n in crowd)], library)
    found = {dump.title: sum(dump.times.values()) for dump in callgrind.parse_dumps(text, library)}
    if missing := QUESTIONS - found.keys():
        raise callgrind.ToolError(f"not counted: {', '.join(sorted(missing))}")
    return found


def faults(few: dict[str, int], many: dict[str, int]) -> list[str]:
    """Questions that cost too much more beside many."""
    return [f"{name}: {few[name]:,} instructions beside few, {many[name]:,} beside many"
            for name in sorted(QUESTIONS) if many[name] > MOST_OF.get(name, MOST) * few[name]]


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description="what questions cost beside many threads and big blocks")
    parser.add_argument("--library", dest="so_file", type=Path, required=True)
    parser.add_argument("--probe", type=Path, required=True)
    options = parser.parse_args()
    try:
        few, many = (counts(options.probe, options.so_file.resolve(), crowd) for crowd in (FEW, MANY))
    except callgrind.ToolError as error:
        print(error)
        return 2
    for name in sorted(QUESTIONS):
        print(f"{name:14} {few[name]:>10,} {many[name]:>12,}")
    breaches = faults(few, many)
    print("\n".join(breaches) if breaches else "as much beside many as beside few")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
