# SPDX-License-Identifier: MIT OR Apache-2.0
"""record: how each suite ended, as data (suites.json) and as a page (suites.md).

what      A Row per suite. Keeping one replaces the suite's row of an earlier run and writes both files anew.
failure   A file that cannot be read or written ends the run with the system's message.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from judging.sources import SUITES, installed
from judging.verdicts import Comparison, counts

DATA = "suites.json"
PAGE = "suites.md"
TEMPLATE = SUITES / "suites.md.jinja"


@dataclass(frozen=True)
class Row:
    """One suite."""

    name: str
    title: str
    package: str
    part: str
    units: int
    cases: int
    there: str
    here: str
    processes: int
    unsteady: int
    date: str
    explained: list[list[str]] = field(default_factory=list)
    unexplained: list[list[str]] = field(default_factory=list)

    def line(self) -> str:
        """For the terminal."""
        return (f"{'FAIL' if self.unexplained else 'ok':5} {self.name:11} glibc: {self.there}; HAKMEM: {self.here}; "
                f"{len(self.explained)} explained, {self.unsteady} unsteady; {self.processes} processes served")


def version(package: str) -> str:
    """A package and its version, where it is installed: mimalloc's tests come from a source alone."""
    return f"{package} {installed(package).rpartition(':')[2]}".strip()


def row_of(name: str, suite: object, units: list[str], found: Comparison, processes: int) -> Row:
    """What is kept of a suite that ran."""
    explained = sorted([one.unit, one.case, one.there, one.here, why] for one, why in found.explained.items())
    return Row(name, suite.TITLE, version(suite.PACKAGE), suite.PART, len(units), len(found.there), counts(found.there),  # type: ignore[attr-defined]
               counts(found.here), processes, len(found.unsteady), date.today().isoformat(), explained,
               [[one.unit, one.case, one.there, one.here] for one in found.unexplained])


def kept(folder: Path) -> dict[str, Row]:
    """The rows of earlier runs, by name."""
    path = folder / DATA
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.is_file() else []
    return {row["name"]: Row(**row) for row in rows}


def keep(folder: Path, row: Row) -> None:
    """Puts the row in its place and writes data and page."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = sorted((kept(folder) | {row.name: row}).values(), key=lambda one: one.name)
    (folder / DATA).write_text(json.dumps({"rows": [asdict(one) for one in rows]}, indent=1) + "\n", encoding="utf-8")
    write_page(folder)


def write_page(folder: Path) -> None:
    """suites.md from suites.json."""
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(rows=list(kept(folder).values()))
    (folder / PAGE).write_text(page + "\n", encoding="utf-8")
