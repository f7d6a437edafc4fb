# SPDX-License-Identifier: MIT OR Apache-2.0
"""The time of single calls of malloc, with its first touch, and of free, on HAKMEM and its peers.

    build/venv/bin/python lab/tails.py                   # five runs of each by turns, some seconds an allocator
    build/venv/bin/python lab/tails.py hakmem,glibc      # these

lab/tails.c, compiled here: three rounds of 400 MiB in blocks of 16 to 4,000 B, taken and freed in order. Columns, us: of each
figure the median of the runs; the longest call from the least to the most of the runs. Where an
allocator did not serve malloc the script ends without a table.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator, chosen, find_allocators
from hakmem.process.places import find_library

RUNS, NS_PER_US, NS_PER_MS = 5, 1000, 1_000_000
KINDS = ("malloc", "free")
Tail = dict[str, list[int]]  # of a kind: calls, median, p99.9, p99.99, longest, all [ns]


def run(program: Path, allocator: Allocator) -> Tail:
    told = subprocess.run([program], env={**os.environ, "LD_PRELOAD": allocator.preload}, check=True, capture_output=True,
                          text=True).stdout.splitlines()
    served = Path(told[0].split(maxsplit=1)[1])
    if allocator.so_file is not None and served.resolve() != allocator.so_file.resolve():
        raise Refusal(f"{allocator.name} did not serve malloc, but {served}")
    return {kind: [int(word) for word in figures] for kind, *figures in map(str.split, told[1:])}


def cells(runs: list[Tail], kind: str) -> list[str]:
    """Percentiles, the longest [us], and all calls [ms]."""
    _, *columns = zip(*(tail[kind] for tail in runs), strict=True)
    *percentiles, longest, all_calls = columns
    middle = [f"{statistics.median(column) / NS_PER_US:,.1f}" for column in percentiles]
    return [*middle, f"{min(longest) / NS_PER_US:,.0f} to {max(longest) / NS_PER_US:,.0f}",
            f"{statistics.median(all_calls) / NS_PER_MS:,.0f}"]


def main(names: str | None) -> int:
    found, missing = find_allocators(find_library(None, None), ())
    allocators = chosen(found, names)
    for reason in [] if names else missing:
        print(f"tails: not measured, because missing: {reason}", file=sys.stderr)
    runs: dict[str, list[Tail]] = {allocator.name: [] for allocator in allocators}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "tails"
        subprocess.run(["cc", "-O2", "-o", program, Path(__file__).with_suffix(".c")], check=True)
        for number in range(RUNS):
            for allocator in allocators if number % 2 == 0 else reversed(allocators):
                runs[allocator.name].append(run(program, allocator))
    for kind in KINDS:
        print(f"| {kind} | p50 | p99.9 | p99.99 | longest | all, ms |")
        print("|---|---:|---:|---:|---:|---:|")
        for allocator in allocators:
            print(f"| {allocator} | {' | '.join(cells(runs[allocator.name], kind))} |")
        print()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else None))
    except (Refusal, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"tails: {error}")
