# SPDX-License-Identifier: MIT OR Apache-2.0
"""The CSV: a line for each run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from hakmem.base.atomic_write import append_whole
from hakmem.base.errors import Refusal, refuse_unless_regular, written
from hakmem.process.launch import Figures
from hakmem_lab.pareto.configurations import Configuration

OK = "ok"


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

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return self.program, self.regime, self.configuration, self.version, self.round


NAMES = [field.name for field in fields(Row)]


def row_of_run(program: str, regime: str, on: Configuration, number: int, used: Figures, digest: str) -> Row:
    return Row(program, regime, on.name, on.allocator.name, on.allocator.sha256, on.settings_text, number, OK,
               used.user_us + used.sys_us, used.user_us, used.wall_ns // 1000, used.minflt + used.majflt, used.maxrss_kib,
               digest[:16])


def row_of_failure(program: str, regime: str, on: Configuration, number: int, why: str) -> Row:
    return Row(program, regime, on.name, on.allocator.name, on.allocator.sha256, on.settings_text, number, why)


def append(path: Path, row: Row) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, NAMES)
    if not path.exists() or path.stat().st_size == 0:
        writer.writeheader()
    writer.writerow(asdict(row))
    with written(path):
        append_whole(path, text.getvalue(), to_disk=True)


def read(path: Path) -> list[Row]:
    """Runs that ended well; of a run that was made twice, the last."""
    refuse_unless_regular(path)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list({row.key: row for row in parsed(path, file) if row.outcome == OK}.values())
    except (UnicodeDecodeError, csv.Error):
        raise Refusal(f"{path}: not the rows of `hakmem-lab judge`") from None
    except OSError as failure:
        raise Refusal(f"{path}: {(failure.strerror or str(failure)).lower()}") from None


def parsed(path: Path, file: Iterable[str]) -> Iterable[Row]:
    reader = csv.DictReader(file)
    if reader.fieldnames != NAMES:
        raise Refusal(f"{path}: not the rows of `hakmem-lab judge`")
    for number, line in enumerate(reader, start=2):
        try:
            yield Row(**{field.name: (int if field.type == "int" else str)(line[field.name]) for field in fields(Row)})
        except (TypeError, ValueError, KeyError):
            raise Refusal(f"{path}: line {number} is damaged") from None
