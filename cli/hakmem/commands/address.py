# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem address`."""

from __future__ import annotations

from hakmem.base.options import REQUIRED, Argument, Command, Option, process_number
from hakmem.commands.shared import JSON


def perform(pointer: str, pid: int, as_json: bool) -> int:
    from hakmem.watching.address import show_address

    return show_address(pointer, pid, as_json)


COMMAND = Command(
    "address",
    """Say what an address of a running process is: block, class, slab, state, and which call site asked for it.

    The process's memory is read from outside, as a debugger would, and is neither written nor stopped: it has to run on
    this version of HAKMEM, and the kernel has to allow it.""",
    "0 it was told; 2 bad usage, no such process, or one that cannot be read.",
    perform,
    (Option(("--pid", "-p"), "The process.", "PID", process_number, default=REQUIRED), JSON),
    (Argument("pointer", "PTR", "An address, as 0x7f0000001040."),),
)
