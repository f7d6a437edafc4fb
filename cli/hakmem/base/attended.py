# SPDX-License-Identifier: MIT OR Apache-2.0
"""The program behind a process number: `hakmem exec --profile program &` leaves the shell the number of the parent that waits."""

from __future__ import annotations

import os
from pathlib import Path

ATTENDANT = "hak_attend"


def is_attendant(pid: int) -> bool:
    return Path(os.readlink(f"/proc/{pid}/exe")).name == ATTENDANT


def program_of(pid: int) -> int:
    """Of the parent process of `hakmem exec --profile` or `--stats` the program that it waits for, else pid itself, as where
    nothing can be found out."""
    try:
        if not is_attendant(pid):
            return pid
        children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split())
        return next((child for child in children if not is_attendant(child)), pid)
    except (OSError, ValueError):
        return pid
