# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab learning`: what is drawn of learning, read from the files that the library writes.

| file | who decides anew | drawn |
|---|---|---|
| of `lab_learn_log` | `hak_redecide --curve` | what was paid as learnt and by break-even; the arms of the blocks taken |
| of `lab_learn_log`, `.windows` | `hak_retune --series`, `hak_retune` | ratings of the thresholds; phases, costs and changes |
| of `decisions_file` | nobody: as it is | the last 512 decisions, and the changes for the whole process |
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.learning.decisions import MAGIC, Change, Decision, file_of_process, number_of, output_of, read_ring
from hakmem.process.places import find_tool

JOURNAL_MAGIC, WINDOWS_MAGIC = b"HAKTLD01", b"HAKWIN02"
ENDINGS = (".png", ".svg")
DECISIONS_WORDS = ("threshold", "slack", "place", "all")
KIND_WORDS = ("dropped", "candidate", "promoted", "rolled_back", "frozen", "alarm")
THRESHOLD_COUNT = 12


@dataclass(frozen=True)
class Told:
    """Sums from the beginning."""

    when: int  # ns of CLOCK_MONOTONIC
    waits: int
    paid: float  # pages fetched, or rent worth as much
    break_even: float
    passed: int  # blocks taken that there was no time to learn of
    taken: tuple[int, ...]  # the others, by arm


@dataclass(frozen=True)
class Window:
    number: int
    when: int
    cost: int  # ns a slow path
    phase: str
    incumbent: int
    retired: int  # a bit a threshold
    ratings: tuple[float, ...]


@dataclass(frozen=True)
class Curve:
    """Of a learn_log."""

    name: str
    told: list[Told]
    start: int

    @property
    def end(self) -> int:
        return self.told[-1].when


@dataclass(frozen=True)
class Ladder:
    """Of the windows of a learn_log."""

    name: str
    windows: list[Window]
    changes: list[Change]
    start: int

    @property
    def end(self) -> int:
        return self.windows[-1].when

    @property
    def is_rated(self) -> bool:
        return any(len(set(window.ratings)) > 1 for window in self.windows)


@dataclass(frozen=True)
class Decided:
    """Of a file of decisions."""

    name: str
    decisions: list[Decision]
    changes: list[Change]

    @property
    def start(self) -> int:
        return min(each.when for each in [*self.decisions, *self.changes])

    @property
    def end(self) -> int:
        return max(each.when for each in [*self.decisions, *self.changes])


Source = Curve | Ladder | Decided


# ---- reading ----

def lines_of(tool: Path, *arguments: str | Path) -> list[list[str]]:
    """Below the headings."""
    return list(csv.reader(output_of(tool, *arguments).decode().splitlines()))[1:]


def curve_of(tool: Path, file: Path, name: str) -> Curve:
    told = [
        Told(int(row[0]), int(row[1]), float(row[2]), float(row[3]), int(row[4]), tuple(map(int, row[5:])))
        for row in lines_of(tool, "--curve", file) if int(row[0])  # rows of a policy have no time
    ]
    if not told or not told[-1].waits:
        raise Refusal(f"{name}: no block waited, so there is nothing to draw")
    return Curve(name, told, told[0].when)


def ladder_of(tool: Path, file: Path, name: str) -> Ladder:
    rows = lines_of(tool, "--series", file)
    if len(rows) < 2:
        raise Refusal(f"{name}: no two windows are over, so there is nothing to draw")
    windows = [
        Window(int(row[0]), int(row[1]), int(row[2]), row[3], int(row[5]), int(row[6]), tuple(map(float, row[7:])))
        for row in rows[1:]  # the first has no cost: it is what the others begin from
    ]
    changes = [change_of(line.split()) for line in output_of(tool, file).decode().splitlines()]
    return Ladder(name, windows, changes, int(rows[0][1]))


def change_of(words: list[str]) -> Change:
    number, when, window, what, kind, origin, to, cost, before = words
    return Change(int(number), int(when), int(window), int(cost), int(before), DECISIONS_WORDS.index(what),
                  KIND_WORDS.index(kind), int(origin), int(to))


def decided_of(file: Path, name: str) -> Decided:
    ring = read_ring(file, name)
    if not ring.decisions and not ring.changes:
        raise Refusal(f"{name}: nothing was decided, so there is nothing to draw")
    return Decided(name, ring.decisions, ring.changes)


def source_of(build: Path | None, asked: str) -> Source:
    pid = number_of(asked)
    file, name = file_of_process(pid)[:2] if pid is not None else (Path(asked), asked)
    match beginning_of(file, name):
        case b"HAKDEC01":
            return decided_of(file, name)
        case b"HAKTLD01":
            return curve_of(find_tool(build, "hak_redecide"), file, name)
        case b"HAKWIN02":
            return ladder_of(find_tool(build, "hak_retune"), file, name)
    raise Refusal(f"{name}: neither a learn_log, nor its windows, nor a decisions file")


def beginning_of(file: Path, name: str) -> bytes:
    if file.exists() and not file.is_file():
        raise Refusal(f"{name}: not a regular file")
    try:
        with file.open("rb") as source:
            return source.read(len(MAGIC))
    except OSError as failure:
        raise Refusal(f"{name}: {(failure.strerror or str(failure)).lower()}") from None
