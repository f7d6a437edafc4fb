# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where tables are printed, but for `hakmem run` (plain). Off a terminal there is no width to fit: lines are never broken."""

from __future__ import annotations

import sys

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

STDOUT_COLUMNS, STDERR_COLUMNS = 160, 100


def stdout_console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=STDOUT_COLUMNS, soft_wrap=True)


def stderr_console() -> Console:
    width = None if sys.stderr.isatty() else STDERR_COLUMNS
    return Console(stderr=True, highlight=False, markup=False, emoji=False, width=width, soft_wrap=True)


def plain_table() -> Table:
    return Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
