# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem exec`."""

from __future__ import annotations

from typing import Any

from hakmem.base.options import Command, Option
from hakmem.commands.shared import BUILD, LIBRARY, MODE, PRICE, PROGRAM, SECURE, SETTING


def perform(**given: Any) -> None:
    from hakmem.running.exec import Order, execute

    execute(Order(**given))


COMMAND = Command(
    "exec",
    """Run a program once on HAKMEM, by becoming it.

    Its process number, signals, terminal and exit status are its own, and nothing is printed. What LD_PRELOAD has
    already stays, behind HAKMEM.""",
    "the program's own, as it is the program; 2 bad usage, or a program that HAKMEM cannot serve; 126 and 127 as in a shell.",
    perform,
    (
        MODE, PRICE, SECURE,
        Option(("--stats",), "A small parent waits, and says on stderr at the end what the program used."),
        Option(("--profile",), "A small parent waits, and prints the holders of memory on stderr, however the program ends. "
               "--profile=FILE: the profile goes there. Default: PROGRAM.PID.heap.pb.gz. Of a script that only runs a "
               "program it is that program's.", "[=FILE]", optional=True),
        Option(("--children",), "With --profile: a file for each other process that the program started, too."),
        Option(("--watch",), "It keeps what cannot be had afterwards: samples with their stacks from the first block on, and "
               "those of the peak, in FILE.PID, which hakmem top, profile and report read of its PID, also after its end. "
               "Default of FILE: PROGRAM.watch. Its children have one each.", "[=FILE]", optional=True),
        SETTING, BUILD, LIBRARY,
    ),
    (PROGRAM,),
    runs_program=True,
)
