# SPDX-License-Identifier: MIT OR Apache-2.0
"""The latency pass: what single calls of malloc and free take, from builds that read the cycle counter around each.

Three runs of each row and allocator, with the same arguments as the timed ones, add up to one histogram. The counter's
own cost is in every value and is written beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

from hdrh.histogram import HdrHistogram

from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator
from hakmem_lab.bench.budget import OTHERS_SHARE
from hakmem_lab.bench.cell import Benchmark, Context, command_of, run_proven
from hakmem_lab.bench.progress import Progress
from hakmem_lab.bench.record import Bucket, Metric, Recorder

BUILD = "_latency"
RUNS = 3
CALLS = ("malloc", "free")  # malloc stands for calloc and realloc too
PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9, "max": 100.0}
MOST_CYCLES = 1 << 46
DIGITS = 3


@dataclass
class Latencies:
    """Of all runs of one row on one allocator: cycles -> calls, and the counter's facts."""

    calls: dict[str, Counter[int]] = field(default_factory=lambda: {call: Counter() for call in CALLS})
    cycles_per_ns: list[float] = field(default_factory=list)
    cycles_cost: list[float] = field(default_factory=list)

    def add(self, values: dict[str, str]) -> None:
        self.cycles_per_ns.append(float(values["cycles_per_ns"]))
        self.cycles_cost.append(float(values["cycles_cost"]))
        for call in CALLS:
            self.calls[call].update(parse_buckets(values[f"latency_{call}"]))

    @property
    def scale(self) -> float:
        return median(self.cycles_per_ns)


def parse_buckets(text: str) -> dict[int, int]:
    """`44:100,46:3`: the top of a bucket in cycles, and its calls."""
    pairs = (pair.split(":") for pair in text.split(",") if pair)
    return {int(top): int(count) for top, count in pairs}


# ---- the pass ----

def latency_pass(
    context: Context, benchmarks: list[Benchmark], allocators: list[Allocator], recorder: Recorder, progress: Progress
) -> None:
    rows = [one for one in benchmarks if one.program and one.program.with_name(one.program.name + BUILD).is_file()]
    progress.begin("latency", len(rows) * len(allocators))
    for at, benchmark in enumerate(rows):
        if context.budget.over(OTHERS_SHARE):
            progress.note(f"no latencies, as the time is over: {', '.join(row.name for row in rows[at:])}")
            break
        for allocator in allocators:
            progress.step(f"{benchmark.name} on {allocator.name}")
            try:
                seen = measure(context, benchmark, allocator)
            except Refusal as refusal:
                progress.say(f"hakmem: no latencies of {benchmark.name} on {allocator.name}: {refusal}")
            else:
                recorder.add(*buckets_of(benchmark, allocator, seen), *metrics_of(benchmark, allocator, seen))


def measure(context: Context, benchmark: Benchmark, allocator: Allocator) -> Latencies:
    seen = Latencies()
    program = benchmark.program.with_name(benchmark.program.name + BUILD) if benchmark.program else None
    for _ in range(RUNS):
        done = run_proven(context, command_of(context, benchmark, program=program), allocator)
        if done.trouble:
            raise Refusal(done.trouble)
        add_run(seen, done.values)
    return seen


def add_run(seen: Latencies, values: dict[str, str]) -> None:
    try:
        seen.add(values)
    except (KeyError, ValueError):
        raise Refusal("printed no histogram") from None


# ---- what is written down ----

def buckets_of(benchmark: Benchmark, allocator: Allocator, seen: Latencies) -> Iterator[Bucket]:
    for call in CALLS:
        for top, count in sorted(seen.calls[call].items()):
            yield Bucket(benchmark.name, allocator.name, call, round(top / seen.scale, 2), count)


def metrics_of(benchmark: Benchmark, allocator: Allocator, seen: Latencies) -> Iterator[Metric]:
    """None for a row that makes no such calls, as startup."""
    for call in CALLS:
        for name, ns in percentiles(seen.calls[call], seen.scale).items():
            yield Metric(benchmark.name, allocator.name, 0, f"latency_{call}_{name}", ns, "ns")
    if any(seen.calls.values()):
        cost = round(median(seen.cycles_cost) / seen.scale, 2)
        yield Metric(benchmark.name, allocator.name, 0, "latency_counter_cost_ns", cost, "ns")


def percentiles(calls: Counter[int], cycles_per_ns: float) -> dict[str, float]:
    """In nanoseconds; they must rise."""
    if not calls:
        return {}
    histogram = HdrHistogram(1, MOST_CYCLES, DIGITS)
    for top, count in calls.items():
        histogram.record_value(max(1, min(top, MOST_CYCLES)), count)
    found = {
        name: round(histogram.get_value_at_percentile(percent) / cycles_per_ns, 2)
        for name, percent in PERCENTILES.items()
    }
    if list(found.values()) != sorted(found.values()):
        raise Refusal(f"the percentiles do not rise: {found}")
    return found
