# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem stats`: an earlier name of `hakmem top --once`, for scripts that have it."""

from __future__ import annotations

from typing import Optional

from hakmem.base.options import Command
from hakmem.commands import top
from hakmem.commands.shared import JSON


def perform(asked: Optional[str], as_json: bool, prometheus: bool) -> int:
    return top.perform(asked, True, as_json, prometheus, 0.0)


COMMAND = Command(
    "stats", "The same as top --once.", top.STATUS, perform, (JSON, top.PROMETHEUS),
    (top.ASKED._replace(help="A process, or its statistics file. Without it: the processes that run on HAKMEM."),),
)
