# SPDX-License-Identifier: MIT OR Apache-2.0
"""The screen of `hakmem top`: sections of rows, one unit in a column, as many as the terminal has room for.

    heading        what is watched
    sections       the most important one first; the last one that fits is cut, those below it are left out
    footer         what is left out; or the whole of a row that is chosen, which the screen may have cut
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Union

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

AROUND = 2  # lines: heading and footer
CUT_LEAST = 3  # lines of a section that is cut: its names of columns and two rows
KEYS = "q quits, ? keys"
ROW_LINES = 3  # of a row that is chosen, at most

Cell = Union[str, Text]


class Section(NamedTuple):
    name: str  # in the footer
    rows: list[tuple[Cell, ...]]
    heads: tuple[Cell, ...] = ()  # names of columns, with their units; empty: no line
    justify: str = "l"  # of each column: l, r
    sorts: tuple[int, ...] = ()  # columns by which its rows can be ordered
    brief: int = 0  # rows beside other sections; 0: all
    skipped: int = 0  # rows above the first one here

    @property
    def lines(self) -> int:
        return len(self.rows) + bool(self.heads)

    def cut(self, lines: int) -> Section:
        return self._replace(rows=self.rows[: max(0, lines - bool(self.heads))])

    def without(self, above: int) -> Section:
        return self._replace(rows=self.rows[above:], skipped=above)


class Spot(NamedTuple):
    """What lies on a line of the screen."""

    section: str
    row: int  # HEAD: the names of its columns


HEAD = -1


class Screen(NamedTuple):
    group: Group
    spots: list[Spot | None]  # by line
    names: tuple[str, ...]  # of sections that the last line names
    more: bool  # rows are left out below


def bold(cell: Cell) -> Text:
    return Text.assemble((plain(cell), "bold"))


def plain(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell.plain


def drawn(section: Section, chosen: int | None = None) -> Table:
    """A narrow terminal cuts the last column; where that has figures, the labels of the first one."""
    table = Table.grid(padding=(0, 2))
    cut = 0 if section.justify.endswith("r") else len(section.justify) - 1
    for number, side in enumerate(section.justify):
        table.add_column(justify="right" if side == "r" else "left", no_wrap=number != cut, overflow="ellipsis")
    for row in [tuple(map(bold, section.heads))] * bool(section.heads):
        table.add_row(*(unfolded(cell) for cell in row))
    for number, cells in enumerate(section.rows, section.skipped):
        table.add_row(*(unfolded(cell) for cell in cells), style="reverse" if number == chosen else "")
    return table


def unfolded(cell: Cell) -> Text:
    text = Text(cell) if isinstance(cell, str) else cell
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def scrolled(sections: Iterable[Section], above: int) -> list[Section]:
    """Without so many rows. The names of columns stay."""
    found = []
    for section in sections:
        if above < len(section.rows) or not above:
            found.append(section.without(above))
        above = max(0, above - len(section.rows))
    return found


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


def footer(left_out: list[tuple[str, int]], columns: int, above: int = 0) -> Text:
    """One line; a count where the names are too long."""
    scrolled_text = f"rows above: {above}; " if above else ""
    if not left_out:
        return unfolded(Text(scrolled_text + KEYS, style="dim"))
    said = f"{scrolled_text}left out: {', '.join(name for name, _ in left_out)}"
    if len(said) > columns:
        said = f"{scrolled_text}left out: {sum(lines for _, lines in left_out)} lines of {len(left_out)} parts"
    fitting = (f"{said}; {KEYS}", f"{said}; {KEYS.partition(',')[0]}", said)
    return unfolded(Text(next((text for text in fitting if len(text) <= columns), said), style="yellow"))


def row_text(section: Section, row: int) -> str:
    return "  ".join(filter(None, (plain(cell).strip() for cell in section.rows[row])))


def whole_row(sections: Iterable[Section], chosen: Spot | None, columns: int) -> list[Text]:
    """The lines of a row that is chosen, if it is there still."""
    for section in sections:
        if chosen is not None and section.name == chosen.section and chosen.row < len(section.rows):
            text, width = row_text(section, chosen.row), max(1, columns)
            return [Text(text[at : at + width], style="bold") for at in range(0, len(text), width)][:ROW_LINES]
    return []


def screen(
    heading: Text, sections: list[Section], columns: int, lines: int, above: int = 0, chosen: Spot | None = None,
) -> Screen:
    row = whole_row(sections, chosen, columns)
    room = max(0, lines - AROUND - max(0, len(row) - 1))
    shown, left_out = fitted(scrolled(sections, above), room)
    spare = room - sum(section.lines for section in shown)
    gap = 1 if spare >= len(shown) else 0
    body: list[RenderableType] = []
    spots: list[Spot | None] = [None]
    for section in shown:
        body += [*[Text()] * gap, drawn(section, chosen.row if chosen and chosen.section == section.name else None)]
        spots += [None] * gap + [Spot(section.name, HEAD)] * bool(section.heads)
        spots += [Spot(section.name, number + section.skipped) for number in range(len(section.rows))]
    names = tuple(name.removeprefix("part of ") for name, _ in left_out)
    last = row or [footer(left_out, columns, above)]
    return Screen(Group(heading, *body, *last), spots, names if not row else (), bool(left_out))
