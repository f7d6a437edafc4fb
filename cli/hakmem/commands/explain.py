# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem explain`."""

from __future__ import annotations

from typing import Optional

from hakmem.base.options import Command, Option, real
from hakmem.commands.shared import JSON, PID


def perform(pid: int, seconds: Optional[float], as_json: bool) -> int:
    from hakmem.explaining.show import show_explanation

    return show_explanation(pid, seconds, as_json)


COMMAND = Command(
    "explain",
    """Say what holds a process's memory, why, and what would change it: most bytes first.

    Each resident page is divided: live blocks, holes beside them, caches, freed memory that is kept, unused parts of huge
    pages, a fork's copies, and what is not HAKMEM's: stacks, files, other mappings. Each row has its reasons and
    remedies, with the bytes that these would bring. Sampled figures have their range and number of samples.

    The process needs no setting. Its memory is read from outside, as a debugger would, and is neither written nor
    stopped: it has to run on this version of HAKMEM, and the kernel has to allow it. For an address: hakmem address.""",
    "0 it was told; 2 bad usage, no such process, or one that cannot be read or does not run on HAKMEM.",
    perform,
    (Option(("--seconds",), "Look again after so many seconds, and say what grew.", "SECONDS", real(0.1, 3600)), JSON),
    (PID,),
)
