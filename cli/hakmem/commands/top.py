# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem top`."""

from __future__ import annotations

from hakmem.base.options import Command, Option, real
from hakmem.commands.shared import LOOK, PID


def perform(pid: int, interval: float) -> int:
    from hakmem.watching.top import show_top

    return show_top(pid, interval)


COMMAND = Command(
    "top", LOOK,
    """Watch a process: why it is as large as it is, what it does in a second, and its learner.

    The process runs with HAKMEM_STATS_FILE=FILE; with HAKMEM_PROFILE_FILE, too, the top sites of the profile that it wrote
    last are shown. Keys: q quits.""",
    "0 it was shown; 2 bad usage, no such process, or no statistics of it.",
    perform,
    (Option(("--interval",), "How often the process is looked at.", "SECONDS", real(0.1, 3600), default=1.0),),
    (PID,),
)
