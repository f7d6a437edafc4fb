# SPDX-License-Identifier: MIT OR Apache-2.0
"""The counted twin: every benchmark once on HAKMEM with all calls counted twice, by HAKMEM and by the probe's wrappers.

It is not timed. HAKMEM must have served nearly all calls that the probe saw; where it did not, that benchmark gets no
figure on HAKMEM.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process import checks
from hakmem.process.counters import Comparison, compare, read_counts
from hakmem.process.launch import Figures, Streams
from hakmem.process.peers import HAKMEM
from hakmem.process.preload import environment, preload_value
from hakmem.process.proof import read_records
from hakmem_lab.bench.cell import SERVED_BY, Benchmark, Context, Failures, NotProven, command_of, last_line
from hakmem_lab.bench.progress import Progress
from hakmem_lab.bench.real import COUNTS, PROOF, run_counted
from hakmem_lab.bench.record import COUNTED, OK, Metric, Recorder, Run

MUST_EXCEED_PERCENT = 99.9


def twin_pass(
    context: Context, benchmarks: list[Benchmark], recorder: Recorder, progress: Progress
) -> Failures:
    """Returns why there can be no figure, for each benchmark on HAKMEM that failed."""
    failed = {}
    progress.begin("counted twin", len(benchmarks))
    for benchmark in benchmarks:
        progress.step(f"{benchmark.name} on {HAKMEM}")
        outcome = twin_outcome(context, benchmark, recorder)
        if outcome != OK:
            failed[benchmark.name, HAKMEM] = outcome
            recorder.add(Run(benchmark.name, benchmark.group, HAKMEM, 0, COUNTED, outcome))
            progress.say(f"hakmem: no figure for {benchmark.name} on {HAKMEM}: {outcome}")
    return failed


def twin_outcome(context: Context, benchmark: Benchmark, recorder: Recorder) -> str:
    try:
        calls = counted_run(context, benchmark)
        must_be_served(calls)
    except NotProven as stranger:
        return SERVED_BY + str(stranger)
    except Refusal as refusal:
        return f"counted run: {refusal}"
    recorder.add(
        Metric(benchmark.name, HAKMEM, 0, "twin_calls", calls.probed, "calls"),
        Metric(benchmark.name, HAKMEM, 0, "twin_served_percent", served_percent(calls), "%"),
    )
    return OK


# ---- one run ----

def counted_run(context: Context, benchmark: Benchmark) -> Comparison:
    """In a folder of its own, because every process of the benchmark writes files."""
    with tempfile.TemporaryDirectory(dir=context.scratch, prefix="t") as name:
        folder = Path(name)
        if benchmark.program is None:
            figures = run_counted(context, benchmark, folder).figures
        else:
            figures = run_counted_program(context, benchmark, folder)
        records = read_records(folder / PROOF)
        problem = checks.identity_problem(figures, records, context.places.so_file)
        if problem:
            raise NotProven(f"something else: {problem}")
        return compare(records, read_counts(folder / COUNTS))


def run_counted_program(context: Context, benchmark: Benchmark, folder: Path) -> Figures:
    """One repetition is enough."""
    errors = folder / "errors"
    preload = preload_value([context.places.counting_probe, context.places.so_file], [])
    variables = {
        "HAKPROBE_FILE": str(folder / PROOF), "HAKMEM_COUNT_CALLS": "on", "HAKMEM_COUNTERS_FILE": str(folder / COUNTS),
    }
    figures = context.launcher.run(
        command_of(context, benchmark, "--repetitions", "1"), environment(os.environ, preload, variables),
        Streams(output=folder / "output", errors=errors), timeout=context.timeout,
    )
    if figures.status != 0:
        raise Refusal(f"{figures.end}: {last_line(errors)}")
    return figures


# ---- what it must show ----

def served_percent(calls: Comparison) -> float:
    return 100 * (1 - calls.unserved / calls.probed) if calls.probed else 0.0


def must_be_served(calls: Comparison) -> None:
    if calls.probed == 0:
        raise NotProven("something that the probe could not see: it counted no call of malloc or free")
    if served_percent(calls) <= MUST_EXCEED_PERCENT:
        raise NotProven(f"something else: {calls.unserved:,} of {calls.probed:,} calls did not reach HAKMEM")
