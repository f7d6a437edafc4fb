# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line's root, and what several commands ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

app = typer.Typer(
    name="hakmem",
    help="Run programs on the HAKMEM memory allocator, measured beside glibc and proven.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def process_number(text: str) -> int:
    if not text.isdecimal() or len(text) > DIGITS_MOST:
        raise typer.BadParameter(f"{text}: not the number of a process")
    return int(text)


DIGITS_MOST = 18
# What several commands ask for.
BuildFolder = Annotated[
    Optional[Path], typer.Option(metavar="FOLDER", help="Where libhakmem.so and the tools were built.")
]
OtherLibrary = Annotated[Optional[Path], typer.Option(metavar="FILE", help="Another build of libhakmem.so to run on.")]
ProcessNumber = Annotated[
    Optional[int],
    typer.Option(min=1, metavar="K", help="The Kth process of each trace. Default: the one with the most events."),
]
