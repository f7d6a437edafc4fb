# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands about what is learnt: learn, decisions, policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hakmem.commands.shared import app, BuildFolder, OtherLibrary

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
            help="The policy; the run goes on from one that is there. Default: <program>.policy.",
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
        typer.Option(metavar="LOG", help="Decide anew from a file of HAKMEM_LAB_LEARN_LOG; with PID|FILE: compare only."),
    ] = None,
    plot: Annotated[
        Optional[Path],
        typer.Option(metavar="FILE.svg|png", help="Draw how it was learnt: from files of HAKMEM_LAB_LEARN_LOG (what was paid, "
                     "arms), its FILE.windows (ratings, phases) and HAKMEM_DECISIONS_FILE (decisions)."),
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
