# SPDX-License-Identifier: MIT OR Apache-2.0
"""The system-call pass: how many calls of the kernel an operation needs, counted by strace.

A repeated row runs with 1 and with 11 repetitions: what the second run makes more, divided by ten repetitions, is what
the operations need, without the start of the process. What happens once and real programs are counted as they are,
start and proof included. strace counts calls that returned: the one that ends a process is missing on every side.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator
from hakmem_lab.bench.cell import Benchmark, Context, command_of, run_proven
from hakmem_lab.bench.progress import Progress
from hakmem_lab.bench.real import perform_proven, program_of
from hakmem_lab.bench.record import Metric, Recorder

STRACE = "strace"
FEW, MANY = 1, 11
COMMONEST = 3
TOTAL = "syscalls"
# A line of strace -c: % time, seconds, usecs/call, calls, errors or nothing, name.
LINE = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", re.MULTILINE)


def syscalls_pass(
    context: Context, benchmarks: list[Benchmark], allocators: list[Allocator], recorder: Recorder, progress: Progress
) -> None:
    if shutil.which(STRACE) is None:
        progress.say(f"hakmem: no system calls are counted: {STRACE} is missing (apt-get install {STRACE})")
        return
    progress.begin("system calls", len(benchmarks) * len(allocators))
    for benchmark in benchmarks:
        for allocator in allocators:
            progress.step(f"{benchmark.name} on {allocator.name}")
            try:
                recorder.add(*metrics_of(benchmark, allocator, *count(context, benchmark, allocator)))
            except Refusal as refusal:
                progress.say(f"hakmem: no system calls of {benchmark.name} on {allocator.name}: {refusal}")


def metrics_of(
    benchmark: Benchmark, allocator: Allocator, calls: Counter[str], operations: float
) -> Iterator[Metric]:
    """All calls, and the three commonest by name."""
    for name, number in [(TOTAL, calls.total()), *calls.most_common(COMMONEST)]:
        label = f"{TOTAL}_per_op" if name == TOTAL else f"{TOTAL}_per_op_{name}"
        yield Metric(benchmark.name, allocator.name, 0, label, float(f"{number / operations:.6g}"), "calls")


# ---- counting ----

def count(context: Context, benchmark: Benchmark, allocator: Allocator) -> tuple[Counter[str], float]:
    """The calls, by name, of so many operations."""
    if benchmark.program is None:
        return count_real(context, benchmark, allocator)
    if benchmark.once:
        return count_program(context, benchmark, allocator)
    few, operations = count_program(context, benchmark, allocator, "--repetitions", str(FEW))
    many, _ = count_program(context, benchmark, allocator, "--repetitions", str(MANY))
    many.subtract(few)
    return +many, operations * (MANY - FEW)


def count_real(context: Context, benchmark: Benchmark, allocator: Allocator) -> tuple[Counter[str], float]:
    table = context.scratch / "strace"
    done = perform_proven(context, program_of(context, benchmark), allocator, tracer(table))
    return read_table(table), done.operations


def count_program(
    context: Context, benchmark: Benchmark, allocator: Allocator, *more: str
) -> tuple[Counter[str], float]:
    table = context.scratch / "strace"
    done = run_proven(context, [*tracer(table), *command_of(context, benchmark, *more)], allocator)
    if done.trouble:
        raise Refusal(done.trouble)
    return read_table(table), float(done.values["operations"])


def tracer(table: Path) -> tuple[str, ...]:
    return (STRACE, "-f", "-c", "-o", str(table))


def read_table(path: Path) -> Counter[str]:
    lines = LINE.findall(path.read_text())
    return Counter({name: int(calls) for calls, name in lines if name != "total"})
