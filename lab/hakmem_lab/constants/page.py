# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of lab/docs/constants.md, between two marks; the rest of the page is written by hand."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from hakmem_lab.constants.rows import Row

BEGIN, END = "<!-- made by `make constants` from constants.csv -->", "<!-- end -->"


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def cost_of(row: Row, side: str) -> str:
    """The variant's value, what is worse, what is better, and the total."""
    if row.reach != "model":
        return "–"
    if not row.side(side):
        return "no such build"
    total, best = row.measured[f"{side}_total"], row.measured[f"{side}_best"]
    text = row.measured[f"{side}_cost"] + (f"; better: {best}" if best else "")
    return f"{text}; total {total} %" if total else text


def line_of(row: Row) -> str:
    cells = (f"`{row.name}`", f"`{row.value}`", row.decides, row.status, row.why, cost_of(row, "half"),
             cost_of(row, "double"))
    return "| " + " | ".join(map(cell, cells)) + " |"


def tables(rows: list[Row]) -> str:
    lines = []
    for file, group in groupby(rows, lambda row: row.file):
        lines += [f"### {file}", "", "| constant | value | decides | status | why | half | double |",
                  "|---|---|---|---|---|---|---|", *map(line_of, group), ""]
    return "\n".join(lines)


def write(path: Path, rows: list[Row]) -> None:
    head, rest = path.read_text().split(BEGIN)
    path.write_text(f"{head}{BEGIN}\n\n{tables(rows)}\n{END}{rest.split(END)[1]}")
