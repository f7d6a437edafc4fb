# SPDX-License-Identifier: MIT OR Apache-2.0
"""The CSV: a line for each phase of a run, and one for the whole run, which says that it is complete.

Lines of the floor have the configuration `floor`: there are the means of what was live, in HAKMEM's heap and outside it,
as MiB x seconds of that run. Nothing that can be calculated is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hakmem.process.peers import Allocator
from hakmem_lab.csv_rows import append_rows, read_rows
from hakmem_lab.pareto.configurations import Configuration
from hakmem_lab.pareto.floor import Floor
from hakmem_lab.pareto.integral import Phase, integral
from hakmem_lab.pareto.perform import WHOLE, Measured
from hakmem_lab.pareto.programs import Real

FLOOR = "floor"
OK = "ok"


@dataclass(frozen=True)
class Row:
    program: str
    kind: str
    configuration: str
    allocator: str
    version: str  # of the library: the first digits of its hash
    settings: str
    round: int
    phase: str
    outcome: str
    wall_s: float = 0.0
    clock_s: float = 0.0  # the seconds of the integrals: of batch programs CPU time
    cpu_s: float = 0.0  # of the whole run
    rss_mib_s: float = 0.0  # resident, every page of every process
    anonymous_mib_s: float = 0.0  # of these, neither of a file nor shared
    peak_mib: float = 0.0
    live_mib_s: float = 0.0
    heap_mib_s: float = 0.0
    outside_mib_s: float = 0.0

    @property
    def is_whole(self) -> bool:
        return self.phase == WHOLE


# ---- from runs ----

def rows_of_run(row: Real, configuration: Configuration, number: int, done: Measured) -> list[Row]:
    start = head(row, configuration.name, configuration.allocator, configuration.settings_text, number)
    phases = done.phases if len(done.phases) > 1 else []
    return [row_of_phase(start, done, phase) for phase in [*phases, done.whole]]


def row_of_phase(start: tuple[Any, ...], done: Measured, phase: Phase) -> Row:
    times, shown = done.clock(done.samples.ns), done.clock.during(phase)
    return Row(*start, phase.name, OK, wall_s=phase.seconds, clock_s=shown.seconds,
               cpu_s=done.cpu_seconds if phase.name == WHOLE else 0.0,
               rss_mib_s=integral(times, done.samples.resident_mib, shown.start_ns, shown.end_ns),
               anonymous_mib_s=integral(times, done.samples.anonymous_mib, shown.start_ns, shown.end_ns),
               peak_mib=done.samples.peak_mib)


def rows_of_floor(row: Real, hakmem: Allocator, number: int, found: list[Floor]) -> list[Row]:
    start = head(row, FLOOR, hakmem, "", number)
    parts = [Row(*start, one.phase.name, OK, wall_s=one.phase.seconds, clock_s=one.clock_s, live_mib_s=one.live_mib_s,
                 heap_mib_s=one.heap_mib_s, outside_mib_s=one.outside_mib_s) for one in found]
    return parts if parts[-1].is_whole else [*parts, Row(*start, WHOLE, OK, wall_s=sum(one.wall_s for one in parts))]


def row_of_failure(row: Real, configuration: str, allocator: Allocator, settings: str, number: int, why: str) -> Row:
    return Row(*head(row, configuration, allocator, settings, number), WHOLE, why)


def head(row: Real, configuration: str, allocator: Allocator, settings: str, number: int) -> tuple[Any, ...]:
    return row.name, row.kind, configuration, allocator.name, allocator.sha256, settings, number


# ---- the file ----

def append(path: Path, rows: Iterable[Row]) -> None:
    """All lines of a run."""
    append_rows(path, Row, rows)


def read(path: Path) -> list[Row]:
    return read_rows(path, Row, "hakmem-lab pareto")


def complete(rows: Iterable[Row]) -> list[Row]:
    """The lines of runs that ended well; of a run that was made twice, the last."""
    runs: dict[tuple[str, str, str, int], list[Row]] = {}
    kept: dict[tuple[str, str, str, int], list[Row]] = {}
    for row in rows:
        key = row.program, row.configuration, row.version, row.round
        runs.setdefault(key, []).append(row)
        if row.is_whole:
            lines = runs.pop(key)
            if row.outcome == OK:
                kept[key] = lines
    return [row for lines in kept.values() for row in lines]
