# SPDX-License-Identifier: MIT OR Apache-2.0
"""One session of measuring: allocators are admitted, passes are made one after another, the report is written.

    twin     shows that HAKMEM served the calls; a benchmark where it did not gets no figure on HAKMEM
    time     the timed rounds
    others   passes of their own for what would disturb the timing: latency, system calls, instructions, memory
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from rich.console import Console

from hakmem.base.console import stderr_console
from hakmem.base.errors import NOT_PROVEN, Refusal, Stopped
from hakmem.base.scratch import scratch_folder
from hakmem.process.launch import Launcher
from hakmem.process.peers import HAKMEM, Allocator, rebuilt_meanwhile
from hakmem.process.places import Places
from hakmem_lab.bench import disturbance
from hakmem_lab.bench.admission import admit
from hakmem_lab.bench.budget import OTHERS_SHARE, Budget
from hakmem_lab.bench.cell import SERVED_BY, Benchmark, Context, Failures
from hakmem_lab.bench.machine import write_machine
from hakmem_lab.bench.passes import PASSES
from hakmem_lab.bench.progress import Progress
from hakmem_lab.bench.record import Recorder, Run, named_failure, read_lines
from hakmem_lab.bench.schedule import TimePass, turns
from hakmem_lab.bench.twin import twin_pass
from hakmem_lab.bench.worst import worst_pass

SOME_FAILED = 1
OTHER_PASSES = {**PASSES, "worst": worst_pass}


@dataclass(frozen=True)
class Order:
    """What is to be measured, and how."""

    benchmarks: list[Benchmark]
    allocators: list[Allocator]
    missing: list[str]  # peers that are not installed, each with the way to get it
    passes: list[str]
    warm_ups: int
    runs: int
    seconds: float
    timeout: float
    set_name: str
    pattern: str
    minutes: float | None = None  # None: as long as it takes

    @property
    def options(self) -> dict[str, object]:
        """For machine.json, which holds the benchmarks and the allocators anyway."""
        elsewhere = ("benchmarks", "allocators", "missing")
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in elsewhere}


def start_session(places: Places, order: Order, folder: Path, out: Console) -> int:
    """The exit status. What is finished is reported also when a signal stops the session, and then raises Stopped."""
    errors = stderr_console()
    stopped: Stopped | None = None
    troubles: list[str] = []
    with scratch_folder() as scratch:
        context = Context(places, scratch, Launcher(places.launcher, scratch), order.seconds, order.timeout,
                          Budget(order.minutes and order.minutes * 60))
        said = admit(context, order.allocators)
        recorder = open_folder(folder)
        write_machine(folder, places, order.allocators, order.missing, order.benchmarks, order.options)
        introduce(errors, order, folder, said)
        try:
            troubles = make_passes(context, order, recorder, errors)
        except Stopped as stop:
            stopped = stop
            errors.print("hakmem: stopped; this is what was finished:", highlight=False)
    finish(out, folder)
    if stopped:
        raise stopped
    return status_of(errors, order, troubles)


def open_folder(folder: Path) -> Recorder:
    """Results that are there already stay."""
    runs = folder / Run.FILE
    if folder.exists() and not folder.is_dir():
        raise Refusal(f"--output {folder}: not a folder")
    if runs.is_file() and runs.stat().st_size > 0:
        raise Refusal(f"--output {folder}: there are results in it already")
    return Recorder(folder)


def introduce(console: Console, order: Order, folder: Path, said: list[str]) -> None:
    names = ", ".join(str(one) for one in order.allocators)
    lines = [
        *said,
        f"{len(order.benchmarks)} benchmarks on {names}",
        f"{order.warm_ups} + {order.runs} runs of each; passes: {', '.join(order.passes)}; results: {folder}",
        *([f"for {order.minutes:g} minutes: rounds or rows that do not fit are left out"] if order.minutes else []),
    ]
    if order.missing:
        lines.append(f"not measured, because missing: {', '.join(order.missing)}")
    if disturbance.load() > disturbance.BUSY_LOAD:
        lines.append(f"the machine is busy (load {disturbance.load():.1f}); runs that this disturbs will be marked")
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


# ---- the passes ----

def make_passes(context: Context, order: Order, recorder: Recorder, console: Console) -> list[str]:
    """What could not be measured, and why."""
    failed: Failures = {}
    with Progress(console) as progress:
        progress.most_left = lambda: context.budget.left(OTHERS_SHARE)
        for name in order.passes:
            if name == "time":
                time_pass = TimePass(context, recorder, progress, failed)
                time_pass.make(list(turns(order.benchmarks, order.allocators, order.warm_ups, order.runs)))
            elif name != "twin" and context.budget.over(OTHERS_SHARE):
                progress.note(f"the time is over: no pass {name}")
            elif name != "twin":
                OTHER_PASSES[name](context, sound(order.benchmarks, failed), order.allocators, recorder, progress)
            elif any(one.name == HAKMEM for one in order.allocators):
                failed.update(twin_pass(context, order.benchmarks, recorder, progress))
    return progress.troubles


def sound(benchmarks: list[Benchmark], failed: Failures) -> list[Benchmark]:
    """Where HAKMEM has no figure there is nothing to compare."""
    return [one for one in benchmarks if (one.name, HAKMEM) not in failed]


def status_of(console: Console, order: Order, troubles: list[str]) -> int:
    rebuilt = rebuilt_meanwhile(order.allocators)
    if rebuilt:
        text = f"hakmem: rebuilt while it was measured, so the figures prove nothing: {', '.join(rebuilt)}"
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    if rebuilt or any(SERVED_BY in text for text in troubles):
        return NOT_PROVEN
    return SOME_FAILED if troubles else 0


# ---- the end ----

def finish(out: Console, folder: Path) -> None:
    if read_lines(folder, Run):
        report(out, folder)
    else:
        text = f"nothing was timed; the other figures are in {folder}"
        out.print(text, highlight=False, markup=False, soft_wrap=True)


def report(out: Console, folder: Path) -> None:
    """Shows the times, then writes table, page and plots, which takes a while; what is needed loads slowly, so it is loaded
    here."""
    from hakmem_lab.bench.page import write_report
    from hakmem_lab.bench.tables import print_summary

    print_summary(out, folder)
    out.file.flush()
    with named_failure(folder):
        write_report(folder)
    for name in ("table.md", "report.html"):
        out.print(str(folder / name), highlight=False, markup=False, soft_wrap=True)
