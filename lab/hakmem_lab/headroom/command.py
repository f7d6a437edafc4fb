# SPDX-License-Identifier: MIT OR Apache-2.0
"""The options of `hakmem-lab headroom`. What does the work loads slowly, so each loads its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hakmem_lab.pareto.command import EPILOG, option

headroom_app = typer.Typer(invoke_without_command=True, rich_markup_mode="markdown")


@headroom_app.callback(epilog=EPILOG)
def headroom(
    typer_context: typer.Context,
    runs: Annotated[int, option("Rounds, in which each program runs once with each of the settings.", metavar="N", min=2)] = 6,
    floors: Annotated[int, option("Traced runs of each program, whose mean is its floor; 0: those that the CSV has.", metavar="N", min=0)] = 2,
    programs: Annotated[Optional[str], option("Only these, with commas.", metavar="NAMES")] = None,
    settings: Annotated[Optional[str], option("Only these and the prices, with commas.", metavar="NAMES")] = None,
    learnt: Annotated[bool, option(
        "And with a folder of policies at each price, empty before the first round, so that a round is a run.", "--learnt"
    )] = False,
    learners: Annotated[bool, option(
        "And evolving without a policy, alone and with each learner that is off by default.", "--learners")] = False,
    peers: Annotated[Optional[str], option("And these allocators, with commas: glibc,mimalloc,...", metavar="NAMES")] = None,
    others: Annotated[Optional[int], option(
        "Rounds of all but the prices and what is learnt at them. Default: all rounds.", metavar="N", min=0)] = None,
    regime: Annotated[str, option(
        "Huge pages before each run: `ready` (freed a moment ago), `rested` (3 s of rest) or `asis`.", metavar="NAME"
    )] = "ready",
    output: Annotated[Path, option(
        "The rows; those that are there already are not measured again.", "--output", "-o", metavar="CSV"
    )] = Path("build") / "headroom.csv",
    timeout: Annotated[float, option("A run that takes longer is stopped.", metavar="S", min=0.1)] = 120,
    library: Annotated[Optional[Path], option("Another build of libhakmem.so to measure.", metavar="FILE")] = None,
    build: Annotated[Optional[Path], option("Where libhakmem.so and the tools were built.", metavar="FOLDER")] = None,
) -> int:
    """Measure what the best fixed settings, known beforehand, would save real programs: the most that learning can win.

    Cost is CPU time, and memory above the live floor times seconds at the user's price. Rows are those of
    `hakmem-lab pareto`; `hakmem-lab headroom report` says what follows.
    """
    if typer_context.invoked_subcommand is not None:
        return 0
    from hakmem_lab.headroom.order import Wishes, carry_out

    return carry_out(build, library, Wishes(
        programs, settings, learnt, learners, peers, regime, runs, others, floors, output, timeout))


@headroom_app.command()
def report(
    file: Annotated[Path, typer.Argument(metavar="CSV", help="The rows, as `hakmem-lab headroom` wrote them.")],
) -> int:
    """Tables of the rows of a CSV, as Markdown."""
    from hakmem_lab.headroom.report import report as write_report

    return write_report(file)
