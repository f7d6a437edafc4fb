# SPDX-License-Identifier: MIT OR Apache-2.0
"""The instruction pass: user instructions per operation, counted by callgrind inside the timed repetition only.

The benchmark program's own instructions are among them, the same ones on every side. Left out are rows with threads,
of which callgrind would see one only, and rows that happen once, because nothing warms up before them.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator
from hakmem_lab.bench.cell import Benchmark, Context, command_of, run_proven
from hakmem_lab.bench.progress import Progress
from hakmem_lab.bench.record import Metric, Recorder

VALGRIND = "valgrind"
REPETITION = "timed_repetition"  # of bench/harness/main.h
TOTALS = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)
SECOND_THREAD = "-02"  # how the file ends that callgrind writes for it
NAME, UNIT = "instructions_per_op", "instructions"


class StartsThreads(Refusal):
    """The row says that one thread allocates at a time, but there is more than one."""


def instructions_pass(
    context: Context, benchmarks: list[Benchmark], allocators: list[Allocator], recorder: Recorder, progress: Progress
) -> None:
    if shutil.which(VALGRIND) is None:
        progress.say(f"hakmem: no instructions are counted: {VALGRIND} is missing (apt-get install {VALGRIND})")
        return
    rows = [one for one in benchmarks if one.program and one.threads == 1 and not one.once]
    progress.begin("instructions", len(rows) * len(allocators))
    for benchmark in rows:
        try:
            count_on_all(context, benchmark, allocators, recorder, progress)
        except StartsThreads:
            progress.say(f"no instructions of {benchmark.name}: it starts threads")


def count_on_all(
    context: Context, benchmark: Benchmark, allocators: list[Allocator], recorder: Recorder, progress: Progress
) -> None:
    for allocator in allocators:
        progress.step(f"{benchmark.name} on {allocator.name}")
        try:
            per_operation = count(context, benchmark, allocator)
            recorder.add(Metric(benchmark.name, allocator.name, 0, NAME, round(per_operation, 3), UNIT))
        except StartsThreads:
            raise
        except Refusal as refusal:
            progress.say(f"hakmem: no instructions of {benchmark.name} on {allocator.name}: {refusal}")


def count(context: Context, benchmark: Benchmark, allocator: Allocator) -> float:
    """Of one repetition, after the one that warms up."""
    with tempfile.TemporaryDirectory(dir=context.scratch, prefix="i") as folder:
        sums = Path(folder) / "sums"
        command = command_of(context, benchmark, "--repetitions", "1")
        done = run_proven(context, [*tracer(sums), *command], allocator)
        if done.trouble:
            raise Refusal(done.trouble)
        return instructions_in(sums) / float(done.values["operations"])


def tracer(sums: Path) -> list[str]:
    collect = ["--separate-threads=yes", "--collect-atstart=no", f"--toggle-collect={REPETITION}"]
    return [VALGRIND, "--quiet", "--tool=callgrind", *collect, f"--callgrind-out-file={sums}"]


def instructions_in(sums: Path) -> int:
    if sums.with_name(sums.name + SECOND_THREAD).exists():
        raise StartsThreads("it starts threads")
    first = sums.with_name(sums.name + "-01")
    found = TOTALS.search(first.read_text()) if first.is_file() else None
    if found is None or int(found[1]) == 0:
        raise Refusal(f"callgrind saw nothing of {REPETITION}")
    return int(found[1])
