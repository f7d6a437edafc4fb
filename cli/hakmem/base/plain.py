# SPDX-License-Identifier: MIT OR Apache-2.0
"""A table and its colours, for `hakmem run`: by nothing that the base install lacks. Colours on a terminal only."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple, TextIO

CODES = {"bold": "1", "faint": "2", "green": "32", "red": "31"}
GAP = "  "


class Cell(NamedTuple):
    text: str
    style: str = ""


Row = tuple[Cell, ...]


def takes_colours(stream: TextIO) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def painted(text: str, style: str, colours: bool) -> str:
    return f"\x1b[{CODES[style]}m{text}\x1b[0m" if style and colours else text


def rule_of(stream: TextIO) -> str:
    return "─" if (stream.encoding or "").lower().startswith("utf") else "-"


class Table:
    """The first column is aligned to the left, the others to the right."""

    def __init__(self, *headings: str) -> None:
        self.head: Row = tuple(Cell(heading, "bold") for heading in headings)
        self.rows: list[Row] = []

    def add(self, *cells: Cell) -> None:
        self.rows.append(cells)

    def widths(self) -> list[int]:
        return [max(len(cell.text) for cell in column) for column in zip(self.head, *self.rows)]

    def line(self, row: Row, colours: bool) -> str:
        aligned = (
            cell.text.rjust(width) if column else cell.text.ljust(width)
            for column, (cell, width) in enumerate(zip(row, self.widths()))
        )
        return GAP.join(painted(text, cell.style, colours) for text, cell in zip(aligned, row)).rstrip()

    def lines(self, stream: TextIO) -> list[str]:
        colours, widths = takes_colours(stream), self.widths()
        rule = rule_of(stream) * (sum(widths) + len(GAP) * (len(widths) - 1))
        return [self.line(self.head, colours), rule, *(self.line(row, colours) for row in self.rows)]


def show(*lines: str, style: str = "") -> None:
    """On stderr."""
    colours = takes_colours(sys.stderr)
    for line in lines:
        print(painted(line, style, colours), file=sys.stderr)
