# SPDX-License-Identifier: MIT OR Apache-2.0
"""The timeline pass: resident memory of a benchmark and its children over time, seen from beside.

One run each, not timed, of what happens once; repeated rows end as they began. Pages that several processes share are
counted in each of them, alike on every side.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

import psutil

from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator
from hakmem_lab.bench.cell import Benchmark, Context, run_cell
from hakmem_lab.bench.progress import Progress
from hakmem_lab.bench.real import expected_digest, program_of, run_real
from hakmem_lab.bench.record import COUNTED, OK, Moment, Recorder
from hakmem_lab.bench.redis import CLIENT, QUESTIONS

PERIOD, LONG_PERIOD, LONG = 0.01, 0.05, 5.0  # seconds
# Processes beside those that are measured: they start, look at or ask them.
HELPERS = frozenset({"hak_launcher", "hak_sampler", CLIENT, QUESTIONS})


def timeline_pass(
    context: Context, benchmarks: list[Benchmark], allocators: list[Allocator], recorder: Recorder, progress: Progress
) -> None:
    rows = [one for one in benchmarks if one.once or one.program is None]
    progress.begin("memory over time", len(rows) * len(allocators))
    for benchmark in rows:
        for allocator in allocators:
            progress.step(f"{benchmark.name} on {allocator.name}")
            try:
                recorder.add(*watch(context, benchmark, allocator))
            except Refusal as refusal:
                progress.say(f"hakmem: no timeline of {benchmark.name} on {allocator.name}: {refusal}")


def watch(context: Context, benchmark: Benchmark, allocator: Allocator) -> list[Moment]:
    starter = run_cell
    if benchmark.program is None:
        starter = run_real
        expected_digest(context, program_of(context, benchmark))  # so that only one run is seen
    with watching() as seen:
        run, _ = starter(context, benchmark, allocator, 0, COUNTED)
    if run.outcome != OK:
        raise Refusal(run.outcome)
    return [Moment(benchmark.name, allocator.name, *one) for one in seen.moments]


# ---- looking ----

@dataclass
class Watch:
    """A thread of this process that looks until it is told to stop."""

    over: threading.Event = field(default_factory=threading.Event)
    moments: list[tuple[float, int]] = field(default_factory=list)  # seconds, KiB

    def look(self) -> None:
        this, start = psutil.Process(), monotonic()
        spent = 0.0
        while not self.over.wait(PERIOD if spent < LONG else LONG_PERIOD):
            resident = resident_kib(this)
            spent = monotonic() - start
            if resident:
                self.moments.append((round(spent, 4), resident))


@contextmanager
def watching() -> Iterator[Watch]:
    watch = Watch()
    thread = threading.Thread(target=watch.look, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.over.set()
        thread.join()


def resident_kib(parent: psutil.Process) -> int:
    return sum(resident_bytes(child) for child in parent.children(recursive=True)) // 1024


def resident_bytes(process: psutil.Process) -> int:
    """Nothing of one that is just gone."""
    try:
        return 0 if process.name() in HELPERS else process.memory_info().rss
    except psutil.Error:
        return 0
