# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands about traces: trace, corpus, excerpt, replay, simulate, predict, sites."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hakmem.commands.shared import app, BuildFolder, OtherLibrary, ProcessNumber
from hakmem.errors import Refusal

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
    free is recorded, with call sites and times; docs/guide/trace-format.md says how. What was recorded is kept when the
    program crashes, is killed or is stopped by Ctrl-C. HAKMEM_ settings in the environment apply.
    """
    from hakmem.places import find_library
    from hakmem.program import Program
    from hakmem.trace import default_file, trace_program

    program = Program(command)
    return trace_program(find_library(build, library), program, output or default_file(program))


CORPUS_EPILOG = (
    "Exit status: 0 all were recorded; 1 a program failed; 2 bad usage, or none is installed; 130 after Ctrl-C (what was "
    "finished is kept)."
)


@app.command(epilog=CORPUS_EPILOG)
def corpus(
    names: Annotated[
        Optional[list[str]], typer.Argument(metavar="NAME", help="Only these programs; --list says which there are.")
    ] = None,
    output: Annotated[
        Optional[Path],
        typer.Option("--output", "-o", metavar="FOLDER", help="Where the traces go. Default: build/corpus."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace traces that are there.")] = False,
    list_only: Annotated[bool, typer.Option("--list", help="Only say which programs there are.")] = False,
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> int:
    """Record traces of real programs anew: a compiler, interpreters, servers, and what draws and proves.

    Each is a Debian package and works on an input that is made on the spot. Those not installed are named.
    """
    from hakmem.corpus import DEFAULT_FOLDER, print_programs, record_corpus
    from hakmem.places import find_library

    if list_only:
        print_programs()
        return 0
    return record_corpus(find_library(build, library), output or DEFAULT_FOLDER, names or [], force)


@app.command(epilog="Exit status: 0 it was written; 1 OUT cannot be written; 2 bad usage, no trace, or a damaged one; 130 after Ctrl-C.")
def excerpt(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trace, as `hakmem trace` makes it.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="OUT", help="Where the excerpt goes; a trace that is there is replaced."),
    ],
    events: Annotated[Optional[int], typer.Option(min=1, metavar="N", help="At most so many events.")] = None,
    size: Annotated[
        Optional[int], typer.Option("--bytes", min=1, metavar="N", help="At most so many bytes. Default: 131072.")
    ] = None,
    start: Annotated[
        float,
        typer.Option("--from", min=0, max=1e9, metavar="SECONDS", help="Leave out what is earlier in the process."),
    ] = 0,
    least: Annotated[int, typer.Option(min=0, max=1 << 47, metavar="BYTES", help="Leave out smaller blocks.")] = 0,
    process: ProcessNumber = None,
) -> int:
    """Cut a smaller trace out of a trace: some events of one process, with all its threads.

    Blocks that came before the excerpt are dropped with their frees; one of them that is resized comes as a new one.
    """
    from hakmem.excerpt import Wishes
    from hakmem.excerpt import excerpt as cut_excerpt

    return cut_excerpt(file, output, Wishes(events, size, start, least, process))


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
    from hakmem.places import find_places
    from hakmem.replay import Wishes, replay_trace

    wishes = Wishes(allocator or [], peers, rounds, touch, process)
    return replay_trace(find_places(build, library), file, wishes)


SIMULATE_EPILOG = (
    "Exit status: 0 all traces were read; 1 a file cannot be written, or no setting keeps the bound; 2 bad usage, or a "
    "file that is no trace or is damaged."
)


@app.command(epilog=SIMULATE_EPILOG)
def simulate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Traces, as `hakmem trace` makes them.")],
    price: Annotated[
        Optional[str],
        typer.Option(metavar="N", help="What a MiB of idle memory costs a second: speed, balanced (the default), lean, "
                     "or ns."),
    ] = None,
    least: Annotated[
        Optional[int],
        typer.Option(min=1, max=1 << 47, metavar="BYTES", help="Blocks smaller than that are left out. Default: 65536."),
    ] = None,
    page_ns: Annotated[
        Optional[float],
        typer.Option("--page-ns", min=0, max=1e12, metavar="N",
                     help="What fetching a page costs. Default: 1000; with --tune, as measured."),
    ] = None,
    call_ns: Annotated[
        Optional[float],
        typer.Option("--call-ns", min=0, max=1e12, metavar="N",
                     help="What a call of the kernel costs besides. Default: 2000; with --tune, as measured."),
    ] = None,
    plot: Annotated[
        Optional[Path],
        typer.Option(metavar="PATH", help="A folder for what each program pays, drawn as PNG and SVG; with --tune one "
                     "picture."),
    ] = None,
    csv: Annotated[
        Optional[Path], typer.Option(metavar="FILE", help="Write the figures of each process, or setting, there.")
    ] = None,
    markdown: Annotated[Optional[Path], typer.Option(metavar="FILE", help="Write the tables there, too.")] = None,
    tuned: Annotated[
        bool, typer.Option("--tune", help="Pick the settings that suit the program: by a model of the library.")
    ] = False,
    most_memory: Annotated[
        Optional[str],
        typer.Option("--most-memory", metavar="BYTES|PERCENT",
                     help="With --tune: the least time within that mean memory, or that part of the most."),
    ] = None,
    most_time: Annotated[
        Optional[str],
        typer.Option("--most-time", metavar="PERCENT",
                     help="With --tune: the least memory at that loss, of the recorded time."),
    ] = None,
    build: BuildFolder = None,
) -> int:
    """Say what keep times for free memory would have cost the programs of a trace.

    Freed blocks of 64 KiB and more pay rent until they are asked for again, or go back and are fetched anew. Compared
    are the break-even time, fixed keep times, the best in hindsight by size and by call site, and a clairvoyant.

    With --tune the library's own code makes the recorded calls at a ladder of prices, on a kernel that is invented; the
    last line has the settings that were picked, to be put before a command.
    """
    if tuned:
        refuse_said(True, {"--price": price, "--least": least, "--markdown": markdown})
        from hakmem.tune import Order as Tuning
        from hakmem.tune import tune, wish_of

        return tune(build, files, Tuning(wish_of(most_memory, most_time), call_ns, page_ns, plot, csv))
    refuse_said(False, {"--most-memory": most_memory, "--most-time": most_time})
    from hakmem.places import find_tool
    from hakmem.simulate import LEAST, Order, price_of
    from hakmem.simulate import simulate as simulate_files

    order = Order(price_of(price or "balanced"), least or LEAST, *costs_or_usual(call_ns, page_ns))
    return simulate_files(find_tool(build, "hak_simulate"), files, order, plot, csv, markdown)


def refuse_said(with_tune: bool, options: dict[str, object]) -> None:
    for name, value in options.items():
        if value is not None:
            raise Refusal(f"{name} does not go with --tune" if with_tune else f"{name} goes with --tune only")


def costs_or_usual(call_ns: float | None, page_ns: float | None) -> tuple[float, float]:
    from hakmem.simulate import CALL_NS, PAGE_NS

    return CALL_NS if call_ns is None else call_ns, PAGE_NS if page_ns is None else page_ns


PREDICT_EPILOG = (
    "Exit status: 0 every figure is within the bound; 1 one is beyond it, or something failed; 2 bad usage, or a file that "
    "is no trace or is damaged; 3 the rerun was not served as it should be."
)


@app.command(epilog=PREDICT_EPILOG)
def predict(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Traces, as `hakmem trace` makes them.")],
    within: Annotated[
        float, typer.Option(min=0, max=1000, metavar="PERCENT", help="How far a figure may be from the rerun's.")
    ] = 5,
    process: ProcessNumber = None,
    reruns: Annotated[
        int, typer.Option(min=1, max=100, metavar="N", help="Reruns of each; what is in the middle counts.")
    ] = 1,
    csv: Annotated[Optional[Path], typer.Option(metavar="FILE", help="Write every figure there, each door's too.")] = None,
    build: BuildFolder = None,
) -> int:
    """Predict the peak memory, page faults and slow doors of traced programs, and check that by a rerun.

    A model of the library (its own code on a kernel that is invented) predicts peak RSS, page faults and calls that come
    to a slow door; a rerun of the same calls at their recorded times measures them. HAKMEM_ settings in the environment
    apply to both; the costs of the kernel's work are taken from settings, too.
    """
    from hakmem.places import find_places
    from hakmem.predict import Order
    from hakmem.predict import predict as predict_files

    return predict_files(find_places(build, None), files, Order(within, process, reruns, csv))


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
    from hakmem.places import find_library, find_tool
    from hakmem.program import Program
    from hakmem.scratch import scratch_folder
    from hakmem.sites import Wishes, show_sites
    from hakmem.trace import trace_program

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
