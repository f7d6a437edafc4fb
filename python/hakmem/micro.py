"""`hakmem micro`: small allocation patterns on HAKMEM, glibc and every installed peer, one table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from hakmem import micro_table, options
from hakmem.errors import Refusal, Stopped
from hakmem.micro_run import Measurement, Row, cells, find_program, list_rows, measure_cell
from hakmem.peers import Allocator, chosen, find_allocators
from hakmem.places import LIBRARY

PROGRAM = "hak_micro"


def wanted_rows(rows: list[Row], pattern: str | None) -> list[Row]:
    """--filter: a part of the name, a pattern with *, or several of them with commas."""
    if pattern is None:
        return rows
    parts = [part.strip() for part in pattern.split(",")]
    found = [row for row in rows if any(part in row.name or fnmatch(row.name, part) for part in parts)]
    if not found:
        raise Refusal(f"--filter {pattern}: no such row (there are {', '.join(row.name for row in rows)})")
    return found


def report_missing(console: Console, missing: list[str]) -> None:
    if missing:
        console.print(f"not measured, because missing: {', '.join(missing)}", highlight=False, markup=False)


def library_beside(program: Path, library: Path | None) -> Path:
    """build/release/libhakmem.so for build/release/bench/hak_micro, unless another one is named."""
    if library is not None and not library.is_file():
        raise Refusal(f"--library {library}: no such file")
    return library or program.parent.parent / LIBRARY


@contextmanager
def progress_bar(console: Console, total: int) -> Iterator[Progress]:
    """Drawn between the runs only: no thread that would disturb what is timed."""
    columns = (TextColumn("{task.description:<28}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, auto_refresh=False,
                  disable=not console.is_terminal) as progress:
        progress.add_task("", total=total)
        yield progress


def measure_all(console: Console, program: Path, measured: Measurement, rounds: int, seconds: float) -> None:
    total = rounds * len(measured.rows) * len(measured.allocators)
    with progress_bar(console, total) as progress:
        task = progress.task_ids[0]
        for number, row, allocator in cells(measured.rows, measured.allocators, rounds):
            progress.update(task, description=f"{number + 1}/{rounds} {row.name} {allocator.name}")
            progress.refresh()
            measure_cell(measured, program, row, allocator, number, seconds)
            progress.advance(task)


def set_up(program: Path, library: Path, row_filter: str | None, names: str | None, extra: list[str],
           errors: Console) -> Measurement:
    found, missing = find_allocators(library, extra)
    allocators: list[Allocator] = chosen(found, names)
    if names is None:
        report_missing(errors, missing)
    return Measurement(wanted_rows(list_rows(program), row_filter), allocators)


def show_rows(console: Console, rows: list[Row]) -> None:
    for row in rows:
        console.print(f"{row.name:<16} {row.operation}", highlight=False, markup=False)


def micro(
    rounds: Annotated[int, typer.Option(min=1, metavar="N", help="Every figure is the shortest of N rounds.")] = 9,
    row_filter: Annotated[
        Optional[str], typer.Option("--filter", metavar="TEXT", help="Only rows with this in the name; * and , work.")
    ] = None,
    allocators: options.Allocators = None,
    peer: options.Peers = None,
    output: options.Output = None,
    seconds: Annotated[
        float, typer.Option(min=0.01, max=60, metavar="S", help="Time for each row, allocator and round.")
    ] = 0.2,
    library: options.Library = None,
    build: options.Build = None,
    list_only: Annotated[bool, typer.Option("--list", help="Say what one operation of each row is.")] = False,
) -> None:
    """Small allocation patterns in ns per operation, beside glibc and every installed peer."""
    out, errors = micro_table.stdout_console(), Console(stderr=True)
    program = find_program(PROGRAM, build)
    if list_only:
        show_rows(out, list_rows(program))
        return
    micro_table.refuse_unless_writable(output)
    measured = set_up(program, library_beside(program, library), row_filter, allocators, peer or [], errors)
    try:
        measure_all(errors, program, measured, rounds, seconds)
    except (KeyboardInterrupt, Stopped):
        errors.print("stopped; this is what was finished:", highlight=False)
        finish(out, measured, program, output)
        raise
    finish(out, measured, program, output)
    if measured.failures:
        raise typer.Exit(1)


def finish(out: Console, measured: Measurement, program: Path, output: Path | None) -> None:
    all_rows = len(list_rows(program))
    micro_table.show(out, measured, all_rows)
    if output:
        micro_table.write_output(output, measured, all_rows)
