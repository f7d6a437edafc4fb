# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem stats`: an earlier name of `hakmem top --once`, for scripts that have it."""

from __future__ import annotations

from hakmem.base.options import Command
from hakmem.commands import top
from hakmem.commands.shared import JSON

COMMAND = Command(
    "stats", "The same as top --once.", top.STATUS, top.show_once, (JSON, top.PROMETHEUS),
    (top.ASKED._replace(help="A process, or its statistics file.", required=True),),
)
