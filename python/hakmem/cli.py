# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line. Every wrong input ends in one line on stderr that begins with `hakmem:`.

What a command needs is loaded when it runs, so that `--help`, `--version` and a mistyped option answer at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer
from typer.exceptions import TyperException

from hakmem import __version__
from hakmem.bench.command import bench_app
from hakmem.errors import Refusal
from hakmem.front.command import front_app
from hakmem.say import say
from hakmem.words import told_apart

app = typer.Typer(
    name="hakmem",
    help="Run programs on the HAKMEM memory allocator, measured beside glibc and proven.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

# What several commands ask for.
BuildFolder = Annotated[
    Optional[Path], typer.Option(metavar="FOLDER", help="Where libhakmem.so and the tools were built.")
]
OtherLibrary = Annotated[Optional[Path], typer.Option(metavar="FILE", help="Another build of libhakmem.so to run on.")]
ProcessNumber = Annotated[
    Optional[int],
    typer.Option(min=1, metavar="K", help="The Kth process of each trace. Default: the one with the most events."),
]


def print_version(asked: bool) -> None:
    if asked:
        print(f"hakmem {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Run programs on the HAKMEM memory allocator, measured beside glibc and proven."""


RUN_EPILOG = (
    "Exit status: the program's own when everything held; 2 bad usage, or a program that cannot be preloaded; "
    "3 HAKMEM did not serve every call, or it could not be proven; 126 and 127 as in a shell; 130 after Ctrl-C."
)


@app.command(epilog=RUN_EPILOG, context_settings={"allow_interspersed_args": False})
def run(
    command: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="CMD", help="The program and its arguments. Default: CPython on a JSON-heavy script."
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", min=1, max=1000, metavar="N", help="Timed runs on each allocator.")
    ] = 5,
    stdin: Annotated[
        Optional[str],
        typer.Option(
            metavar="FILE",
            help="What every run reads as standard input; - reads this command's own first. "
            "Default: standard input if it is a file, else nothing.",
        ),
    ] = None,
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> int:
    """Run a program on HAKMEM and on glibc, and say what each needed.

    The program runs 2 N + 2 times: once on HAKMEM with every call counted, which is the run whose output is shown;
    once on glibc to warm up; then N times on each in turn, timed.

    The summary goes to stderr: wall time, CPU time, peak RSS and page faults (the smallest of the N runs), proof of
    which library served malloc and free, and the calls by route. HAKMEM_ settings in the environment apply.
    """
    from hakmem.places import find_places
    from hakmem.program import Program, default_program
    from hakmem.run import run_program

    program = Program(command) if command else default_program()
    return run_program(find_places(build, library), program, runs, stdin)


EXEC_EPILOG = (
    "Exit status: the program's own, as it is the program; 2 bad usage, or a program that HAKMEM cannot serve; 126 and 127 "
    "as in a shell."
)
Setting = Annotated[
    Optional[list[str]],
    typer.Option("--set", metavar="NAME=VALUE", help="A setting (docs/settings.md). May be given again."),
]
Mode = Annotated[Optional[str], typer.Option(metavar="MODE", help="Short for --set mode=MODE.")]
Price = Annotated[
    Optional[str], typer.Option(metavar="PRICE", help="Short for --set price=PRICE: speed, balanced, lean, or a number.")
]


@app.command("exec", epilog=EXEC_EPILOG, context_settings={"allow_interspersed_args": False})
def exec_program(
    command: Annotated[list[str], typer.Argument(metavar="CMD", help="The program and its arguments.")],
    mode: Mode = None,
    price: Price = None,
    stats: Annotated[
        bool, typer.Option("--stats", help="A small parent waits, and says on stderr at the end what it used.")
    ] = False,
    profile: Annotated[
        Optional[str],
        typer.Option(
            "--profile", metavar="[=FILE]",
            help="The same, and says who holds memory, however the program ends. --profile=FILE: the profile goes there. "
            "Default: PROGRAM.PID.heap.pb.gz.",
        ),
    ] = None,
    settings: Setting = None,
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> None:
    """Run a program once on HAKMEM, by becoming it.

    Its process number, signals, terminal and exit status are its own, and nothing is printed. What LD_PRELOAD has
    already stays, behind HAKMEM.
    """
    from hakmem.exec import Order, execute

    execute(Order(command, mode, price, stats, profile, tuple(settings or ()), build, library))


@app.command(epilog="Exit status: 0 it was printed; 2 bad usage, or there is no such library.")
def path(
    flavour: Annotated[
        str, typer.Option(metavar="FLAVOUR", help="preload, static, override, or dl (README.md says what they are).")
    ] = "preload",
    build: BuildFolder = None,
) -> None:
    """Print where the library is."""
    from hakmem.shell import print_path

    print_path(flavour, build)


@app.command(epilog="Exit status: 0 it was printed; 2 bad usage, or there is no library.")
def env(
    shell: Annotated[
        Optional[str], typer.Option(metavar="SHELL", help="sh, bash, zsh or fish. Default: as $SHELL says, else sh.")
    ] = None,
    mode: Mode = None,
    price: Price = None,
    settings: Setting = None,
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> None:
    """Print what a shell is to evaluate so that all it starts runs on HAKMEM: eval "$(hakmem env)".

    In fish: hakmem env --shell fish | source
    """
    from hakmem.shell import print_env

    print_env(shell, mode, price, tuple(settings or ()), build, library)


@app.command(
    epilog="Exit status: 0 all is well; 1 something is to be changed; 2 it would not be served, or bad usage.",
    context_settings={"allow_interspersed_args": False},
)
def doctor(
    command: Annotated[
        Optional[list[str]], typer.Argument(metavar="[CMD]", help="A program; its arguments are not looked at.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> int:
    """Say whether HAKMEM would serve a program here, and what to change.

    The program is not run: its file and those it is linked with are read. Looked at are, too, the kernel's settings and
    the limits and variables of this process, which a program would inherit.
    """
    from hakmem.doctor.command import examine

    return examine(command[0] if command else None, as_json, build, library)


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
    from hakmem.stats import show_stats

    if as_json and prometheus:
        raise typer.BadParameter("give --json or --prometheus, not both")
    return show_stats(asked, as_json, prometheus)


@app.command(epilog="Exit status: 0 it was shown; 2 bad usage, no such process, or no statistics of it.")
def top(
    pid: Annotated[int, typer.Argument(min=1, metavar="PID", help="The process.")],
    interval: Annotated[
        float, typer.Option(min=0.1, max=3600, metavar="SECONDS", help="How often it is looked at.")
    ] = 1,
) -> int:
    """Watch a process: why it is as large as it is, what it does in a second, and its learner.

    The process runs with HAKMEM_STATS_FILE=FILE; with HAKMEM_PROFILE_FILE, too, the top sites of the profile that it wrote
    last are shown. Keys: q quits.
    """
    from hakmem.top import show_top

    return show_top(pid, interval)


@app.command(epilog="Exit status: 0 it was told; 2 bad usage, no such process, or one that cannot be read.")
def explain(
    pointer: Annotated[str, typer.Argument(metavar="PTR", help="An address, as 0x7f0000001040.")],
    pid: Annotated[int, typer.Option("--pid", "-p", min=1, metavar="PID", help="The process.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Say what an address of a running process is: block, class, slab, state, and who asked for it.

    The process's memory is read from outside, as a debugger would, and is neither written nor stopped: it has to run on
    this version of HAKMEM, and the kernel has to allow it.
    """
    from hakmem.explain import show_explanation

    return show_explanation(pointer, pid, as_json)


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


@app.command(epilog="Exit status: 0 it was written; 2 bad usage, no trace, or a damaged one; 130 after Ctrl-C.")
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


app.add_typer(bench_app, name="bench")
app.add_typer(front_app, name="front")


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
    has all.
    """
    from hakmem.places import find_library, find_tool
    from hakmem.program import Program
    from hakmem.sites import Wishes, scratch_trace, show_sites
    from hakmem.trace import trace_program

    if (command is None) == (trace_file is None):
        raise Refusal("give either a program or --trace FILE (see hakmem sites --help)")
    tool, wishes = find_tool(build, "hak_sites"), Wishes(least, rows, by_depth, csv)
    if trace_file is not None:
        show_sites(tool, trace_file, wishes)
        return 0
    with scratch_trace() as file:
        try:
            return trace_program(find_library(build, library), Program(command), file, quiet=True)
        finally:
            if file.exists():
                show_sites(tool, file, wishes)


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
    from hakmem.profile import Wishes
    from hakmem.profile import profile as show_profiles

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
    from hakmem.page import Order
    from hakmem.page import report as make_page

    if file is not None and not asked.isdecimal():
        raise typer.BadParameter("--file goes with a PID")
    return make_page(Order(asked, output, seconds, file))


LEARN_EPILOG = (
    "Exit status: 0 learnt; the program's own when it fails; 1 the policy cannot be written; 2 bad usage, or a program that "
    "cannot be preloaded; 3 it wrote no policy; 126 and 127 as in a shell; 130 after Ctrl-C (what whole runs learnt is "
    "kept)."
)


@app.command(epilog=LEARN_EPILOG, context_settings={"allow_interspersed_args": False})
def learn(
    command: Annotated[list[str], typer.Argument(metavar="CMD", help="The program and its arguments.")],
    output: Annotated[
        Optional[Path],
        typer.Option(
            "--output", "-o", metavar="FILE",
            help="The policy; one that is there is gone on from. Default: <program>.policy.",
        ),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", min=1, max=1000, metavar="N", help="How often it runs.")] = 3,
    mode: Annotated[
        str, typer.Option(
            metavar="MODE", help="evolving: what is learnt is done at once. shadow: only written down, each run anew."
        ),
    ] = "evolving",
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> int:
    """Run a program several times, and keep what was learnt: for how long its big blocks stay when they are free.

    The program has this command's own input and output. Each run goes on from the policy of the one before.
    """
    from hakmem.learn import Order, default_file
    from hakmem.learn import learn as learn_program
    from hakmem.places import find_library
    from hakmem.program import Program

    program = Program(command)
    return learn_program(find_library(build, library), Order(program, output or default_file(program), runs, mode))


@app.command(
    epilog="Exit status: 0 it was printed, drawn, or is the same; 1 what was decided anew differs, or the picture cannot be "
    "written; 2 bad usage, no such process, or a file that is none of these."
)
def decisions(
    asked: Annotated[
        Optional[list[str]],
        typer.Argument(metavar="[PID|FILE]", help="A process, or its file of decisions; with --plot several, and logs."),
    ] = None,
    replay: Annotated[
        Optional[Path],
        typer.Option(metavar="LOG", help="Decide anew from a file of HAKMEM_LEARN_LOG; with PID|FILE: compare only."),
    ] = None,
    plot: Annotated[
        Optional[Path],
        typer.Option(metavar="FILE.svg|png", help="Draw how it was learnt: from files of HAKMEM_LEARN_LOG (what was paid, "
                     "arms), HAKMEM_WINDOWS_LOG (ratings, phases) and HAKMEM_DECISIONS_FILE (decisions)."),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print them as CSV.")] = False,
    last: Annotated[int, typer.Option("--last", min=0, metavar="N", help="Only the last N; 0: all.")] = 0,
    build: BuildFolder = None,
) -> int:
    """Say which keep times a process chose anew, and from how many waits; or draw how it learnt.

    The process runs with HAKMEM_MODE=evolving or shadow and HAKMEM_DECISIONS_FILE=FILE; the last 512 are kept.
    """
    files = asked or []
    if not files and replay is None:
        raise typer.BadParameter("give a process, its file of decisions, or --replay LOG")
    if plot is not None:
        return draw_decisions(files, plot, build, bool(replay or as_csv or last))
    if len(files) > 1:
        raise typer.BadParameter("several files are for --plot")
    return print_decisions(files[0] if files else None, replay, as_csv, last, build)


def draw_decisions(files: list[str], plot: Path, build: Path | None, more: bool) -> int:
    from hakmem.learning import plot_all

    if more:
        raise typer.BadParameter("--plot draws all of its files: --replay, --csv and --last go without it")
    plot_all(build, files, plot)
    return 0


def print_decisions(asked: str | None, replay: Path | None, as_csv: bool, last: int, build: Path | None) -> int:
    from hakmem.decisions import compare, decided_anew, show_decisions
    from hakmem.places import find_tool

    anew = decided_anew(find_tool(build, "hak_redecide"), replay) if replay is not None else None
    if asked is not None and anew is not None:
        return compare(anew, asked)
    show_decisions(asked if anew is None else anew, as_csv, last)
    return 0


@app.command(epilog="Exit status: 0 it was printed; 2 bad usage, or no policy.")
def policy(file: Annotated[Path, typer.Argument(metavar="FILE", help="A policy, as `hakmem learn` makes it.")]) -> None:
    """Say what a policy holds: for how long each site's big blocks stay when they are free."""
    from hakmem.policy import show_policy

    show_policy(file)


def one_line(text: str) -> str:
    return " ".join(text.split())


def asked_for() -> int:
    """The exit status."""
    try:
        return app(told_apart(sys.argv[1:]), prog_name="hakmem", standalone_mode=False) or 0
    except TyperException as wrong:
        if wrong.format_message():  # empty when a bare `hakmem` has printed the help
            say(f"{one_line(wrong.format_message())} (see hakmem --help)")
        return wrong.exit_code
