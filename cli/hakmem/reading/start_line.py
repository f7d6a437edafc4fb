# SPDX-License-Identifier: MIT OR Apache-2.0
"""The very line that starts a process again, so that it keeps what cannot be had afterwards: stacks of blocks from before,
and the blocks live at the peak.

    /proc/PID/cmdline -> hakmem exec --watch -- PROGRAM WORDS
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from hakmem.base.exit import printable

WORDS_MOST = 160  # letters of a command that is told
NAME_MOST = 15  # letters of a program's name that the kernel keeps


def program_of(pid: int) -> str:
    """As it was called, or its file where the kernel cut that off."""
    name = Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    return name if 0 < len(name) < NAME_MOST else os.readlink(f"/proc/{pid}/exe")


def words_of(pid: int) -> list[str]:
    """Of its command. Of one that shows a title there the program, and dots for what cannot be known."""
    try:
        words = [os.fsdecode(word) for word in Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")]
        title = len(words) == 1 and (" " in words[0] or not words[0])
        return [program_of(pid), "..."] if title else words
    except OSError:
        return ["PROGRAM", "..."]


def start_line(pid: int, option: str = "--watch") -> str:
    """What starts it again so that what cannot be had of it now can be had then."""
    words = [word if word == "..." else shlex.quote(word) for word in words_of(pid)]
    text = " ".join(words)
    told = text.isprintable() and len(text) <= WORDS_MOST
    return f"hakmem exec {option} -- {text if told else f'{printable(words[0])} ...'}"
