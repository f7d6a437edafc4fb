#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the lines of src/ that tests ran, a row per layer and per file below 95 percent, then the lines that none ran.

    scripts/coverage.py lines.json        as gcovr --json writes it
"""
from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

Lines = dict[str, dict[int, bool]]
ASKED = 95  # percent


def lines_of(path: Path) -> Lines:
    """By file: each line with code, and whether it ran in any of the library's variants."""
    found: Lines = defaultdict(dict)
    for file in json.loads(path.read_text())["files"]:
        for line in file["lines"]:
            ran = found[file["file"]]
            number = line["line_number"]
            ran[number] = ran.get(number, False) or line["count"] > 0
    return found


def layer_of(file: str) -> str:
    return file.split("/")[1]


def table(found: Lines) -> Iterator[str]:
    yield "| layer | lines | run | % |"
    yield "|---|---:|---:|---:|"
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file, ran in found.items():
        for name in (layer_of(file), "all"):
            sums[name][0] += len(ran)
            sums[name][1] += sum(ran.values())
    for name, (lines, run) in sorted(sums.items(), key=lambda item: (item[0] == "all", item[0])):
        yield f"| {name} | {lines:,} | {run:,} | {100 * run / lines:.1f} |"


def files_below(found: Lines) -> Iterator[str]:
    """The files of which less than 95 percent ran, the least first."""
    shares = {file: 100 * sum(ran.values()) / len(ran) for file, ran in found.items()}
    low = sorted((share, file) for file, share in shares.items() if share < ASKED)
    yield f"{len(low)} of {len(shares)} files below {ASKED}%:"
    for share, file in low:
        ran = found[file]
        yield f"{file}: {sum(ran.values())} of {len(ran)}, {share:.1f}%"


def ranges(numbers: Iterable[int]) -> str:
    """1, 2, 3, 7 as "1-3 7"."""
    parts: list[list[int]] = []
    for n in sorted(numbers):
        if parts and n == parts[-1][1] + 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return " ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)


def gaps(found: Lines) -> Iterator[str]:
    for file, ran in sorted(found.items()):
        missed = [number for number, did in ran.items() if not did]
        if missed:
            yield f"{file}: {ranges(missed)}"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("coverage.py: expected one file, as gcovr --json writes it")
    found = lines_of(Path(sys.argv[1]))
    print("\n".join([*table(found), "", *files_below(found), "", *gaps(found)]))


if __name__ == "__main__":
    main()
