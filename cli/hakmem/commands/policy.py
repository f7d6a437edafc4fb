# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem policy`."""

from __future__ import annotations

from pathlib import Path

from hakmem.base.options import Argument, Command


def perform(file: Path) -> None:
    from hakmem.learning.policy import show_policy

    show_policy(file)


COMMAND = Command(
    "policy",
    "Say what a policy holds: for how long each site's big blocks stay when they are free.",
    "0 it was printed; 2 bad usage, or no policy.",
    perform,
    (),
    (Argument("file", "FILE", "A policy, as `hakmem learn` makes it.", takes=Path),),
)
