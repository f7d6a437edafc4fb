# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem learn`."""

from __future__ import annotations

from pathlib import Path

from hakmem.base.options import Command, Option, whole
from hakmem.commands.shared import BUILD, LIBRARY, PROGRAM, output


def perform(
    command: list[str], output: Path | None, runs: int, mode: str, build: Path | None, library: Path | None
) -> int:
    from hakmem.learning.learn import Order, default_file, learn
    from hakmem.process.places import find_library
    from hakmem.process.program import Program

    program = Program(command)
    return learn(find_library(build, library), Order(program, output or default_file(program), runs, mode))


COMMAND = Command(
    "learn",
    """Run a program several times, and keep the learnt policy: how long its free big blocks stay.

    The program has this command's own input and output. Each run goes on from the policy of the one before.""",
    "0 learnt; the program's own when it fails; 1 the policy cannot be written; 2 bad usage, or a program that cannot be "
    "preloaded; 3 it wrote no policy; 126 and 127 as in a shell; 130 after Ctrl-C (what whole runs learnt is kept).",
    perform,
    (
        output("FILE", "The policy; the run goes on from one that is there. Default: <program>.policy."),
        Option(("--runs",), "How often it runs.", "N", whole(1, 1000), default=3),
        Option(("--mode",), "evolving: what is learnt is done at once. shadow: only written down, each run anew.", "MODE",
               default="evolving"),
        BUILD, LIBRARY,
    ),
    (PROGRAM,),
    runs_program=True,
)
