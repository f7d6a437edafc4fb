# SPDX-License-Identifier: MIT OR Apache-2.0
"""The options of `hakmem-lab judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

EPILOG = (
    "Exit status: 0 everything was measured; 1 some program failed on something; 2 bad usage; 130 after Ctrl-C (what is "
    "finished is kept, and the same command goes on from there)."
)

judge_app = typer.Typer(invoke_without_command=True, rich_markup_mode="markdown")


@judge_app.callback(epilog=EPILOG)
def judge(
    typer_context: typer.Context,
    rounds: Annotated[int, typer.Option(
        help="Rounds; each program runs once on each allocator in the first two, on HAKMEM, glibc and its best three peers "
        "in the next ones. Six are the fewest for a verdict.", metavar="N", min=1)] = 6,
    minutes: Annotated[float, typer.Option(
        help="After these rounds, as long at most for more rounds of programs whose verdict is open.", metavar="M", min=0)] = 0,
    regime: Annotated[str, typer.Option(
        help="Huge pages before each run: `ready` (freed a moment ago), `rested` (3 s of rest), `always` (as ready, with the "
        "system's mode at always meanwhile, for which you must be root) or `asis`; or `counted`: instructions and simulated "
        "misses of one run under cachegrind, a minute each.",
        metavar="NAME")] = "ready",
    names: Annotated[Optional[str], typer.Option("--programs", help="Only these, with commas.", metavar="NAMES")] = None,
    config: Annotated[Optional[list[str]], typer.Option(
        help="HAKMEM with these settings, beside HAKMEM as it is. May be given again.",
        metavar="NAME:SETTING=VALUE,...")] = None,
    allocators: Annotated[Optional[str], typer.Option(
        help="Only these, with commas: hakmem,glibc,...", metavar="NAMES")] = None,
    peer: Annotated[Optional[list[str]], typer.Option(
        help="A further library; hakmem-NAME=FILE is another build of HAKMEM, or a copy as a control.",
        metavar="NAME=FILE")] = None,
    output: Annotated[Path, typer.Option(
        "--output", "-o", help="The rows; those that are there already are not measured again.", metavar="CSV",
    )] = Path("build") / "judge.csv",
    timeout: Annotated[float, typer.Option(
        help="A run that takes longer is stopped; 20 times as long under cachegrind.", metavar="S", min=0.1)] = 120,
    library: Annotated[Optional[Path], typer.Option(help="Another build of libhakmem.so.", metavar="FILE")] = None,
    build: Annotated[Optional[Path], typer.Option(
        help="Where libhakmem.so and the tools were built.", metavar="FOLDER")] = None,
    list_only: Annotated[bool, typer.Option("--list", help="Only say which programs there are.")] = False,
) -> int:
    """Real programs on HAKMEM and its peers by turns: CPU time, page faults, peak memory, and a verdict.

    Every process proves which library served it. `hakmem-lab judge report` judges.
    """
    if typer_context.invoked_subcommand is not None:
        return 0
    from hakmem_lab.judge.order import Wishes, carry_out, show_list

    if list_only:
        return show_list(names)
    return carry_out(build, library, Wishes(
        rounds, minutes, regime, names, config or [], allocators, peer or [], output, timeout))


@judge_app.command()
def report(
    file: Annotated[Path, typer.Argument(metavar="CSV", help="The rows, as `hakmem-lab judge` wrote them.")],
) -> int:
    """Tables and verdicts of the rows of a CSV, as Markdown."""
    from hakmem_lab.judge.report import report as write_report

    return write_report(file)
