# SPDX-License-Identifier: MIT OR Apache-2.0
"""The screen of `hakmem top`: sections of rows, one unit in a column, as many as the terminal has room for.

    heading        what is watched
    sections       the most important one first; the last one that fits is cut, those below it are left out
    footer         what is left out
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Union

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

AROUND = 2  # lines: heading and footer
CUT_LEAST = 3  # lines of a section that is cut: its names of columns and two rows
KEYS = "q quits"

Cell = Union[str, Text]


class Section(NamedTuple):
    name: str  # in the footer
    rows: list[tuple[Cell, ...]]
    heads: tuple[Cell, ...] = ()  # names of columns, with their units; empty: no line
    justify: str = "l"  # of each column: l, r

    @property
    def lines(self) -> int:
        return len(self.rows) + bool(self.heads)

    def cut(self, lines: int) -> Section:
        return self._replace(rows=self.rows[: max(0, lines - bool(self.heads))])


def bold(cell: Cell) -> Text:
    return Text.assemble((cell if isinstance(cell, str) else cell.plain, "bold"))


def drawn(section: Section) -> Table:
    """A narrow terminal cuts the last column; where that has figures, the labels of the first one."""
    table = Table.grid(padding=(0, 2))
    cut = 0 if section.justify.endswith("r") else len(section.justify) - 1
    for number, side in enumerate(section.justify):
        table.add_column(justify="right" if side == "r" else "left", no_wrap=number != cut, overflow="ellipsis")
    for row in [tuple(map(bold, section.heads))] * bool(section.heads) + section.rows:
        table.add_row(*(unfolded(cell) for cell in row))
    return table


def unfolded(cell: Cell) -> Text:
    text = Text(cell) if isinstance(cell, str) else cell
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def fitted(sections: Iterable[Section], room: int) -> tuple[list[Section], list[tuple[str, int]]]:
    """What is shown, and what is not: its name, and how many of its lines."""
    shown, left_out = [], []
    for section in sections:
        lines = section.lines if section.lines <= room else room if room >= CUT_LEAST else 0
        if lines:
            shown.append(section.cut(lines))
        if lines < section.lines:
            left_out.append((f"part of {section.name}" if lines else section.name, section.lines - lines))
            room = lines
        room -= lines
    return shown, left_out


def footer(left_out: list[tuple[str, int]], columns: int) -> Text:
    """One line; a count where the names are too long."""
    if not left_out:
        return Text(KEYS, style="dim")
    said = f"left out: {', '.join(name for name, _ in left_out)}"
    if len(said) > columns:
        said = f"left out: {sum(lines for _, lines in left_out)} lines of {len(left_out)} parts"
    more = f"; {KEYS}"
    return unfolded(Text(said + more if len(said + more) <= columns else said, style="yellow"))


def screen(heading: Text, sections: list[Section], columns: int, lines: int) -> Group:
    shown, left_out = fitted(sections, lines - AROUND)
    spare = lines - AROUND - sum(section.lines for section in shown)
    between = [Text()] if spare >= len(shown) else []
    body: list[RenderableType] = []
    for section in shown:
        body += [*between, drawn(section)]
    return Group(heading, *body, footer(left_out, columns))
