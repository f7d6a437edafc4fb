# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where tables are printed, but for `hakmem run` (plain).

    on a terminal       lines end where it ends
    into a file, pipe   lines end where COLUMNS says, but figures stay whole; without it no line is broken but a table's
    everywhere          what a file or a process calls itself is printable when it comes here
"""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleDimensions, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table

from hakmem.base.exit import printable

STDOUT_COLUMNS, STDERR_COLUMNS = 160, 100
COLUMNS_MOST = 10_000
TERMINAL_MOST = 1_000  # columns of a terminal that are used: a full screen pads each line to its end
NARROW = 72  # columns, below which a table with a text beside figures is a list
WORD = 12


def stdout_console() -> Console:
    return console_on(sys.stdout, STDOUT_COLUMNS)


def stderr_console() -> Console:
    return console_on(sys.stderr, STDERR_COLUMNS, highlight=False, markup=False, emoji=False, soft_wrap=True)


def console_on(stream: TextIO, usual: int, soft_wrap: bool = False, **options: bool) -> Console:
    terminal, said = stream.isatty(), columns_said()
    console = (Terminal if terminal else Page)(
        stderr=stream is sys.stderr, width=None if terminal else said or usual,
        soft_wrap=soft_wrap or not (terminal or said), **options,  # type: ignore[arg-type]
    )
    console.push_render_hook(Harmless())
    return console


def columns_said() -> int:
    """0: COLUMNS says nothing."""
    said = os.environ.get("COLUMNS", "")
    return min(int(said), COLUMNS_MOST) if said.isdecimal() else 0


class Terminal(Console):
    """One that calls itself wider than any is used in part."""

    @property
    def size(self) -> ConsoleDimensions:  # type: ignore[override]
        found = super().size
        return ConsoleDimensions(min(found.width, TERMINAL_MOST), found.height)


class Page(Console):
    """What is wider is not cut."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*objects, **{"crop": False, **options})


class Harmless(RenderHook):
    """What every text passes that a console prints."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [Printable(each) for each in renderables]


class Printable:
    def __init__(self, inner: ConsoleRenderable) -> None:
        self.inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if isinstance(self.inner, Table) and isinstance(console, Page):
            options = options.update_width(max(options.max_width, width_with_figures(console, self.inner)))
        for segment in console.render(self.inner, options):
            text, style, control = segment
            yield segment if control else Segment("\n".join(map(printable, text.split("\n"))), style)


def width_with_figures(console: Console, table: Table) -> int:
    """That it needs to cut none of them, and to fold no text into less than a word."""
    wide = console.options.update_width(COLUMNS_MOST)
    for column in table.columns:
        cells = (column.header, *column.cells)
        natural = max((Measurement.get(console, wide, cell).maximum for cell in cells), default=0)
        is_figure = column.no_wrap or column.justify == "right"
        column.min_width = max(column.min_width or 0, natural if is_figure else min(natural, WORD))
    return Measurement.get(console, wide, table).minimum


def plain_table() -> Table:
    return Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
