# SPDX-License-Identifier: MIT OR Apache-2.0
"""lab/docs/constants.csv: a row for each constant of a policy. What it says of the source, and the two variants.

    before, value    the text in the file: `before` followed by `value`, once
    half, double     what stands in the place of `value` in a variant; empty: no such variant
    also             further edits that a variant needs: FILE|TEXT|FOR HALF|FOR DOUBLE, several parted by `;;`
    settings         of the run: NAME=VALUE ...; parted by `|`, the first for the half, the second for the double
    reach            model: hak_model passes by it; none: it does not
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

KEPT = (
    "name", "file", "before", "value", "half", "double", "also", "settings", "reach", "decides", "status", "why",
)
MEASURED = ("half_cost", "double_cost", "half_best", "double_best", "half_total", "double_total")
STATUSES = ("derived", "measured", "setting", "stays")
SIDES = ("half", "double")


class StaleError(Exception):
    """The source is not what the table says."""


@dataclass
class Row:
    """One constant."""

    name: str
    file: str
    before: str
    value: str
    half: str
    double: str
    also: str
    settings: str
    reach: str
    decides: str
    status: str
    why: str
    measured: dict[str, str] = field(default_factory=dict)

    def side(self, side: str) -> str:
        return self.half if side == "half" else self.double

    def settings_of(self, side: str) -> dict[str, str]:
        parts = self.settings.split("|")
        chosen = parts[min(SIDES.index(side), len(parts) - 1)]
        return dict(pair.split("=", 1) for pair in chosen.split())

    def further(self, side: str) -> list[tuple[str, str, str]]:
        """File, text, text instead."""
        edits = [edit.split("|") for edit in self.also.split(";;") if edit]
        return [(file, text, (half, double)[SIDES.index(side)]) for file, text, half, double in edits]


def read(path: Path) -> list[Row]:
    with path.open(newline="") as file:
        return [
            Row(*(line[name] for name in KEPT), {name: line[name] for name in MEASURED})
            for line in csv.DictReader(file)
        ]


def write(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow((*KEPT, *MEASURED))
        for row in rows:
            out.writerow([*(getattr(row, name) for name in KEPT), *(row.measured.get(name, "") for name in MEASURED)])


# ---- the source ----

def is_whole(text: str, start: int, end: int) -> bool:
    """No name or number goes on at either end."""
    def goes_on(at: int) -> bool:
        return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")

    return not (goes_on(start) and goes_on(start - 1)) and not (goes_on(end - 1) and goes_on(end))


def places(text: str, wanted: str) -> list[int]:
    """Where it stands."""
    found, at = [], text.find(wanted)
    while at >= 0:
        if is_whole(text, at, at + len(wanted)):
            found.append(at)
        at = text.find(wanted, at + 1)
    return found


def replaced(name: str, text: str, wanted: str, instead: str) -> str:
    found = places(text, wanted)
    if len(found) != 1:
        raise StaleError(f"{name}: `{wanted}` stands {len(found)} times there, not once")
    return text[: found[0]] + instead + text[found[0] + len(wanted):]


def edits(row: Row, side: str) -> list[tuple[str, str, str]]:
    """What makes the variant: file, text, text instead."""
    return [(row.file, row.before + row.value, row.before + row.side(side)), *row.further(side)]


def stale(root: Path, name: str, changes: Iterable[tuple[str, str, str]]) -> list[str]:
    """One line for each change whose text does not stand in its file once."""
    found = []
    for file, text, instead in changes:
        path = root / file
        try:
            replaced(f"{name} in {file}", path.read_text() if path.is_file() else "", text, instead)
        except StaleError as error:
            found.append(str(error))
    return found


def faults(root: Path, rows: list[Row]) -> list[str]:
    """One line for each row that the source does not bear out."""
    found = []
    for row in rows:
        for side in SIDES:
            found += stale(root, row.name, edits(row, side) if row.side(side) else [])
        if row.status not in STATUSES:
            found.append(f"{row.name}: no such status: {row.status}")
    return list(dict.fromkeys(found))
