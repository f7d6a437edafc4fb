# SPDX-License-Identifier: MIT OR Apache-2.0
"""record: how each case ended, as data (programs.json) and as a page with a table (programs.md).

what      A Row per case. Keeping one replaces the case's row of an earlier run and writes both files anew, so that a
          run that is cut short loses nothing; run.py --page makes the page alone.
failure   A file that cannot be read or written ends the run with the system's message.
not here  Running (runner.py).
"""

from __future__ import annotations

import importlib
import json
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from hakmem_lab.bench.machine import checkout, hardware, system
from jinja2 import Environment, StrictUndefined

from harness.packages import version
from harness.runner import REAL, Usage, Verdict, load_case

DATA = "programs.json"
PAGE = "programs.md"
TEMPLATE = REAL / "programs.md.jinja"
MIB = 1024


@dataclass(frozen=True)
class Row:
    """One case."""

    name: str
    what: str
    version: str
    end: str  # ok, FAIL or skip
    lines: list[str] = field(default_factory=list)
    processes: int = 0
    seconds: float = 0.0
    glibc: Usage | None = None
    candidate: Usage | None = None
    rounds: int = 1

    @property
    def failed(self) -> bool:
        return self.end == "FAIL"

    @property
    def skipped(self) -> bool:
        return self.end == "skip"

    def line(self) -> str:
        """For the terminal."""
        if self.skipped:
            return f"skip  {self.name:12} {self.lines[0]}"
        return f"{self.end:5} {self.name:12} {self.processes:3} processes{self.use()}   {self.seconds:.0f} s"

    def use(self) -> str:
        """Both runs side by side."""
        if not self.glibc or not self.candidate:
            return ""
        rss = f"{self.glibc.rss_kib / MIB:.1f} -> {self.candidate.rss_kib / MIB:.1f} MiB"
        return f"   RSS {rss:20}   CPU {self.glibc.cpu_us / 1e6:.2f} -> {self.candidate.cpu_us / 1e6:.2f} s"


def description(name: str) -> str:
    """The first line of the case's own text, without the name in front."""
    text = (importlib.import_module(load_case(name).__name__).__doc__ or "").splitlines()[0]
    return text.partition(": ")[2].rstrip(".")


def row_of(name: str, verdict: Verdict, seconds: float, rounds: int = 1) -> Row:
    """What is kept of a case that ran."""
    return Row(name, description(name), version(name), "FAIL" if verdict.lines else "ok", verdict.lines,
               verdict.processes, seconds, verdict.glibc, verdict.candidate, rounds)


def skipped_row(name: str, why: str) -> Row:
    """What is kept of a case whose program is not there."""
    return Row(name, description(name), version(name), "skip", [why])


def machine_in_words() -> str:
    """Kind, cores, memory and system; no name or path of the machine."""
    hard, soft = hardware(), system()
    kernel = ".".join(str(soft["kernel"]).split(".")[:2])
    return (f"{hard['machine']}, {hard['cores']} cores ({hard['cpu']}), {int(str(hard['memory_mib'])) >> 10} GiB, "
            f"{soft['distribution']}, Linux {kernel}, THP {soft['thp']}")


class Record:
    """The folder's two files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def kept(self) -> dict[str, Row]:
        """The rows of earlier runs, by name."""
        path = self.folder / DATA
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.is_file() else []
        return {row["name"]: read_row(row) for row in rows}

    def keep(self, row: Row) -> None:
        """Puts the row in its place and writes data and page."""
        rows = sorted((self.kept() | {row.name: row}).values(), key=lambda one: one.name)
        facts = {"machine": machine_in_words(), "date": date.today().isoformat(), "commit": checkout()["commit"]}
        data = {**facts, "rows": [asdict(one) for one in rows]}
        (self.folder / DATA).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        write_page(self.folder)


def read_row(row: dict[str, Any]) -> Row:
    """As it was written."""
    used = {side: Usage(**row[side]) if row[side] else None for side in ("glibc", "candidate")}
    return Row(**(row | used))


# ---- the page ----

def mebibytes(usage: Usage) -> str:
    """Peak RSS, as in the table."""
    return f"{usage.rss_kib / MIB:,.1f}"


def seconds(usage: Usage) -> str:
    """CPU time, as in the table."""
    return f"{usage.cpu_us / 1e6:.2f}"


def ratio(candidate: int, reference: int) -> str:
    """Two digits; bold where the candidate needs a tenth more."""
    value = f"{candidate / max(reference, 1):.2f}"
    return f"**{value}**" if float(value) > 1.1 else value


def cells(row: Row) -> list[str]:
    """The figures of one row; a program that failed has none that mean anything."""
    if row.end != "ok" or not row.glibc or not row.candidate:
        return ["–"] * 7
    return [str(row.rounds),
            mebibytes(row.glibc), mebibytes(row.candidate), ratio(row.candidate.rss_kib, row.glibc.rss_kib),
            seconds(row.glibc), seconds(row.candidate), ratio(row.candidate.cpu_us, row.glibc.cpu_us)]


def write_page(folder: Path) -> None:
    """programs.md from programs.json."""
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    data = json.loads((folder / DATA).read_text(encoding="utf-8"))
    rows = [read_row(row) for row in data.pop("rows")]
    page = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(rows=rows, cells=cells, **data)
    (folder / PAGE).write_text(page + "\n", encoding="utf-8")
