# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem doctor`."""

from __future__ import annotations

from pathlib import Path

from hakmem.base.options import Argument, Command
from hakmem.commands.shared import BUILD, JSON, LIBRARY, SECURE


def perform(command: list[str], as_json: bool, secure: bool, build: Path | None, library: Path | None) -> int:
    from hakmem.doctor.examine import examine

    return examine(command[0] if command else None, as_json, build, library, secure)


COMMAND = Command(
    "doctor",
    """Say whether HAKMEM would serve a program here, and what to change.

    The program is not run: its file and those it is linked with are read. Looked at are, too, the kernel's settings and
    the limits and variables of this process, which a program would inherit.""",
    "0 all is well; 1 something is to be changed; 2 it would not be served, or bad usage.",
    perform,
    (JSON, SECURE, BUILD, LIBRARY),
    (Argument("command", "CMD", "A program; its arguments are not looked at.", required=False, many=True),),
    runs_program=True,
)
