# SPDX-License-Identifier: MIT OR Apache-2.0
"""The options of `hakmem-lab pareto`. What does the work loads slowly, so each loads its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

EPILOG = (
    "Exit status: 0 everything was measured; 1 some program failed on something; 2 bad usage; 130 after Ctrl-C (what is "
    "finished is kept, and the same command goes on from there)."
)

pareto_app = typer.Typer(invoke_without_command=True, rich_markup_mode="markdown")


def option(help_text: str, *names: str, metavar: str | None = None, **limits: float) -> object:
    return typer.Option(*names, metavar=metavar, help=help_text, **limits)  # type: ignore[arg-type]


@pareto_app.callback(epilog=EPILOG)
def pareto(
    typer_context: typer.Context,
    runs: Annotated[int, option("Rounds, in which each program runs once on each.", metavar="N", min=1, max=1000)] = 5,
    floors: Annotated[int, option("Traced runs of each program, whose mean is its floor.", metavar="N", min=1, max=100)] = 3,
    programs: Annotated[Optional[str], option(
        "Only these, with commas; `server` and `batch` are all of a kind.", metavar="NAMES")] = None,
    config: Annotated[Optional[list[str]], option(
        "HAKMEM with these settings, instead of baseline, and evolving at three prices. May be given again.",
        metavar="NAME:SETTING=VALUE,...")] = None,
    allocators: Annotated[Optional[str], option("Only these, with commas: hakmem,glibc,...", metavar="NAMES")] = None,
    peer: Annotated[Optional[list[str]], option("A further library to measure.", metavar="NAME=FILE")] = None,
    output: Annotated[Path, option(
        "The rows; those that are there already are not measured again.", "--output", "-o", metavar="CSV"
    )] = Path("build") / "pareto.csv",
    timeout: Annotated[float, option("A run that takes longer is stopped.", metavar="S", min=0.1, max=86400)] = 120,
    library: Annotated[Optional[Path], option("Another build of libhakmem.so to measure.", metavar="FILE")] = None,
    build: Annotated[Optional[Path], option("Where libhakmem.so and the tools were built.", metavar="FOLDER")] = None,
    list_only: Annotated[bool, option("Only say which programs there are.", "--list")] = False,
) -> int:
    """Measure real programs, half of them servers: CPU time against memory over time, HAKMEM at several settings and peers.

    Every process proves which library served it. What of the memory no allocator could do without is taken from a traced
    run of each program. `hakmem-lab pareto report` says what follows.
    """
    if typer_context.invoked_subcommand is not None:
        return 0
    from hakmem_lab.pareto.order import Wishes, carry_out, show_list

    if list_only:
        return show_list(programs)
    wishes = Wishes(runs, floors, programs, config or [], allocators, peer or [], output, timeout)
    return carry_out(build, library, wishes)


@pareto_app.command()
def report(
    file: Annotated[Path, typer.Argument(metavar="CSV", help="The rows, as `hakmem-lab pareto` wrote them.")],
    output: Annotated[Optional[Path], option(
        "Where the table and the plots go. Default: a folder of the CSV's name, beside it.", "--output", "-o",
        metavar="FOLDER")] = None,
) -> int:
    """Make tables, plots and verdicts from the rows of a CSV."""
    from hakmem.base.console import stdout_console
    from hakmem_lab.pareto.report import report as write_report

    return write_report(file, output, stdout_console())
