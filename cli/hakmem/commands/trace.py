# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem trace`."""

from __future__ import annotations

from pathlib import Path

from hakmem.base.options import Command
from hakmem.commands.shared import BUILD, LIBRARY, PROGRAM, output


def perform(command: list[str], output: Path | None, build: Path | None, library: Path | None) -> int:
    from hakmem.process.places import find_library
    from hakmem.process.program import Program
    from hakmem.tracing.trace import default_file, trace_program

    program = Program(command)
    return trace_program(find_library(build, library), program, output or default_file(program))


COMMAND = Command(
    "trace",
    """Run a program on HAKMEM and write every call of its allocator: to a file.

    The program has this command's own input and output, and is slower. What all its processes and threads ask for and
    free is recorded, with call sites and times; docs/guide/trace-format.md says how. The recorded part is kept when the
    program crashes, is killed or is stopped by Ctrl-C. HAKMEM_ settings in the environment apply.""",
    "the program's own; 1 the disk was too full to pack the trace; 2 bad usage, or a program that cannot be preloaded; 3 "
    "HAKMEM served no call, and there is no trace; 126 and 127 as in a shell; 130 after Ctrl-C.",
    perform,
    (
        output("FILE", "Where the trace goes; a trace that is there is replaced, by a complete one. Default: <program>.hakt."),
        BUILD, LIBRARY,
    ),
    (PROGRAM,),
    runs_program=True,
)
