# SPDX-License-Identifier: MIT OR Apache-2.0
"""One benchmark, and one process of it: started by the launcher, measured, and proven by its own output.

The benchmark programs print NAME=VALUE lines (bench/harness/main.h) and, with --proof, which library served them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hakmem.base.errors import NOT_PROVEN, Refusal
from hakmem.process.launch import Figures, Launcher, Streams
from hakmem.process.peers import Allocator, who_served_instead
from hakmem.process.places import Places
from hakmem.process.preload import environment
from hakmem_lab.bench.budget import Budget
from hakmem_lab.bench.record import COUNTED, OK, Metric, Run

SERVED_BY = "served by "
NO_END = Budget()
# (benchmark, allocator) -> why there is no figure.
Failures = dict[tuple[str, str], str]
# What the programs print about every row; anything else that is a number is a further figure of that row.
COMMON = frozenset({
    "row", "threads", "rss_kib", "ns", "repetitions", "warm_ups", "operations", "hop_ns", "malloc", "free", "glibc_served",
    "hak_owns", "latency_malloc", "latency_free",
})
PARAMETER = "parameter_"
UNITS = {"_kib": "KiB", "_mib": "MiB", "_ns": "ns", "_percent": "%", "mib_seconds": "MiB × s",
         "_seconds": "s"}


class NotProven(Refusal):
    """Something else served the calls, or it cannot be shown what did."""

    def __init__(self, text: str) -> None:
        super().__init__(text, NOT_PROVEN)


@dataclass(frozen=True)
class Benchmark:
    """One row: a row of a C program with its arguments; or a real program or a trace (`program` is None; see real.py)."""

    name: str  # unique; a row at N threads is called ROW@tN
    group: str  # the C program's name or that of its family, or `real`, or `trace`
    operation: str  # what one operation is, in words
    threads: int = 1
    once: bool = False  # happens once per process, so that --seconds does not apply
    program: Path | None = None
    arguments: tuple[str, ...] = ()  # such as threads=4
    trace: Path | None = None  # that is replayed

    @property
    def row(self) -> str:
        """What the program calls it."""
        return self.name.partition("@")[0]


@dataclass(frozen=True)
class Context:
    """What every pass needs to start a process."""

    places: Places
    scratch: Path  # an empty folder that is removed at the end
    launcher: Launcher
    seconds: float  # for the repetitions of one process
    timeout: float  # seconds until a process is stopped
    budget: Budget = NO_END


# ---- starting ----

def command_of(context: Context, benchmark: Benchmark, *more: str, program: Path | None = None) -> list[str]:
    """`program` may be another build of the same file, such as hak_micro_latency."""
    seconds = [] if benchmark.once else ["--seconds", str(context.seconds)]
    return [str(program or benchmark.program), benchmark.row, *benchmark.arguments, *seconds, "--proof", *more]


def variables_for(allocator: Allocator) -> dict[str, str]:
    """The caller's environment, without what the caller preloads or counts."""
    variables = environment(os.environ, allocator.preload, {})
    if not allocator.preload:
        del variables["LD_PRELOAD"]
    return variables


@dataclass(frozen=True)
class Done:
    """A process that ended: what it printed as NAME=VALUE, what it used; `trouble`: why its figures do not count."""

    values: dict[str, str]
    figures: Figures | None
    trouble: str | None


def errors_of(context: Context) -> Path:
    """What the last process wrote to standard error."""
    return context.scratch / "errors"


def run_proven(context: Context, command: list[str], allocator: Allocator) -> Done:
    """Runs a benchmark program on `allocator` and reads its proof."""
    output, errors = context.scratch / "output", errors_of(context)
    try:
        figures = context.launcher.run(
            command, variables_for(allocator), Streams(output=output, errors=errors), timeout=context.timeout
        )
    except Refusal as refusal:
        return Done({}, None, str(refusal))
    values = parse_output(output.read_text(errors="replace"))
    return Done(values, figures, trouble_of(allocator, figures, values, errors))


def trouble_of(allocator: Allocator, figures: Figures, values: Mapping[str, str], errors: Path) -> str | None:
    if figures.status != 0:
        return f"{figures.end}: {last_line(errors)}"
    instead = who_served_instead(allocator, values)
    return SERVED_BY + instead if instead else None


def last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def parse_output(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


# ---- one measured process ----

def run_cell(
    context: Context, benchmark: Benchmark, allocator: Allocator, round_number: int, phase: str
) -> tuple[Run, list[Metric]]:
    """Never raises for what the process did: `outcome` says why there is no figure."""
    done = run_proven(context, command_of(context, benchmark), allocator)
    trouble = done.trouble or (None if number_of(done.values, "ns") is not None else "printed no figure")
    run = described(benchmark, allocator, round_number, phase, trouble or OK, done)
    counts = phase == COUNTED and trouble is None
    return run, further_figures(benchmark, allocator, round_number, done.values) if counts else []


def described(
    benchmark: Benchmark, allocator: Allocator, round_number: int, phase: str, outcome: str, done: Done
) -> Run:
    values = done.values if outcome == OK else {}
    resident = number_of(values, "rss_kib")
    return Run(
        benchmark.name, benchmark.group, allocator.name, round_number, phase, outcome,
        ns=number_of(values, "ns"),
        operations=number_of(values, "operations"),
        final_rss_kib=None if resident is None else int(resident),
        hop_ns=number_of(values, "hop_ns"),
        **used(done.figures),
    )


def used(figures: Figures | None) -> dict[str, int]:
    """The fields of Run that the launcher fills."""
    if figures is None:
        return {}
    return {
        "wall_ns": figures.wall_ns, "user_us": figures.user_us, "system_us": figures.sys_us,
        "peak_rss_kib": figures.maxrss_kib, "minor_faults": figures.minflt, "major_faults": figures.majflt,
        "voluntary_switches": figures.nvcsw, "involuntary_switches": figures.nivcsw,
    }


def number_of(values: Mapping[str, str], name: str) -> float | None:
    try:
        return float(values[name])
    except (KeyError, ValueError):
        return None


def further_figures(
    benchmark: Benchmark, allocator: Allocator, round_number: int, values: Mapping[str, str]
) -> list[Metric]:
    """What the row reports beside its time; its parameters do not change and are told once."""
    found = []
    for name in values.keys() - COMMON:
        value = number_of(values, name)
        if value is not None and (round_number == 0 or not name.startswith(PARAMETER)):
            found.append(Metric(benchmark.name, allocator.name, round_number, name, value, unit_of(name)))
    return sorted(found, key=lambda metric: metric.name)


def unit_of(name: str) -> str:
    if name.startswith(PARAMETER):
        return "parameter"
    return next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "")
