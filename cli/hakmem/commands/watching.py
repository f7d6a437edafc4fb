# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands that see into a process, or what it left: stats, top, explain, profile, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hakmem.commands.shared import app, process_number


@app.command(epilog="Exit status: 0 it was printed; 2 bad usage, no such process, or no statistics of it.")
def stats(
    asked: Annotated[str, typer.Argument(metavar="PID|FILE", help="A process, or its statistics file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    prometheus: Annotated[
        bool, typer.Option("--prometheus", help="Print text for Prometheus, as for its textfile collector.")
    ] = False,
) -> int:
    """Print what a process counts and holds: why it is as large as it is, the counters, and what is learnt.

    The process runs with HAKMEM_STATS_FILE=FILE, and writes FILE.PID anew as it works, for its user only. The parts of
    its resident memory are those of a live process, from the kernel's pagemap and smaps.
    """
    from hakmem.watching.stats import show_stats

    if as_json and prometheus:
        raise typer.BadParameter("give --json or --prometheus, not both")
    return show_stats(asked, as_json, prometheus)


@app.command(epilog="Exit status: 0 it was shown; 2 bad usage, no such process, or no statistics of it.")
def top(
    pid: Annotated[int, typer.Argument(parser=process_number, metavar="PID", help="The process.")],
    interval: Annotated[
        float, typer.Option(min=0.1, max=3600, metavar="SECONDS", help="How often it is looked at.")
    ] = 1,
) -> int:
    """Watch a process: why it is as large as it is, what it does in a second, and its learner.

    The process runs with HAKMEM_STATS_FILE=FILE; with HAKMEM_PROFILE_FILE, too, the top sites of the profile that it wrote
    last are shown. Keys: q quits.
    """
    from hakmem.watching.top import show_top

    return show_top(pid, interval)


@app.command(epilog="Exit status: 0 it was told; 2 bad usage, no such process, or one that cannot be read.")
def explain(
    pointer: Annotated[str, typer.Argument(metavar="PTR", help="An address, as 0x7f0000001040.")],
    pid: Annotated[int, typer.Option("--pid", "-p", parser=process_number, metavar="PID", help="The process.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Say what an address of a running process is: block, class, slab, state, and who asked for it.

    The process's memory is read from outside, as a debugger would, and is neither written nor stopped: it has to run on
    this version of HAKMEM, and the kernel has to allow it.
    """
    from hakmem.watching.explain import show_explanation

    return show_explanation(pointer, pid, as_json)


@app.command(
    epilog="Exit status: 0 it was printed; 1 OUT cannot be written; 2 bad usage, no such process, one that makes no profile, "
    "or a file that is none."
)
def profile(
    asked: Annotated[
        list[str], typer.Argument(metavar="FILE|PID", help="Profiles, or processes, which are told to write theirs.")
    ],
    output: Annotated[
        Optional[Path],
        typer.Option("--output", "-o", metavar="OUT",
                     help="Write the profile there, named and gzipped, for `go tool pprof` and the like."),
    ] = None,
    leaks: Annotated[
        bool, typer.Option("--leaks", help="The live blocks by stack, instead of functions.")
    ] = False,
    rows: Annotated[int, typer.Option("--rows", min=0, metavar="N", help="So many functions or stacks; 0: all.")] = 20,
    by: Annotated[
        str,
        typer.Option(metavar="WHAT", help="Order functions by inuse_space, inuse_objects, alloc_space or alloc_objects."),
    ] = "inuse_space",
) -> int:
    """Say who holds memory: by function, or by the stack that asked for it.

    The program runs with HAKMEM_PROFILE_FILE=PATH (LD_PRELOAD=libhakmem.so), and each of its processes writes PATH.PID
    when it ends, gets SIGTERM or SIGUSR2, or calls hak_profile_dump. With HAKMEM_PROFILE_TABLE=PATH it keeps PATH.PID
    all the time, which is read in the same way, also after SIGKILL. One byte in 512 KiB is sampled; sums are estimates
    without bias, in usable bytes.

    Functions, files and lines come from the programs with the same build-ids, or from their debug files.
    """
    from hakmem.profiling.profile import Wishes
    from hakmem.profiling.profile import profile as show_profiles

    return show_profiles(asked, Wishes(output, leaks, rows, by))


@app.command(
    epilog="Exit status: 0 it was written; 1 OUT cannot be written; 2 bad usage, no such process, one that makes no profile, "
    "or a file that is none."
)
def report(
    asked: Annotated[
        str, typer.Argument(metavar="FILE|PID", help="A profile, or a process, which is told to write one.")
    ],
    output: Annotated[
        Optional[Path],
        typer.Option("--output", "-o", metavar="OUT", help="Where the page goes. Default: FILE.html in this folder."),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0, max=3600, metavar="S", help="For how long a process is watched.")
    ] = 3,
    file: Annotated[
        Optional[Path],
        typer.Option(metavar="FILE", help="Of a process: where it writes its profile, if it overwrote its environment "
                     "(as redis does) and that cannot be found out."),
    ] = None,
) -> int:
    """Make one HTML page of a heap profile: who holds memory, blocks by size and age, and of a process what RSS is.

    Flame graph of the bytes in use and of all that were allocated, places that ask for memory, sizes, lifetimes; of a
    process, too, the parts of its RSS and how they change while it is watched, if it runs with HAKMEM_STATS_FILE=FILE.
    The page needs no network and no other file. Profiles are those of `hakmem profile`.
    """
    from hakmem.report.page import Order
    from hakmem.report.page import report as make_page

    if file is not None and not asked.isdecimal():
        raise typer.BadParameter("--file goes with a PID")
    return make_page(Order(asked, output, seconds, file))
