# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem decisions`."""

from __future__ import annotations

from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.base.options import Argument, Command, Option, whole
from hakmem.commands.shared import BUILD


def perform(asked: str | None, replay: Path | None, csv: bool, last: int, build: Path | None) -> int:
    from hakmem.learning.decisions import compare, decided_anew, show_decisions
    from hakmem.process.places import find_tool

    if asked is None and replay is None:
        raise Refusal("give a process, its file of decisions, or --replay LOG (see hakmem decisions --help)")
    anew = decided_anew(find_tool(build, "hak_redecide"), replay) if replay is not None else None
    if asked is not None and anew is not None:
        return compare(anew, asked)
    show_decisions(asked if anew is None else anew, csv, last)
    return 0


COMMAND = Command(
    "decisions",
    """Say which keep times a process chose anew, and from how many waits.

    The process is started with hakmem exec --set mode=evolving --set lab_learn_keep=on --set decisions_file=FILE -- PROGRAM
    (mode=shadow decides, too, and does nothing of it); the last 512 are kept, in FILE.PID.""",
    "0 it was printed, or is the same; 1 what was decided anew differs; 2 bad usage, no such process or file.",
    perform,
    (
        Option(("--replay",), "Decide anew from a file of HAKMEM_LAB_LEARN_LOG; with PID|FILE: compare only.", "LOG", Path),
        Option(("--csv",), "Print them as CSV."),
        Option(("--last",), "Only the last N; 0: all.", "N", whole(0, 10**9), default=0),
        BUILD,
    ),
    (Argument("asked", "PID|FILE", "A process, or its file of decisions.", required=False),),
)
