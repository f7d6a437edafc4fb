"""`hakmem memory`: peak RSS of real programs on HAKMEM, glibc and every installed peer.

Each run is started by tools/launcher, which is small and static, so that nothing but the program counts: the kernel
reports the largest process of the tree (for g++ that is cc1plus). A small library that only looks proves in every
process which library serves malloc and free; it costs the same few pages on every side.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.console import Console

from hakmem import memory_table, options
from hakmem.errors import NOT_PROVEN, Refusal, Stopped
from hakmem.launch import Figures, Launcher, Streams
from hakmem.micro import progress_bar, report_missing
from hakmem.micro_run import rotated
from hakmem.micro_table import stdout_console
from hakmem.peers import HAKMEM, Allocator, chosen, find_allocators, is_file_of
from hakmem.places import Places, candidate_roots, find_places
from hakmem.preload import environment, preload_value
from hakmem.program import default_program
from hakmem.proof import Record, read_records

SOURCE = Path("bench") / "programs" / "templates.cpp"


@dataclass(frozen=True)
class Case:
    """A program, and the executable that must have been among its processes."""

    name: str
    argv: list[str]
    variables: dict[str, str]
    heart: str


@dataclass
class Peaks:
    """What was measured so far: peak RSS in KiB, and the other figures of each run, by case and allocator."""

    cases: list[Case]
    allocators: list[Allocator]
    runs: dict[tuple[str, str], list[Figures]] = field(default_factory=dict)

    def add(self, case: str, allocator: str, figures: Figures) -> None:
        self.runs.setdefault((case, allocator), []).append(figures)

    def mebibytes(self, case: str, allocator: str) -> float | None:
        """The median over the runs."""
        runs = self.runs.get((case, allocator))
        return median(run.maxrss_kib for run in runs) / 1024 if runs else None

    def fastest(self, case: str, allocator: str) -> float | None:
        runs = self.runs.get((case, allocator))
        return min(run.wall_ns for run in runs) / 1e9 if runs else None


# ---- the programs ----

def find_source() -> Path:
    for root in candidate_roots():
        if (root / SOURCE).is_file():
            return root / SOURCE
    raise Refusal(f"{SOURCE} is missing: run this inside the checkout of HAKMEM")


def all_cases(scratch: Path) -> list[Case]:
    compile_it = ["g++", "-O1", "-c", str(find_source()), "-o", str(scratch / "templates.o")]
    json = default_program()
    return [
        Case("g++ -O1, templates", compile_it, {}, "cc1plus"),
        Case("python3, JSON", json.argv, json.variables, "python3"),
    ]


# ---- one run ----

def run_case(launcher: Launcher, places: Places, case: Case, allocator: Allocator, folder: Path) -> Figures:
    folder.mkdir()
    libraries = [places.identity_probe] + ([allocator.so_file] if allocator.so_file else [])
    variables = case.variables | {"HAKPROBE_FILE": str(folder / "proof")}
    errors = folder / "errors"
    figures = launcher.run(
        case.argv, environment(os.environ, preload_value(libraries, []), variables),
        Streams(output=folder / "output", errors=errors),
    )
    if figures.status != 0:
        last = (errors.read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
        raise Refusal(f"{case.name} on {allocator.name} {figures.end}: {last}")
    refuse_unless_served(case, allocator, read_records(folder / "proof"))
    return figures


def refuse_unless_served(case: Case, allocator: Allocator, records: list[Record]) -> None:
    """Every process of the tree, and the one that matters must be among them."""
    without = f"{case.name}: no figure for {allocator.name}"
    for record in records:
        if not served(allocator, record):
            raise Refusal(f"{without}: {record.exe} was served by {record.server}", NOT_PROVEN)
    if not any(os.path.basename(record.exe).startswith(case.heart) for record in records):
        raise Refusal(f"{without}: {case.heart} left no proof of who served it", NOT_PROVEN)


def served(allocator: Allocator, record: Record) -> bool:
    same = record.malloc_path == record.free_path and is_file_of(allocator, record.malloc_path)
    return same and (record.owned or allocator.name != HAKMEM)


# ---- all of them ----

def turns(peaks: Peaks, runs: int) -> Iterator[tuple[int, Case, Allocator]]:
    for number in range(runs):
        for at, case in enumerate(peaks.cases):
            for allocator in rotated(peaks.allocators, number + at):
                yield number, case, allocator


def measure_all(console: Console, places: Places, peaks: Peaks, runs: int, scratch: Path) -> None:
    launcher = Launcher(places.launcher, scratch)
    with progress_bar(console, runs * len(peaks.cases) * len(peaks.allocators)) as progress:
        for count, (number, case, allocator) in enumerate(turns(peaks, runs)):
            progress.update(progress.task_ids[0], description=f"{number + 1}/{runs} {case.name} {allocator.name}")
            progress.refresh()
            peaks.add(case.name, allocator.name, run_case(launcher, places, case, allocator, scratch / str(count)))
            progress.advance(progress.task_ids[0])


def memory(
    runs: Annotated[int, typer.Option(min=1, metavar="N", help="Runs of each program on each allocator.")] = 3,
    allocators: options.Allocators = None,
    peer: options.Peers = None,
    output: options.Output = None,
    library: options.Library = None,
    build: options.Build = None,
) -> None:
    """Peak memory of g++ on a template-heavy file and of a JSON script, beside glibc and every installed peer."""
    errors = Console(stderr=True)
    memory_table.refuse_unless_writable(output)
    places = find_places(build, library)
    found, missing = find_allocators(places.so_file, peer or [])
    if allocators is None:
        report_missing(errors, missing)
    with tempfile.TemporaryDirectory(prefix="hakmem-") as scratch:
        peaks = Peaks(all_cases(Path(scratch)), chosen(found, allocators))
        try:
            measure_all(errors, places, peaks, runs, Path(scratch))
        except (KeyboardInterrupt, Stopped):
            errors.print("stopped; this is what was finished:", highlight=False)
            memory_table.finish(stdout_console(), peaks, output)
            raise
    memory_table.finish(stdout_console(), peaks, output)
