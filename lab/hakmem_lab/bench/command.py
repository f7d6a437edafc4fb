# SPDX-License-Identifier: MIT OR Apache-2.0
"""The options of `hakmem-lab bench` and of the commands below it. What does the work loads slowly, so each loads its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hakmem_lab.bench.sets import ALL_PASSES

EPILOG = (
    "Exit status: 0 everything was measured; 1 some benchmark failed on some allocator; 2 bad usage; "
    "3 something was not proven; 130 after Ctrl-C (what is finished is kept and reported)."
)

bench_app = typer.Typer(invoke_without_command=True, rich_markup_mode="markdown")


def option(help_text: str, *names: str, metavar: str | None = None, **limits: float) -> object:
    return typer.Option(*names, metavar=metavar, help=help_text, **limits)  # type: ignore[arg-type]


SetName = Annotated[Optional[str], option("quick (the default), full, or scaling.", "--set", metavar="NAME")]
Pattern = Annotated[Optional[str], option(
    "Only benchmarks with this in the name, or of this group; * and , work. Without --set it looks at all of them.",
    "--filter", metavar="TEXT")]
Runs = Annotated[int, option("Counted runs of each benchmark on each allocator.", metavar="N", min=1, max=1000)]
WarmUp = Annotated[int, option("Runs before them that do not count.", metavar="N", min=0, max=100)]
Allocators = Annotated[Optional[str], option("Only these, with commas: hakmem,glibc,...", metavar="NAMES")]
Peers = Annotated[Optional[list[str]], option("A further library to measure.", metavar="NAME=FILE")]
Traces = Annotated[Optional[list[Path]], option(
    "A trace that is replayed as a row; alone where no set or filter is named. May be given again.",
    "--trace", metavar="FILE")]
Output = Annotated[Optional[Path], option(
    "Where the results go, a folder without results. Default: build/bench/DATE-TIME.", metavar="FOLDER")]
Seconds = Annotated[Optional[float], option(
    "Time for the repetitions of one process. Default: 0.04 in the quick set, else 0.2.", metavar="S", min=0, max=3600)]
Timeout = Annotated[float, option("A process that takes longer is stopped.", metavar="S", min=0.1, max=86400)]
Minutes = Annotated[Optional[float], option(
    "So long it may take: rounds, then rows that do not fit are left out, which is said; 0: as long as it takes. Default: 5 "
    "for the quick set, else 0.", metavar="M", min=0, max=100000)]
Passes = Annotated[Optional[str], option(f"Only these, with commas: {', '.join(ALL_PASSES)}.", metavar="NAMES")]
Library = Annotated[Optional[Path], option("Another build of libhakmem.so to measure.", metavar="FILE")]
Build = Annotated[Optional[Path], option("Where libhakmem.so and the programs were built.", metavar="FOLDER")]
ListOnly = Annotated[bool, option("Only say which benchmarks there are.", "--list")]


# ---- the commands ----

@bench_app.callback(epilog=EPILOG)
def bench(
    typer_context: typer.Context,
    set_name: SetName = None,
    pattern: Pattern = None,
    runs: Runs = 10,
    warmup: WarmUp = 1,
    allocators: Allocators = None,
    peer: Peers = None,
    output: Output = None,
    seconds: Seconds = None,
    timeout: Timeout = 120,
    passes: Passes = None,
    library: Library = None,
    build: Build = None,
    trace: Traces = None,
    minutes: Minutes = None,
    list_only: ListOnly = False,
) -> int:
    """Measure HAKMEM beside glibc and every installed peer.

    Every process proves which library served it; where that was not the one it should be there is no figure.
    The results are CSV files, a table in Markdown, and a page with plots.
    """
    if typer_context.invoked_subcommand is not None:
        return 0
    from hakmem.process.places import find_places
    from hakmem_lab.bench.order import Wishes, carry_out, show_list

    wishes = Wishes(
        set_name, pattern, runs, warmup, allocators, peer or [], output, seconds, timeout, passes, trace or [], minutes
    )
    places = find_places(build, library)
    return show_list(places, wishes) if list_only else carry_out(places, wishes)


@bench_app.command()
def compare(
    before: Annotated[Path, typer.Argument(metavar="A", help="A folder of results, or its runs.csv.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="The one to compare with it.")],
    output: Annotated[Optional[Path], option("Also write the table there, as Markdown.", metavar="FILE")] = None,
) -> None:
    """Say row by row whether HAKMEM became faster or slower from A to B."""
    from hakmem.base.console import stdout_console
    from hakmem_lab.bench.compare import compare_results

    compare_results(stdout_console(), before, after, output)


@bench_app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of results.")],
) -> None:
    """Write table, page and plots anew from the CSV files of a folder."""
    from hakmem.base.console import stdout_console
    from hakmem_lab.bench.session import report as write_report

    write_report(stdout_console(), folder)


@bench_app.command()
def paper(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="lab/docs/report, with its folder data.")],
) -> None:
    """Make every figure and table of lab/docs/report from the CSV files in its folder data."""
    from hakmem_lab.bench.paper import write_paper

    write_paper(folder)
