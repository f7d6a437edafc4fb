# SPDX-License-Identifier: MIT OR Apache-2.0
"""The laboratory's commands about traces and about learning: corpus, excerpt, simulate, predict, learning;
about the constants of the source; and about the ranges of a profile."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hakmem.base.errors import Refusal

app = typer.Typer(
    name="hakmem-lab",
    help="Measure and study the HAKMEM memory allocator.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
BuildFolder = Annotated[
    Optional[Path], typer.Option(metavar="FOLDER", help="Where libhakmem.so and the tools were built.")
]
OtherLibrary = Annotated[Optional[Path], typer.Option(metavar="FILE", help="Another build of libhakmem.so to run on.")]
ProcessNumber = Annotated[
    Optional[int],
    typer.Option(min=1, metavar="K", help="The Kth process of each trace. Default: the one with the most events."),
]

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
    from hakmem.process.places import find_library
    from hakmem_lab.corpus.record import DEFAULT_FOLDER, print_programs, record_corpus

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
    from hakmem_lab.excerpt.excerpt import Wishes
    from hakmem_lab.excerpt.excerpt import excerpt as cut_excerpt

    return cut_excerpt(file, output, Wishes(events, size, start, least, process))


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
        from hakmem_lab.tune.points import wish_of
        from hakmem_lab.tune.tune import Order as Tuning
        from hakmem_lab.tune.tune import tune

        return tune(build, files, Tuning(wish_of(most_memory, most_time), call_ns, page_ns, plot, csv))
    refuse_said(False, {"--most-memory": most_memory, "--most-time": most_time})
    from hakmem.process.places import find_tool
    from hakmem_lab.simulate.results import LEAST, Order, price_of
    from hakmem_lab.simulate.simulate import simulate as simulate_files

    order = Order(price_of(price or "balanced"), least or LEAST, *costs_or_usual(call_ns, page_ns))
    return simulate_files(find_tool(build, "hak_simulate"), files, order, plot, csv, markdown)


def refuse_said(with_tune: bool, options: dict[str, object]) -> None:
    for name, value in options.items():
        if value is not None:
            raise Refusal(f"{name} does not go with --tune" if with_tune else f"{name} goes with --tune only")


def costs_or_usual(call_ns: float | None, page_ns: float | None) -> tuple[float, float]:
    from hakmem_lab.simulate.results import CALL_NS, PAGE_NS

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
    """Predict the peak memory, page faults and slow paths of traced programs, and check that by a rerun.

    A model of the library (its own code on a kernel that is invented) predicts peak RSS, page faults and calls that come
    to a slow path; a rerun of the same calls at their recorded times measures them. HAKMEM_ settings in the environment
    apply to both; the costs of the kernel's work are taken from settings, too.
    """
    from hakmem.process.places import find_places
    from hakmem_lab.predict.predict import Order
    from hakmem_lab.predict.predict import predict as predict_files

    return predict_files(find_places(build, None), files, Order(within, process, reruns, csv))


@app.command(epilog="Exit status: 0 it was drawn; 1 the picture cannot be written; 2 bad usage, or a file that is none of these.")
def learning(
    asked: Annotated[
        list[str], typer.Argument(metavar="PID|FILE", help="Processes, their files of decisions, and logs of learning.")
    ],
    plot: Annotated[Path, typer.Option("--output", "-o", metavar="FILE.svg|png", help="Where the picture goes.")],
    build: BuildFolder = None,
) -> int:
    """Draw how a process learnt: what was paid, the arms, ratings and phases, and what was decided.

    From files of HAKMEM_LAB_LEARN_LOG (what was paid, arms), its FILE.windows (ratings, phases) and HAKMEM_DECISIONS_FILE
    (decisions).
    """
    from hakmem_lab.learning.draw import plot_all

    plot_all(build, asked, plot)
    return 0


@app.command(epilog="Exit status: 0 measured, or the source is as the table says; 1 it is not.")
def constants(
    jobs: Annotated[Optional[int], typer.Option(min=1, metavar="N", help="Builds at once. Default: processors.")] = None,
    only: Annotated[
        str, typer.Option(metavar="NAME,...", help="These rows only; the others stay as they are.")
    ] = "",
    check: Annotated[bool, typer.Option("--check", help="Only say whether the source is as the table says.")] = False,
) -> int:
    """Measure what it costs to be wrong by two: every constant of the table halved and doubled, built and judged anew."""
    import os

    from hakmem_lab.constants.measure import measure_constants

    return measure_constants(jobs or os.cpu_count() or 1, only, check)


@app.command(epilog="Exit status: 0 everything was counted; 1 some allocator failed; 2 bad usage.")
def lines(
    patterns: Annotated[str, typer.Option(metavar="NAMES", help="Only these, with commas. Default: all nine.")] = "",
    threads: Annotated[str, typer.Option(metavar="N,...", help="Threads, from 2 to 64.")] = "2,16",
    turns: Annotated[str, typer.Option(metavar="N,...", help="Steps of a thread until the next one has its turn.")] = "8",
    allocators: Annotated[
        Optional[str], typer.Option(metavar="NAMES", help="Only these, with commas: hakmem,glibc,...")
    ] = None,
    peer: Annotated[Optional[list[str]], typer.Option(metavar="NAME=FILE", help="A further library to count.")] = None,
    calls: Annotated[int, typer.Option(min=1000, metavar="N", help="Calls that are counted, after as many.")] = 40000,
    output: Annotated[Optional[Path], typer.Option("--output", "-o", metavar="CSV", help="All counts, as rows.")] = None,
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> int:
    """Count what threads that share an allocator cost one another: locked instructions, and lines of cache that move.

    Threads run by turns under a tool for valgrind, so counts repeat, and more threads than processors are no trouble.
    """
    from hakmem.process.peers import chosen, find_allocators
    from hakmem.process.places import find_places
    from hakmem_lab.lines.building import built
    from hakmem_lab.lines.counting import PATTERNS, Row
    from hakmem_lab.lines.tables import count_all

    found, _ = find_allocators(find_places(build, library).so_file, peer or [])
    names = [name.strip() for name in patterns.split(",") if name] or list(PATTERNS)
    for name in names:
        if name not in PATTERNS:
            raise Refusal(f"--patterns {name}: expected {', '.join(PATTERNS)}")
    rows = [Row(name, count, turn) for name in names for count in numbers("--threads", threads, 64)
            for turn in numbers("--turns", turns, 10000)]
    return count_all(built(), rows, chosen(found, allocators, peer or []), calls, output)


@app.command(epilog="Exit status: 0 each kind of figure is held as often as is promised; 1 one is not; 2 bad usage.")
def accuracy(
    seeds: Annotated[int, typer.Option(min=1, max=100_000, metavar="N", help="Heaps of each size and rate of samples.")] = 40,
) -> int:
    """Count how many ranges of a profile hold the truth, by simulated heaps of 1 MiB, 100 MiB and 10 GiB.

    Samples are drawn as the library draws them, and read, summed and compared as `hakmem profile` does it.
    """
    from hakmem_lab.accuracy.held import print_accuracy

    return print_accuracy(seeds)


def numbers(option: str, text: str, most: int) -> list[int]:
    """Threads are of even number; a turn is at least a step."""
    found = [int(word) for word in text.split(",") if word.strip().isdigit()]
    even = option != "--threads" or all(number % 2 == 0 for number in found)
    if len(found) != len(text.split(",")) or not all(1 <= number <= most for number in found) or not even:
        kind = "even numbers" if option == "--threads" else "numbers"
        raise Refusal(f"{option} {text}: expected {kind} up to {most}, with commas")
    return found


@app.command(epilog="Exit status: 0 the table was printed; 2 bad usage, no compiler, or an allocator that did not serve; 130 after Ctrl-C.")
def bugs(
    runs: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Runs of each error on each allocator.")] = 5,
    allocators: Annotated[Optional[str], typer.Option(help="Only these, with commas: hakmem,glibc,...", metavar="NAMES")] = None,
    peer: Annotated[Optional[list[str]], typer.Option(help="A further library.", metavar="NAME=FILE")] = None,
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> int:
    """Make each of 35 errors of memory in a process of its own, on every allocator: which are found, and when.

    At once: the process ends at the error. Later: it ends within the next 10,000 requests. Passes: it goes on, and says
    what it damaged or read.
    """
    from hakmem.process.places import find_library
    from hakmem_lab.bugs.table import show_bugs

    return show_bugs(find_library(build, library), peer or [], allocators, runs)
