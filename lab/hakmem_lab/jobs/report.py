# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables of the rows of `hakmem-lab jobs`, as Markdown: verdict and commands, seconds, overhead; ranges of all rounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem_lab.jobs.answer import CANNOT
from hakmem_lab.jobs.model import BARE, TOOLS, jobs_of
from hakmem_lab.jobs.session import Rows, rows_of

Row = dict[str, str]
NOTHING = "–"


def of(rows: Rows, job: str, tool: str) -> list[Row]:
    return [row for (name, by, _), row in sorted(rows.items()) if name == job and by == tool]


def range_text(values: list[float], digits: int) -> str:
    texts = sorted({f"{value:.{digits}f}" for value in values}, key=float)
    return " to ".join(dict.fromkeys((texts[0], texts[-1]))) if texts else NOTHING


def verdict_cell(own: list[Row], bare: list[Row]) -> str:
    verdicts = list(dict.fromkeys(row["verdict"] for row in own))
    if not verdicts:
        return NOTHING
    if verdicts == [CANNOT]:
        return CANNOT
    return f"{', '.join(verdicts)}, {own[0]['commands']}"


def seconds_cell(own: list[Row], bare: list[Row]) -> str:
    return range_text([float(row["wall_s"]) for row in own if row["wall_s"]], 1)


def cpu_cell(own: list[Row], bare: list[Row]) -> str:
    return range_text([float(row["all_cpu_s"]) for row in own if row["all_cpu_s"]], 2)


def ratio_cell(column: str) -> Callable[[list[Row], list[Row]], str]:
    """Beside the bare run of the same round."""
    def cell(own: list[Row], bare: list[Row]) -> str:
        base = {row["round"]: float(row[column]) for row in bare if row[column]}
        ratios = [float(row[column]) / base[row["round"]] for row in own if row[column] and base.get(row["round"])]
        return range_text(ratios, 2)

    return cell


TABLES: tuple[tuple[str, Callable[[list[Row], list[Row]], str], bool], ...] = (
    ("answer, and commands typed", verdict_cell, False),
    ("seconds of all commands and of what was waited for", seconds_cell, True),
    ("CPU seconds of all commands, the program's in it", cpu_cell, True),
    ("CPU time of the program, as times the bare one's", ratio_cell("cpu_s"), False),
    ("peak memory of the program, as times the bare one's", ratio_cell("peak_mib"), False),
)


def report(file: Path) -> int:
    if not file.exists():
        raise Refusal(f"{file}: no such file")
    rows = rows_of(file)
    names = [job.name for job in jobs_of([]) if of(rows, job.name, BARE)]
    for title, cell, with_bare in TABLES:
        tools = [*([BARE] if with_bare else []), *TOOLS]
        print(f"\n{title}\n\n| job | {' | '.join(tools)} |\n|---|{'---|' * len(tools)}")
        for name in names:
            bare = of(rows, name, BARE)
            print(f"| {name} | {' | '.join(cell(of(rows, name, tool), bare) for tool in tools)} |")
    return 0
