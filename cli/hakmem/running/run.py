# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem run`: one program on HAKMEM and on glibc.

The order of the processes:

    a trivial program on each side    which file is glibc; is the library HAKMEM
    the counted twin run              HAKMEM counts its calls, the probe counts them too; its output is shown
    a warm-up on glibc                shows whether the program brings an allocator of its own
    N rounds                          HAKMEM and glibc in turn, the first one alternating; timed, output discarded

Timed runs carry the small library that proves identity and nothing that counts. Nothing is printed unless all
checks hold.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from hakmem.base.errors import NOT_PROVEN, Refusal
from hakmem.base.scratch import scratch_folder
from hakmem.base.streams import reader_is_gone, show_progress
from hakmem.process import checks
from hakmem.process.counters import Comparison, compare, read_counts
from hakmem.process.launch import Figures, Launcher, Streams, input_for_every_run
from hakmem.process.places import Places
from hakmem.process.preload import callers_preloads, environment, preload_value
from hakmem.process.program import Program, refuse_unless_preloadable
from hakmem.process.proof import Executed, Record, count_children, read_executed, read_records, without_record
from hakmem.running.summary import Report, print_report


@dataclass(frozen=True)
class Run:
    """One finished command and the proofs its processes left."""

    figures: Figures
    records: list[Record]

    @property
    def children(self) -> int:
        return count_children(self.records, self.figures.pid)


@dataclass(frozen=True)
class Twin:
    """The counted run."""

    run: Run
    comparison: Comparison
    executed: list[Executed] | None  # None where the system allows no tracing

    @property
    def escaped(self) -> list[str]:
        missing = without_record(self.executed or [], self.run.records)
        return sorted({checks.why_escaped(program) for program in missing})


class Runner:
    """Starts runs of one program; knows the preloads of each side."""

    def __init__(self, places: Places, program: Program, scratch: Path, stdin: str | None) -> None:
        self.places = places
        self.program = program
        self.scratch = scratch
        self.launcher = Launcher(places.launcher, scratch)
        self.stdin = input_for_every_run(stdin, scratch)
        self.others = callers_preloads(os.environ, places.so_file)
        self.numbers = count()

    def folder(self) -> Path:
        """A new one for every run."""
        path = self.scratch / str(next(self.numbers))
        path.mkdir()
        return path

    def start(
        self, argv: list[str], preload: str, streams: Streams, extra: Mapping[str, str], follow: Path | None = None
    ) -> Run:
        stem = self.folder() / "proof"
        variables = self.program.variables | {"HAKPROBE_FILE": str(stem)} | dict(extra)
        figures = self.launcher.run(argv, environment(os.environ, preload, variables), streams, follow)
        return Run(figures, read_records(stem))

    def trivial(self, library: Path | None) -> tuple[Run, str]:
        """`true`, without the caller's preloads, and what it wrote to stderr."""
        errors = self.scratch / "errors"
        libraries = [self.places.identity_probe] + ([library] if library else [])
        streams = Streams(output=self.scratch / "output", errors=errors)
        run = self.start([shutil.which("true") or "true"], preload_value(libraries, []), streams, {})
        return run, errors.read_text(errors="replace")

    def counted(self) -> Twin:
        """The shown run: it reads and writes as the program would by itself."""
        libraries = [self.places.counting_probe, self.places.so_file]
        folder = self.folder()
        extra = {"HAKMEM_COUNT_CALLS": "on", "HAKMEM_COUNTERS_FILE": str(folder / "counts")}
        preload = preload_value(libraries, self.others)
        run = self.start(self.program.argv, preload, Streams(stdin=self.stdin), extra, folder / "executed")
        comparison = compare(run.records, read_counts(folder / "counts"))
        return Twin(run, comparison, read_executed(folder / "executed"))

    def timed(self, allocator: Path | None) -> Run:
        """On `allocator`, or on whatever the program has by itself."""
        libraries = [self.places.identity_probe] + ([allocator] if allocator else [])
        streams = Streams(self.stdin, self.scratch / "output", self.scratch / "errors")
        return self.start(self.program.argv, preload_value(libraries, self.others), streams, {})


def must_hold(problem: str | None, status: int = NOT_PROVEN) -> None:
    if problem:
        raise Refusal(problem, status)


# ---- the steps ----

def check_library(runner: Runner) -> Path:
    """Refuses what is not HAKMEM; returns the file of glibc."""
    plain, _ = runner.trivial(None)
    run, errors = runner.trivial(runner.places.so_file)
    must_hold(checks.so_file_problem(run.figures, run.records, errors, runner.places.so_file))
    libc = plain.records[0].malloc_path if plain.records else ""
    must_hold(None if os.path.basename(libc).startswith("libc") else "cannot tell where glibc's libc.so.6 is")
    return Path(libc)


def counted_twin(runner: Runner) -> Twin:
    twin = runner.counted()
    figures, records = twin.run.figures, twin.run.records
    must_hold(checks.escape_problem(figures, twin.executed, records))
    must_hold(checks.identity_problem(figures, records, runner.places.so_file))
    must_hold(checks.count_problem(twin.comparison))
    return twin


def own_allocator(run: Run, libc: Path) -> str | None:
    """What serves the program, or one of its processes, when nothing is preloaded; None for glibc."""
    strangers = [record for record in run.records if not record.served_by(libc)]
    return checks.name_of(strangers[0].malloc_path) if strangers else None


def timed_rounds(runner: Runner, sides: list[tuple[str, Path | None, Path]], rounds: int) -> dict[str, list[Run]]:
    """`sides`: label, what to preload, what must then serve. The side that starts alternates."""
    runs: dict[str, list[Run]] = {label: [] for label, _, _ in sides}
    for number in range(rounds):
        for label, preloaded, server in sides if number % 2 == 0 else reversed(sides):
            show_progress(f"timed run {number + 1} of {rounds}: {label}")
            run = runner.timed(preloaded)
            must_hold(checks.identity_problem(run.figures, run.records, server))
            runs[label].append(run)
    show_progress("")
    return runs


def compare_sides(runner: Runner, twin: Twin, libc: Path, rounds: int) -> Report:
    show_progress("warm-up: glibc")
    warm = runner.timed(None)
    show_progress("")
    must_end_alike(twin, [("on glibc", warm)])
    replaced = own_allocator(warm, libc)
    library = runner.places.so_file
    sides = [("HAKMEM", library, library), ("glibc", libc if replaced else None, libc)]
    runs = timed_rounds(runner, sides, rounds)
    must_end_alike(twin, [(f"in a timed run on {side}", run) for side, done in runs.items() for run in done])
    return Report(
        program=str(runner.program),
        so_file=library,
        hakmem=[run.figures for run in runs["HAKMEM"]],
        glibc=[run.figures for run in runs["glibc"]],
        children=[run.children for run in runs["HAKMEM"]],
        replaced=replaced,
        calls=twin.comparison,
        escaped=twin.escaped,
        followed=twin.executed is not None,
        left_behind=any(run.figures.left for run in [twin.run, warm, *runs["HAKMEM"], *runs["glibc"]]),
    )


def must_end_alike(twin: Twin, others: list[tuple[str, Run]]) -> None:
    ends = [(where, run.figures) for where, run in others]
    problem = checks.end_problem(twin.run.figures, ends)
    if problem and reader_is_gone():
        problem = f"the program {twin.run.figures.end}, as its output is read no longer; it was not measured"
    must_hold(problem, twin.run.figures.status or NOT_PROVEN)


def measure(runner: Runner, rounds: int) -> int:
    libc = check_library(runner)
    twin = counted_twin(runner)
    print_report(compare_sides(runner, twin, libc, rounds))
    return twin.run.figures.status


def run_program(places: Places, program: Program, rounds: int, stdin: str | None) -> int:
    """The exit status of the program; raises Refusal when something does not hold."""
    refuse_unless_preloadable(program)
    with scratch_folder() as scratch:
        return measure(Runner(places, program, scratch, stdin), rounds)
