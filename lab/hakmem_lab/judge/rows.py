# SPDX-License-Identifier: MIT OR Apache-2.0
"""The CSV: a line for each run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hakmem.process.launch import Figures
from hakmem.process.peers import HAKMEM
from hakmem_lab.csv_rows import append_rows, read_rows
from hakmem_lab.pareto.configurations import Configuration

OK = "ok"


@dataclass(frozen=True)
class Counts:
    instructions: int
    first_misses: int
    last_misses: int


@dataclass(frozen=True)
class Row:
    program: str
    regime: str
    configuration: str
    allocator: str
    version: str  # of the library: the first digits of its hash
    settings: str
    round: int  # the first is 1
    outcome: str
    cpu_us: int = 0
    user_us: int = 0
    wall_us: int = 0
    faults: int = 0
    peak_kib: int = 0
    digest: str = ""  # of what the program wrote
    instructions: int = 0  # this and the misses: of the counted rows
    first_misses: int = 0
    last_misses: int = 0

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return self.program, self.regime, self.configuration, self.version, self.round


def is_hakmem(allocator: str) -> bool:
    """Another build of HAKMEM, or a copy, goes as hakmem-NAME."""
    return allocator == HAKMEM or allocator.startswith(f"{HAKMEM}-")


def row_of_run(program: str, regime: str, on: Configuration, number: int, used: Figures, digest: str) -> Row:
    return Row(program, regime, on.name, on.allocator.name, on.allocator.sha256, on.settings_text, number, OK,
               used.user_us + used.sys_us, used.user_us, used.wall_ns // 1000, used.minflt + used.majflt, used.maxrss_kib,
               digest[:16])


def row_of_counts(program: str, regime: str, on: Configuration, counts: Counts) -> Row:
    return Row(program, regime, on.name, on.allocator.name, on.allocator.sha256, on.settings_text, 1, OK,
               instructions=counts.instructions, first_misses=counts.first_misses, last_misses=counts.last_misses)


def row_of_failure(program: str, regime: str, on: Configuration, number: int, why: str) -> Row:
    return Row(program, regime, on.name, on.allocator.name, on.allocator.sha256, on.settings_text, number, why)


def append(path: Path, row: Row) -> None:
    append_rows(path, Row, [row])


def read(path: Path) -> list[Row]:
    """Runs that ended well; of a run that was made twice, the last."""
    return list({row.key: row for row in read_rows(path, Row, "hakmem-lab judge") if row.outcome == OK}.values())
