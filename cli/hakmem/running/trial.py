# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run of a program on one allocator, watched: its figures, its memory over time, and why it does not count."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hakmem.base.errors import BAD_USAGE
from hakmem.base.figures import time_text
from hakmem.process import checks
from hakmem.process.launch import Figures, Streams
from hakmem.process.peers import HAKMEM, Allocator
from hakmem.process.preload import environment, preload_value
from hakmem.process.proof import Executed, Record, read_executed, read_records, without_record
from hakmem.process.samples import Sample, before_the_fall, read_samples
from hakmem.running.memory_over_time import KIB_IN_MIB, SECOND_NS, Curve, curve_of
from hakmem.running.run import Runner, check_library, must_hold
from hakmem.running.service import Manner, Moments, go_through, last_line

SAMPLES_LEAST = 5
IN_BACKGROUND = (
    "the program put itself into the background; what it left running was ended. Run it in the foreground "
    "(redis-server: --daemonize no)"
)
ENDS = (0, signal.SIGTERM, signal.SIGKILL)  # of a program that was asked to end


@dataclass(frozen=True)
class Trial:
    """One run."""

    figures: Figures
    moments: Moments
    records: list[Record]
    said: str  # the last line on stderr
    samples: list[Sample]

    @cached_property
    def curve(self) -> Curve:
        """It ends where the program was asked to end, or before it frees what it holds, to end by itself."""
        samples = before_the_fall(self.samples) if self.moments.by_itself else self.samples
        return curve_of(samples, self.moments.end_ns)

    @property
    def peak(self) -> float:
        """MiB: the largest sample, or the largest process as the kernel has it, also between samples."""
        return max(self.curve.peak, self.figures.maxrss_kib / KIB_IN_MIB)

    @property
    def load_seconds(self) -> float:
        return ((self.moments.rest_ns or 0) - (self.moments.load_ns or 0)) / SECOND_NS

    @property
    def after_load(self) -> float:
        """MiB."""
        return self.curve.up_to(((self.moments.rest_ns or self.moments.end_ns) - self.samples[0].ns) / SECOND_NS)


def label(name: str) -> str:
    return "HAKMEM" if name == HAKMEM else name


# ---- one run ----

class Track:
    """Where the runs take place."""

    def __init__(self, runner: Runner, manner: Manner) -> None:
        self.runner = runner
        self.manner = manner
        self.glibc = check_library(runner)

    def library(self, allocator: Allocator) -> Path:
        return allocator.so_file or self.glibc

    def variables(self, allocator: Allocator, folder: Path) -> dict[str, str]:
        preload = preload_value([self.runner.places.identity_probe, self.library(allocator)], self.runner.others)
        own = {**self.runner.program.variables, "HAKPROBE_FILE": str(folder / "proof")}
        return environment(os.environ, preload, own)

    def pass_through(
        self, allocator: Allocator, folder: Path, streams: Streams, options: list[str], manner: Manner
    ) -> tuple[Figures, Moments, list[Record]]:
        launcher, argv = self.runner.launcher, self.runner.program.argv
        with launcher.running(argv, self.variables(allocator, folder), streams, ["-e", *options]) as process:
            moments = go_through(process, manner, folder)
        return launcher.figures(argv[0]), moments, read_records(folder / "proof")

    def trial(self, allocator: Allocator) -> Trial:
        folder = self.runner.folder()
        streams = Streams(self.runner.stdin, folder / "output", folder / "errors")
        options = ["-s", str(folder / "samples")]
        figures, moments, records = self.pass_through(allocator, folder, streams, options, self.manner)
        return Trial(figures, moments, records, last_line(folder / "errors"), read_samples(folder / "samples"))

    def shown(self, hakmem: Allocator) -> tuple[Figures, list[str]]:
        """What must hold of HAKMEM, or a Refusal; and notes. The output of a service goes into a file, too."""
        folder = self.runner.folder()
        streams = Streams(self.runner.stdin)
        if self.manner.ends_it:
            streams = Streams(self.runner.stdin, folder / "output", folder / "errors")
        manner = Manner(self.manner.load, 0.0 if self.manner.load is not None else self.manner.rest)
        options = ["-f", str(folder / "executed")]
        figures, moments, records = self.pass_through(hakmem, folder, streams, options, manner)
        said = last_line(folder / "errors") if self.manner.ends_it else ""
        executed = read_executed(folder / "executed")
        must_hold(problem_of_left(figures, moments), BAD_USAGE)
        must_hold(on(HAKMEM, problem_of_end(figures, moments, said)) if self.manner.ends_it else None)
        must_hold(checks.escape_problem(figures, executed, records))
        must_hold(checks.identity_problem(figures, records, self.library(hakmem)))
        return figures, notes_of_proof(executed, records)


def on(name: str, problem: str | None) -> str | None:
    return f"on {label(name)} the program failed: {problem}" if problem else None


def notes_of_proof(executed: list[Executed] | None, records: list[Record]) -> list[str]:
    if executed is None:
        return ["tracing is not allowed here, so a child that drops LD_PRELOAD would go unnoticed"]
    return sorted({f"not on HAKMEM: {checks.why_escaped(program)}" for program in without_record(executed, records)})


def problem_of_left(figures: Figures, moments: Moments) -> str | None:
    """Where the program itself was there to its end, this command has ended what it left, and all is well."""
    ended = moments.by_itself or moments.problem.startswith("ended")
    return IN_BACKGROUND if figures.left and ended else None


def problem_of_end(figures: Figures, moments: Moments, said: str) -> str | None:
    """Of a run that this command was to end, or that it loaded."""
    how = f"{figures.end}{': ' if said else ''}{said}"
    if moments.problem:
        return f"{moments.problem}: {how}" if moments.problem.startswith("ended") else moments.problem
    if moments.by_itself:
        return f"before it was to be ended it {how}" if figures.status else None
    return None if figures.signal in ENDS else f"asked to end, it {how}"


def problem_of(trial: Trial, library: Path, shown: Figures, ends_it: bool) -> str | None:
    """Why a run does not count."""
    problem = problem_of_left(trial.figures, trial.moments)
    if ends_it:
        problem = problem or problem_of_end(trial.figures, trial.moments, trial.said)
    elif not problem and trial.figures.status != shown.status:
        problem = f"{trial.figures.end}, where it {shown.end} on HAKMEM{': ' if trial.said else ''}{trial.said}"
    return problem or checks.identity_problem(trial.figures, trial.records, library)


def problem_of_samples(trial: Trial) -> str | None:
    if len(trial.samples) >= SAMPLES_LEAST:
        return None
    if not trial.moments.by_itself:
        few = f"only {len(trial.samples)} samples of memory, taken every 10 ms"
        return f"{few}, before the program was ended: a longer --rest has more"
    ran = time_text(trial.figures.wall_ns)
    return f"the program ended after {ran}: memory over time, sampled every 10 ms, needs one of 50 ms or more"
