# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem policy`."""

from __future__ import annotations

from pathlib import Path

from hakmem.base.options import Argument, Command


def perform(file: Path) -> None:
    from hakmem.learning.folder import show_folder
    from hakmem.learning.policy import show_policy

    show_folder(file) if file.is_dir() else show_policy(file)


COMMAND = Command(
    "policy",
    "Say what a policy holds: a file or a folder of them, what runs cost, and how long free memory stays.",
    "0 it was printed; 2 bad usage, or no policy.",
    perform,
    (),
    (Argument("file", "FILE", "A policy, or a folder, as `hakmem learn` makes them.", takes=Path),),
)
