# SPDX-License-Identifier: MIT OR Apache-2.0
"""The end of the command: one line on stderr for everything that goes wrong, and the exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from signal import SIGPIPE
from typing import NoReturn

from hakmem.base.errors import Refusal, Stopped
from hakmem.base.stop import die_by, signal_name, stops
from hakmem.base.streams import escaped, show_progress


def printable(text: str) -> str:
    """For a terminal, whatever a file or a process calls itself; the lines of a text are made printable one by one."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else escaped(letter) for letter in text)


def say(text: str) -> None:
    show_progress("")
    print(f"hakmem: {printable(text)}", file=sys.stderr)


def carry_out(asked_for: Callable[[], int]) -> int:
    """The exit status; what was printed is written by then."""
    try:
        status = asked_for()
        sys.stdout.flush()
        return status
    except Refusal as refusal:
        say(str(refusal))
        return refusal.status
    except OSError as failure:
        where = f"{failure.filename}: " if failure.filename else ""
        say(f"{where}{(failure.strerror or str(failure)).lower()}")
        return 1
    except MemoryError:
        say("there is not enough memory for this (a limit such as ulimit -v, or the machine's)")
        return 1


def end_with(asked_for: Callable[[], int]) -> NoReturn:
    try:
        status = carry_out(asked_for)
    except Stopped as stop:
        if stop.signal_number != SIGPIPE:  # else nothing of this command is read any longer
            say(f"stopped by {signal_name(stop.signal_number)}{'; the program was stopped too' * stops.ended_program}")
        with suppress(OSError):
            sys.stdout.flush()
        die_by(stop.signal_number)
    sys.exit(status)
