"""`hakmem contention`: many threads on few cores, as a simulation of what locks cost where there are many cores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from hakmem import options
from hakmem.errors import Stopped
from hakmem.micro import library_beside, progress_bar, report_missing
from hakmem.micro_run import Failure, Sample, find_program, rotated, run_cell
from hakmem.micro_table import machine_line, number, refuse_unless_writable, stdout_console, write_text
from hakmem.peers import Allocator, chosen, find_allocators

PROGRAM = "hak_contention"
PATTERNS = ("burst", "exchange")
THREADS = (1, 2, 4, 8, 16)
HEADINGS = ("pattern, threads", "allocator", "ns", "voluntary", "involuntary", "futex")
SIMULATION = (
    "a simulation: up to 16 threads take turns on the cores there are. It shows what happens when the holder of a",
    "lock loses its core, not how 16 cores scale",
    "ns: wall time per malloc and free, all threads together; the shortest repetition",
    "voluntary, involuntary: context switches, futex: calls, each per million operations (futex: an untimed run)",
)


@dataclass
class Contention:
    """What was measured so far: timed samples, and those that counted futex calls, by pattern, threads, allocator."""

    allocators: list[Allocator]
    timed: dict[tuple[str, int, str], list[Sample]] = field(default_factory=dict)
    counted: dict[tuple[str, int, str], Sample] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


def cells(allocators: list[Allocator], rounds: int) -> Iterator[tuple[int, str, int, Allocator]]:
    """Round 0 counts futex calls, the others are timed."""
    for number_of_round in range(rounds + 1):
        for pattern in PATTERNS:
            for threads in THREADS:
                for allocator in rotated(allocators, number_of_round + threads):
                    yield number_of_round, pattern, threads, allocator


def measure_cell(measured: Contention, program: Path, number_of_round: int, pattern: str, threads: int,
                 allocator: Allocator) -> None:
    counting = ["--futex"] if number_of_round == 0 else []
    name, key = f"{pattern} {threads}", (pattern, threads, allocator.name)
    outcome = run_cell([str(program), pattern, str(threads), *counting], name, allocator, number_of_round)
    if isinstance(outcome, Failure):
        measured.failures.append(outcome)
    elif counting:
        measured.counted[key] = outcome
    else:
        measured.timed.setdefault(key, []).append(outcome)


def measure_all(console: Console, program: Path, measured: Contention, rounds: int) -> None:
    total = (rounds + 1) * len(PATTERNS) * len(THREADS) * len(measured.allocators)
    with progress_bar(console, total) as progress:
        for cell in cells(measured.allocators, rounds):
            number_of_round, pattern, threads, allocator = cell
            text = f"{number_of_round}/{rounds} {pattern} {threads} {allocator.name}"
            progress.update(progress.task_ids[0], description=text)
            progress.refresh()
            measure_cell(measured, program, *cell)
            progress.advance(progress.task_ids[0])


# ---- showing ----

def rows(measured: Contention) -> Iterator[list[str]]:
    for pattern in PATTERNS:
        for threads in THREADS:
            for allocator in measured.allocators:
                key = (pattern, threads, allocator.name)
                if key in measured.timed:
                    yield [f"{pattern}, {threads}", allocator.name, *figures(measured, key)]


def figures(measured: Contention, key: tuple[str, int, str]) -> list[str]:
    best = min(measured.timed[key], key=lambda s: s.ns)
    counted = measured.counted.get(key)
    switches = [number(float(best.values[name])) for name in ("voluntary", "involuntary")]
    return [number(best.ns), *switches, number(float(counted.values["futex"]) if counted else None)]


def notes(measured: Contention) -> list[str]:
    failed = [f"no figure: {f.row} on {f.allocator}: it {f.why}" for f in measured.failures]
    named = f"measured: {', '.join(str(a) for a in measured.allocators)}"
    return [*SIMULATION, named, f"on: {machine_line()}", *failed]


def finish(console: Console, measured: Contention, output: Path | None) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in HEADINGS[:2] else "right")
    for row in rows(measured):
        table.add_row(*row, style="bold" if row[1] == "hakmem" else "")
    console.print(table)
    for note in notes(measured):
        console.print(note, style="dim", highlight=False, markup=False)
    if output:
        write_text(output, as_csv(measured) if output.suffix == ".csv" else as_markdown(measured))


def as_markdown(measured: Contention) -> str:
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---|---|" + "---:|" * (len(HEADINGS) - 2)]
    lines += ["| " + " | ".join(row) + " |" for row in rows(measured)]
    return "\n".join(lines) + "\n\n" + "\n".join(f"- {note}" for note in notes(measured)) + "\n"


def as_csv(measured: Contention) -> str:
    lines = ["pattern,threads,allocator,ns_per_operation,voluntary,involuntary"]
    for (pattern, threads, name), samples in measured.timed.items():
        for s in samples:
            lines.append(f"{pattern},{threads},{name},{s.ns},{s.values['voluntary']},{s.values['involuntary']}")
    return "\n".join(lines) + "\n"


def contention(
    rounds: Annotated[int, typer.Option(min=1, metavar="N", help="Every figure is the shortest of N rounds.")] = 3,
    allocators: options.Allocators = None,
    peer: options.Peers = None,
    output: options.Output = None,
    library: options.Library = None,
    build: options.Build = None,
) -> None:
    """Up to 16 threads on the cores there are, bursts deeper than a thread's cache: a simulation of contention."""
    errors = Console(stderr=True)
    refuse_unless_writable(output)
    program = find_program(PROGRAM, build)
    found, missing = find_allocators(library_beside(program, library), peer or [])
    if allocators is None:
        report_missing(errors, missing)
    measured = Contention(chosen(found, allocators))
    try:
        measure_all(errors, program, measured, rounds)
    except (KeyboardInterrupt, Stopped):
        errors.print("stopped; this is what was finished:", highlight=False)
        finish(stdout_console(), measured, output)
        raise
    finish(stdout_console(), measured, output)
    if measured.failures:
        raise typer.Exit(1)
