# SPDX-License-Identifier: MIT OR Apache-2.0
"""What keys and clicks choose in `hakmem top`: a section, the order of its rows, a row, and how far the screen is scrolled.

    a section's name, its column of names, Tab, 1 to 9  -> that section alone; again, 0 or Escape: all
    a column with figures, s                            -> its rows in that order; again: the other way
    a row                                               -> the whole of it in the last lines; again: none
    wheel, arrows, Page keys, Home, End                 -> scrolled
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Optional

from hakmem.watching.layout import HEAD, Cell, Screen, Section, Spot, plain
from hakmem.watching.terminal import Ended, Event

WHEEL_ROWS, PAGE_ROWS = 3, 10
NUMBER = re.compile(r"-?[0-9][0-9,]*(?:\.[0-9]+)?")
HELP = (
    ("q, Ctrl-C", "ends"), ("arrows, wheel", "scroll"), ("Page keys", "scroll far"), ("Home, End", "first, last row"),
    ("Tab, 1 to 9", "one section alone"), ("0, Escape", "all of them"), ("s", "other order of rows"),
    ("click: name", "that section alone"), ("click: column", "rows in its order"), ("click: row", "the whole of it"),
)


def help_section() -> Section:
    return Section("keys", list(HELP), (), "ll")


@dataclass
class Controls:
    alone: str = ""  # the section that is shown alone; empty: all
    above: int = 0  # rows that are scrolled over
    row: Optional[Spot] = None
    orders: dict[str, tuple[int, bool]] = field(default_factory=dict)  # by section: column, and whether the least comes first
    helps: bool = False

    # ---- what is shown ----

    def shown(self, sections: Sequence[Section]) -> list[Section]:
        if self.helps:
            return [help_section()]
        if self.alone not in [section.name for section in sections]:
            self.alone = ""
        found = [self.ordered(section) for section in sections if self.alone in ("", section.name)]
        return found if self.alone else [one._replace(rows=one.rows[: one.brief or None]) for one in found]

    def ordered(self, section: Section) -> Section:
        column, rising = self.orders.get(section.name, (HEAD, False))
        if column == HEAD:
            return section
        rows = sorted(section.rows, key=lambda cells: key_of(cells[column]), reverse=not rising)
        heads = tuple(f"{plain(head)} {'▲' if rising else '▼'}" if n == column else head for n, head in enumerate(section.heads))
        return section._replace(rows=rows, heads=heads)

    # ---- what is done ----

    def take(self, event: Event, sections: Sequence[Section], screen: Screen, text: Sequence[str]) -> None:
        """text: the lines of the screen, as they are drawn. Ended: it was asked for."""
        if event.name in ("q", "Q"):
            raise Ended
        if event.name == "escape":
            self.leave()
        elif event.name in ("?", "h"):
            self.helps, self.above = not self.helps, 0
        elif event.name == "click":
            self.click(event, sections, screen, text)
        elif event.name == "s":
            self.order_next(sections, screen)
        elif not self.scroll(event, sections, screen):
            self.choose(event.name, [section.name for section in sections])

    def leave(self) -> None:
        """One step back, and out in the end."""
        if not (self.helps or self.row or self.alone or self.above):
            raise Ended
        if self.helps or self.row:
            self.helps, self.row = False, None
        else:
            self.alone, self.above = "", 0

    def scroll(self, event: Event, sections: Sequence[Section], screen: Screen) -> bool:
        steps = {"up": -1, "k": -1, "down": 1, "j": 1, "wheel up": -WHEEL_ROWS, "wheel down": WHEEL_ROWS, "page up": -PAGE_ROWS,
                 "page down": PAGE_ROWS, " ": PAGE_ROWS, "home": -self.above, "end": 1 << 30}
        step = steps.get(event.name)
        if step is None:
            return False
        last = sum(len(section.rows) for section in self.shown(sections)) - 1
        if step < 0 or screen.more:
            self.above = max(0, min(last, self.above + step))
        return True

    def choose(self, key: str, names: list[str]) -> None:
        order = ["", *names]
        at = order.index(self.alone) if self.alone in order else 0
        if key in ("tab", "before"):
            self.show(order[(at + (1 if key == "tab" else -1)) % len(order)])
        elif key.isascii() and key.isdecimal() and int(key) < len(order):
            self.show(order[int(key)])

    def show(self, name: str) -> None:
        self.alone, self.above, self.row, self.helps = name, 0, None, False

    def order_next(self, sections: Sequence[Section], screen: Screen) -> None:
        """Of the section alone, or the first on the screen that can be ordered."""
        first = {spot.section for spot in screen.spots if spot is not None}
        for section in sections:
            if section.sorts and section.name in first:
                column = self.orders.get(section.name, (HEAD, False))[0]
                order = (*section.sorts, HEAD)
                self.orders[section.name] = (order[(order.index(column) + 1) % len(order)], False)
                return

    # ---- the mouse ----

    def click(self, event: Event, sections: Sequence[Section], screen: Screen, text: Sequence[str]) -> None:
        spot = screen.spots[event.line] if event.line < len(screen.spots) else None
        if self.helps:
            self.helps = False
        elif spot is None:
            if event.line == len(text) - 1 and (name := name_at(text[event.line], event.column, screen.names)):
                self.show(name)
        elif spot.row == HEAD:
            self.click_head(next(one for one in sections if one.name == spot.section), text[event.line], event.column)
        else:
            self.row = None if self.row == spot else spot

    def click_head(self, section: Section, line: str, at: int) -> None:
        heads = self.ordered(section).heads
        column = column_at(line, at, heads)
        if column in section.sorts:
            before = self.orders.get(section.name, (HEAD, True))
            self.orders[section.name] = (column, before[0] == column and not before[1])
        else:
            self.show("" if self.alone == section.name else section.name)


def key_of(cell: Cell) -> tuple[float, str]:
    """Figures by their values; what is not known is the least."""
    found = NUMBER.search(plain(cell))
    return (float(found[0].replace(",", "")) if found else float("-inf")), plain(cell)


def name_at(line: str, at: int, names: Sequence[str]) -> str:
    """The one of these words of the line that lies there."""
    for name in names:
        first = line.find(name)
        if 0 <= first <= at < first + len(name):
            return name
    return ""


def column_at(line: str, at: int, heads: Sequence[Cell]) -> int:
    """The column whose name lies there, or next to it; HEAD: none."""
    begin = 0
    for number, head in enumerate(heads):
        word = plain(head).strip()
        first = line.find(word, begin) if word else -1
        if first < 0:
            continue
        if first - 1 <= at <= first + len(word):
            return number
        begin = first + len(word)
    return HEAD
