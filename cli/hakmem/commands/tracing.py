# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands about traces: trace, replay, sites."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hakmem.base.errors import Refusal
from hakmem.commands.shared import BuildFolder, OtherLibrary, ProcessNumber, app

TRACE_EPILOG = (
    "Exit status: the program's own; 1 the disk was too full to pack the trace; 2 bad usage, or a program that cannot be "
    "preloaded; 3 HAKMEM served no call, and there is no trace; 126 and 127 as in a shell; 130 after Ctrl-C."
)


@app.command(epilog=TRACE_EPILOG, context_settings={"allow_interspersed_args": False})
def trace(
    command: Annotated[list[str], typer.Argument(metavar="CMD", help="The program and its arguments.")],
    output: Annotated[
        Optional[Path],
        typer.Option(
            "--output", "-o", metavar="FILE",
            help="Where the trace goes; a trace that is there is replaced, by a complete one. Default: <program>.hakt.",
        ),
    ] = None,
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> int:
    """Run a program on HAKMEM and write every call of its allocator to a file.

    The program has this command's own input and output, and is slower. What all its processes and threads ask for and
    free is recorded, with call sites and times; docs/trace-format.md says how. What was recorded is kept when the
    program crashes, is killed or is stopped by Ctrl-C. HAKMEM_ settings in the environment apply.
    """
    from hakmem.process.places import find_library
    from hakmem.process.program import Program
    from hakmem.tracing.trace import default_file, trace_program

    program = Program(command)
    return trace_program(find_library(build, library), program, output or default_file(program))


REPLAY_EPILOG = (
    "Exit status: 0 measured; 1 a replay could not go on; 2 bad usage, or no trace; 3 an allocator did not serve the "
    "calls, or it could not be proven; 130 after Ctrl-C."
)


@app.command(epilog=REPLAY_EPILOG)
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trace, as `hakmem trace` makes it.")],
    allocator: Annotated[
        Optional[list[str]],
        typer.Option(metavar="[NAME=]FILE", help="A further library to replay on. May be given again."),
    ] = None,
    peers: Annotated[bool, typer.Option("--peers", help="Also on the installed allocators.")] = False,
    rounds: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Runs on each allocator.")] = 5,
    touch: Annotated[
        str,
        typer.Option(metavar="HOW", help="What is written to a block that comes: all its pages, its first byte, none."),
    ] = "all",
    process: ProcessNumber = None,
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> int:
    """Repeat what a traced program asked of malloc, on HAKMEM, glibc and others, and say what each needed.

    The calls of one process, thread by thread, as fast as they go; a thread waits only for blocks that another one
    has to make first. HAKMEM_ settings in the environment apply.
    """
    from hakmem.process.places import find_places
    from hakmem.running.replay import Wishes, replay_trace

    wishes = Wishes(allocator or [], peers, rounds, touch, process)
    return replay_trace(find_places(build, library), file, wishes)


SITES_EPILOG = (
    "Exit status: the program's own; of a trace 0; 1 a file cannot be written; 2 bad usage, or no trace; 3 HAKMEM served "
    "no call; 126 and 127 as in a shell; 130 after Ctrl-C."
)


@app.command(epilog=SITES_EPILOG, context_settings={"allow_interspersed_args": False})
def sites(
    command: Annotated[Optional[list[str]], typer.Argument(metavar="CMD", help="The program and its arguments.")] = None,
    trace_file: Annotated[
        Optional[Path], typer.Option("--trace", metavar="FILE", help="Read this trace instead of running a program.")
    ] = None,
    least: Annotated[
        int, typer.Option(min=1, max=1 << 47, metavar="BYTES", help="Blocks smaller than that are left out.")
    ] = 65536,
    rows: Annotated[int, typer.Option(min=0, metavar="N", help="Rows of the table; 0: all.")] = 20,
    by_depth: Annotated[bool, typer.Option("--by-depth", help="A row for each depth of the stack.")] = False,
    csv: Annotated[Optional[Path], typer.Option(metavar="FILE", help="Write all rows there.")] = None,
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> int:
    """Say which places in a program ask for memory, and what becomes of it.

    The program runs once with every call written down, as by `hakmem trace`; the table comes after it. Call sites are
    named by function or module; one that serves many purposes, like a wrapper of malloc, is told apart by the depth of
    the stack.

    Hits are blocks that free memory served: none of their pages had to be fetched. Faults are the page faults of the
    others. Both are what a model of the library says (as in `hakmem predict`), in which each block is written to as it
    comes; HAKMEM_ settings in the environment apply to it, too. Where the terminal is narrow columns are left out; --csv
    has all. Of a process with more than 10,000 call sites the others are one sum.
    """
    from hakmem.base.scratch import scratch_folder
    from hakmem.process.places import find_library, find_tool
    from hakmem.process.program import Program
    from hakmem.tracing.sites import Wishes
    from hakmem.tracing.sites_table import show_sites
    from hakmem.tracing.trace import trace_program

    if (command is None) == (trace_file is None):
        raise Refusal("give either a program or --trace FILE (see hakmem sites --help)")
    tool, wishes = find_tool(build, "hak_sites"), Wishes(least, rows, by_depth, csv)
    if trace_file is not None:
        show_sites(tool, trace_file, wishes)
        return 0
    with scratch_folder() as folder:
        file = folder / "calls.hakt"
        try:
            return trace_program(find_library(build, library), Program(command), file, quiet=True)
        finally:
            if file.exists():
                show_sites(tool, file, wishes)
