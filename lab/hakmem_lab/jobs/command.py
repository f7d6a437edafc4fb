# SPDX-License-Identifier: MIT OR Apache-2.0
"""The options of `hakmem-lab jobs`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

jobs_app = typer.Typer(invoke_without_command=True, rich_markup_mode="markdown")
EPILOG = "Exit status: 0 every tool was tried; 1 a file cannot be written; 2 bad usage, or a program that cannot be built."


@jobs_app.callback(epilog=EPILOG)
def jobs(
    typer_context: typer.Context,
    names: Annotated[Optional[str], typer.Option("--jobs", help="Only these, with commas; a part of a name will do.",
                                                 metavar="NAMES")] = None,
    tools: Annotated[Optional[str], typer.Option(help="Only these, with commas: hakmem,heaptrack,...", metavar="NAMES")] = None,
    rounds: Annotated[int, typer.Option(help="Rounds; in each the tools come by turns.", metavar="N", min=1)] = 2,
    output: Annotated[Path, typer.Option("--output", "-o", help="The rows; what is there already is not done again.",
                                         metavar="CSV")] = Path("build") / "jobs.csv",
    folder: Annotated[Path, typer.Option(help="Where the programs run, and what the tools print is kept.",
                                         metavar="FOLDER")] = Path("build") / "jobs",
    list_only: Annotated[bool, typer.Option("--list", help="Only say which jobs there are, and what is typed.")] = False,
) -> int:
    """Ten jobs with a known cause, by HAKMEM and by other tools: the answer, commands typed, seconds, overhead.

    Tools that are not installed are named and left out. `hakmem-lab jobs report` makes the tables.
    """
    if typer_context.invoked_subcommand is not None:
        return 0
    from hakmem_lab.jobs.session import carry_out, show_list

    chosen = [name.strip() for name in (names or "").split(",") if name.strip()]
    wanted = [name.strip() for name in (tools or "").split(",") if name.strip()]
    return show_list(chosen) if list_only else carry_out(chosen, wanted, rounds, output, folder)


@jobs_app.command()
def report(file: Annotated[Path, typer.Argument(metavar="CSV", help="The rows, as `hakmem-lab jobs` wrote them.")]) -> int:
    """Tables of the rows of a CSV, as Markdown."""
    from hakmem_lab.jobs.report import report as write_report

    return write_report(file)
