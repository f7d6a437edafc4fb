# SPDX-License-Identifier: MIT OR Apache-2.0
"""A table of text, and its three dresses: Markdown, the terminal, and (in report.html.jinja) HTML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rich.table import Table

from hakmem.base.exit import printable

BEST = "best"
GOOD = "good"
BAD = "bad"
SAME = "same"
FAINT = "faint"
WORDS = "words"  # long text that may wrap; everything else stays on one line

STYLES = {"": "", BEST: "bold", GOOD: "green", BAD: "red", SAME: "", FAINT: "dim", WORDS: ""}


@dataclass(frozen=True)
class Cell:
    text: str
    mark: str = ""


@dataclass(frozen=True)
class Sheet:
    """One table; the first `words` columns are names, the others figures."""

    title: str
    headings: list[str]
    rows: list[list[Cell]]
    words: int = 1
    note: str = ""
    folded: bool = False  # shown on demand


@dataclass(frozen=True)
class Section:
    """What belongs together: some tables, and the plots beside them, by name."""

    key: str
    title: str
    intro: str = ""
    sheets: list[Sheet] = field(default_factory=list)
    plots: list[str] = field(default_factory=list)


def cells(texts: Iterable[str], mark: str = "") -> list[Cell]:
    return [Cell(text, mark) for text in texts]


# ---- Markdown ----

def markdown(sheet: Sheet) -> str:
    rules = ["---" if number < sheet.words else "---:" for number in range(len(sheet.headings))]
    lines = [pipe(sheet.headings), "|" + "|".join(rules) + "|"]
    return "\n".join(lines + [pipe(marked(cell) for cell in row) for row in sheet.rows]) + "\n"


def pipe(texts: Iterable[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def marked(cell: Cell) -> str:
    return f"**{cell.text}**" if cell.mark == BEST and cell.text else cell.text


# ---- the terminal ----

def terminal(sheet: Sheet) -> Table:
    table = Table(box=None, pad_edge=False)
    for number, heading in enumerate(sheet.headings):
        table.add_column(safe(heading), justify="left" if number < sheet.words else "right", no_wrap=number < sheet.words)
    for row in sheet.rows:
        table.add_row(*(f"[{STYLES[cell.mark]}]{safe(cell.text)}[/]" if STYLES[cell.mark] else safe(cell.text)
                        for cell in row))
    return table


def safe(text: str) -> str:
    """Square brackets are rich's marks of style."""
    return printable(text).replace("[", "\\[")
