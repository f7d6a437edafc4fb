# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem sites`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hakmem.base.errors import Refusal
from hakmem.base.options import Command, Option, whole
from hakmem.commands.shared import BUILD, LIBRARY, PROGRAM, rows

if TYPE_CHECKING:
    from hakmem.tracing.sites import Wishes


def perform(
    command: list[str], trace: Path | None, least: int, rows: int, by_depth: bool, csv: Path | None, build: Path | None,
    library: Path | None,
) -> int:
    from hakmem.process.places import find_library, find_tool
    from hakmem.tracing.sites import Wishes
    from hakmem.tracing.sites_table import show_sites

    if bool(command) == (trace is not None):
        raise Refusal("give either a program or --trace FILE (see hakmem sites --help)")
    tool, wishes = find_tool(build, "hak_sites"), Wishes(least, rows, by_depth, csv)
    if trace is None:
        return traced(command, find_library(build, library), tool, wishes)
    show_sites(tool, trace, wishes)
    return 0


def traced(command: list[str], library: Path, tool: Path, wishes: Wishes) -> int:
    """The program's exit status."""
    from hakmem.base.scratch import scratch_folder
    from hakmem.process.program import Program
    from hakmem.tracing.sites_table import show_sites
    from hakmem.tracing.trace import trace_program

    with scratch_folder() as folder:
        file = folder / "calls.hakt"
        try:
            return trace_program(library, Program(command), file, quiet=True)
        finally:
            if file.exists():
                show_sites(tool, file, wishes)


COMMAND = Command(
    "sites",
    """Say which places ask for memory, and what becomes of it.

    The program runs once with every call written down, as by `hakmem trace`; the table comes after it. Call sites are
    named by function or module; one that serves many purposes, like a wrapper of malloc, is told apart by the depth of
    the stack.

    Hits are blocks that free memory served: none of their pages had to be fetched. Faults are the page faults of the
    others. Both are what a model of the library says, its own code on a kernel that is invented, in which each block is
    written to as it comes; HAKMEM_ settings in the environment apply to it, too. Where the terminal is narrow columns are
    left out; --csv has all. Of a process with more than 10,000 call sites the others are one sum.""",
    "the program's own; of a trace 0; 1 a file cannot be written; 2 bad usage, or no trace; 3 HAKMEM served no call; 126 "
    "and 127 as in a shell; 130 after Ctrl-C.",
    perform,
    (
        Option(("--trace",), "Read this trace instead of running a program.", "FILE", Path),
        Option(("--least",), "Blocks smaller than that are left out.", "BYTES", whole(1, 1 << 47), default=65536),
        rows("Rows of the table; 0: all."),
        Option(("--by-depth",), "A row for each depth of the stack."),
        Option(("--csv",), "Write all rows there.", "FILE", Path),
        BUILD, LIBRARY,
    ),
    (PROGRAM._replace(required=False),),
    runs_program=True,
)
