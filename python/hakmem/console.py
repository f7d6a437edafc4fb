# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where tables are printed. Off a terminal there is no width to fit: lines are never broken."""

from __future__ import annotations

import sys

from rich.console import Console

STDOUT_COLUMNS, STDERR_COLUMNS = 160, 100


def stdout_console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=STDOUT_COLUMNS, soft_wrap=True)


def stderr_console() -> Console:
    width = None if sys.stderr.isatty() else STDERR_COLUMNS
    return Console(stderr=True, highlight=False, markup=False, emoji=False, width=width, soft_wrap=True)
