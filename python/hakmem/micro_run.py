"""Runs the benchmark programs of bench/: one process per cell, allocators in turn, and a proof from each process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hakmem.errors import NOT_PROVEN, Refusal
from hakmem.launch import signal_name
from hakmem.peers import Allocator, who_served_instead
from hakmem.places import BUILD_FOLDER, candidate_roots
from hakmem.preload import environment

CELL_LIMIT_S = 120
# Cells whose cores lay further apart than this, in units of the shortest hop met, are not compared with the others.
NEAR = 2.0
MORE_TRIES = 2


@dataclass(frozen=True)
class Row:
    """One pattern of the program, and what it calls an operation."""

    name: str
    operation: str


@dataclass(frozen=True)
class Sample:
    """One process: the best repetition of one row on one allocator."""

    row: str
    allocator: str
    round: int
    ns: float
    hop_ns: float | None
    values: dict[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Failure:
    """A cell without a figure."""

    row: str
    allocator: str
    why: str


# ---- one process ----

def find_program(name: str, build: Path | None) -> Path:
    folders = [build] if build else [root / BUILD_FOLDER for root in candidate_roots()]
    for folder in folders:
        path = folder / "bench" / name
        if path.is_file():
            return path.resolve()
    wanted = (build or BUILD_FOLDER) / "bench" / name
    raise Refusal(f"{wanted} is missing: build it with `make`, or name its folder with --build")


def list_rows(program: Path) -> list[Row]:
    variables = clean_environment("")
    listing = subprocess.run([program, "list"], capture_output=True, text=True, check=True, env=variables)
    return [Row(*line.split(maxsplit=1)) for line in listing.stdout.splitlines()]


def clean_environment(preload: str) -> dict[str, str]:
    """As the caller's, without what he preloads or counts."""
    variables = environment(os.environ, preload, {})
    if not preload:
        del variables["LD_PRELOAD"]
    return variables


def run_program(command: list[str], allocator: Allocator) -> dict[str, str] | str:
    """What the process printed as name=value, or why there is nothing."""
    try:
        done = subprocess.run(
            command, env=clean_environment(allocator.preload), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=CELL_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return f"did not end within {CELL_LIMIT_S} s"
    if done.returncode != 0:
        return why_failed(done)
    return parse_output(done.stdout)


def why_failed(done: subprocess.CompletedProcess[str]) -> str:
    last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    if done.returncode < 0:
        return f"was killed by {signal_name(-done.returncode)}: {last}"
    return f"exited with {done.returncode}: {last}"


def parse_output(text: str) -> dict[str, str]:
    """The first line holds pairs after the row's name; every further line one, whose value may have spaces."""
    first, *more = text.splitlines() or [""]
    pairs = [word for word in first.split() if "=" in word] + [line for line in more if "=" in line]
    return dict(pair.split("=", 1) for pair in pairs)


def run_cell(command: list[str], row: str, allocator: Allocator, round_number: int) -> Sample | Failure:
    values = run_program([*command, "--proof"], allocator)
    if isinstance(values, str):
        return Failure(row, allocator.name, values)
    instead = who_served_instead(allocator, values)
    if instead:
        raise Refusal(f"{row}: no figure for {allocator.name}: it was served by {instead}", NOT_PROVEN)
    hop = float(values["hop_ns"]) if "hop_ns" in values else None
    return Sample(row, allocator.name, round_number, float(values["ns"]), hop, values)


# ---- all of them ----

@dataclass
class Measurement:
    """What was measured so far; a run that was stopped leaves what it has."""

    rows: list[Row]
    allocators: list[Allocator]
    samples: list[Sample] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def add(self, outcome: Sample | Failure) -> None:
        if isinstance(outcome, Failure):
            self.failures.append(outcome)
        else:
            self.samples.append(outcome)

    def failed(self, row: str, allocator: str) -> bool:
        return any(f.row == row and f.allocator == allocator for f in self.failures)

    def is_near(self, sample: Sample) -> bool:
        if sample.hop_ns is None:
            return True
        return sample.hop_ns <= NEAR * min(s.hop_ns for s in self.samples if s.hop_ns is not None)

    def best(self, row: str, allocator: str) -> Sample | None:
        """The shortest of the rounds in which the cores lay as near as ever; if none did, of all."""
        mine = [s for s in self.samples if s.row == row and s.allocator == allocator]
        near = [s for s in mine if self.is_near(s)]
        return min(near or mine, key=lambda s: s.ns, default=None)

    def far_apart(self, row: str) -> bool:
        """Whether the figures of this row were taken with the cores at different distances."""
        best = [self.best(row, a.name) for a in self.allocators]
        return any(s is not None and not self.is_near(s) for s in best)


def rotated(allocators: list[Allocator], by: int) -> list[Allocator]:
    at = by % len(allocators)
    return allocators[at:] + allocators[:at]


def cells(rows: list[Row], allocators: list[Allocator], rounds: int) -> Iterator[tuple[int, Row, Allocator]]:
    """Every round does all rows; the allocators of a row follow one another, another one first each time."""
    for round_number in range(rounds):
        for number, row in enumerate(rows):
            for allocator in rotated(allocators, round_number + number):
                yield round_number, row, allocator


def measure_cell(
    measured: Measurement, program: Path, row: Row, allocator: Allocator, number: int, seconds: float
) -> None:
    """Tries again when the machine has moved its cores apart: a figure of two threads would not compare."""
    if measured.failed(row.name, allocator.name):
        return
    command = [str(program), row.name, "--seconds", str(seconds)]
    for _ in range(1 + MORE_TRIES):
        outcome = run_cell(command, row.name, allocator, number)
        measured.add(outcome)
        if isinstance(outcome, Failure) or measured.is_near(outcome):
            return
