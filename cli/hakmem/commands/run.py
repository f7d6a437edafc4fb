# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem run`."""

from __future__ import annotations

from pathlib import Path

from hakmem.base.options import Command, Option, whole
from hakmem.commands.shared import BUILD, LIBRARY, PROGRAM, RUN


def perform(command: list[str], runs: int, stdin: str | None, build: Path | None, library: Path | None) -> int:
    from hakmem.process.places import find_places
    from hakmem.process.program import Program, default_program
    from hakmem.running.run import run_program

    program = Program(command) if command else default_program()
    return run_program(find_places(build, library), program, runs, stdin)


COMMAND = Command(
    "run", RUN,
    """Run a program on HAKMEM and on glibc, and say what each needed.

    The program runs 2 N + 2 times: once on HAKMEM with every call counted, which is the run whose output is shown;
    once on glibc to warm up; then N times on each in turn, timed.

    The summary goes to stderr: wall time, CPU time, peak RSS and page faults (the smallest of the N runs), proof of
    which library served malloc and free, and the calls by route. HAKMEM_ settings in the environment apply.""",
    "the program's own when everything held; 2 bad usage, or a program that cannot be preloaded; 3 HAKMEM did not serve "
    "every call, or it could not be proven; 126 and 127 as in a shell; 130 after Ctrl-C.",
    perform,
    (
        Option(("--runs",), "Timed runs on each allocator.", "N", whole(1, 1000), default=5),
        Option(("--stdin",), "What every run reads as standard input; - reads this command's own first. Default: standard "
               "input if it is a file, else nothing.", "FILE"),
        BUILD, LIBRARY,
    ),
    (PROGRAM._replace(help="The program and its arguments. Default: CPython on a JSON-heavy script.", required=False),),
    runs_program=True,
)
