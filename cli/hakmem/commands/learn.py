# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem learn`."""

from __future__ import annotations

from pathlib import Path

from hakmem.base.options import Command, Option, whole
from hakmem.commands.shared import BUILD, LIBRARY, PROGRAM

RUNS = 3


def perform(
    command: list[str], output: str | None, runs: int | None, mode: str, build: Path | None, library: Path | None
) -> int:
    from hakmem.learning import folder
    from hakmem.learning.learn import Order, default_file, learn, refuse_unknown
    from hakmem.process.places import find_library
    from hakmem.process.program import Program

    program, so_file = Program(command), find_library(build, library)
    refuse_unknown(mode)
    if output is not None and folder.is_folder(output):
        return folder.learn_all(so_file, folder.Order(program, Path(output), runs or 1, mode))
    file = Path(output) if output is not None else default_file(program)
    return learn(so_file, Order(program, file, runs or RUNS, mode))


COMMAND = Command(
    "learn",
    """Run a program several times, and keep the learnt policy: what later runs of its programs go on from.

    The program has this command's own input and output. Each run goes on from the policy of the one before.

    With -o FOLDER/ every program that the command starts learns in a file of its own there: hakmem learn -o policies/ --
    make -j2. The same without this command: hakmem exec --set policy_file=FOLDER/ -- PROGRAM, which also goes on from it.
    A single policy is used with hakmem exec --set mode=frozen --set policy_file=FILE -- PROGRAM.""",
    "0 learnt; the program's own when it fails; 1 the policy cannot be written; 2 bad usage, or a program that cannot be "
    "preloaded; 3 it wrote no policy; 126 and 127 as in a shell; 130 after Ctrl-C (what whole runs learnt is kept).",
    perform,
    (
        Option(("--output", "-o"), "The policy; the run goes on from one that is there. A folder, if it is one or ends in /. "
               "Default: <program>.policy.", "FILE"),
        Option(("--runs",), f"How often it runs. Default: {RUNS}; with a folder 1.", "N", whole(1, 1000)),
        Option(("--mode",), "evolving: what is learnt is done at once. shadow: only written down, each run anew.", "MODE",
               default="evolving"),
        BUILD, LIBRARY,
    ),
    (PROGRAM,),
    runs_program=True,
)
