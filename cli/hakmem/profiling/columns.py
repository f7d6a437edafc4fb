# SPDX-License-Identifier: MIT OR Apache-2.0
"""A table of figures whose last column has names: a narrow terminal leaves out figures, and says which, never names."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from hakmem.base.console import COLUMNS_MOST, stdout_console

NAME_LEAST, BETWEEN = 24, 3  # letters: of the names, and around a figure


def fitting(heads: Sequence[str], cells: Sequence[Sequence[str]], leave: Sequence[str], width: int) -> list[int]:
    """The columns that leave room for names. leave: heads that may go, the first one first."""
    widths = [max(len(head), *(len(row[n]) for row in cells), 0) + BETWEEN for n, head in enumerate(heads[:-1])]
    shown = list(range(len(heads)))
    for head in leave:
        if sum(widths[n] for n in shown[:-1]) + NAME_LEAST <= width:
            break
        shown = [n for n in shown if heads[n] != head]
    return shown


def print_columns(heads: Sequence[str], cells: Sequence[Sequence[str]], leave: Sequence[str]) -> None:
    """leave: heads of columns that may be left out on a terminal, the first one first. A file or pipe gets them all."""
    console = stdout_console()
    width = console.width if console.is_terminal else COLUMNS_MOST
    shown, last = fitting(heads, cells, leave, width), len(heads) - 1
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for n in shown:
        table.add_column(heads[n], justify="left" if n == last else "right", no_wrap=n < last, overflow="fold")
    for row in cells:
        table.add_row(*(row[n] for n in shown))
    console.print(table)
    left_out = list(dict.fromkeys(head for n, head in enumerate(heads) if n not in shown))
    if left_out:
        console.print(f"left out, as the terminal is narrow: {', '.join(left_out)}", markup=False, highlight=False)
