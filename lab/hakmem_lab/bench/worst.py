# SPDX-License-Identifier: MIT OR Apache-2.0
"""The most instructions and kernel calls that any single malloc or free of up to 32 KiB takes in a benchmark.

A program of one thread makes the same calls in every run, so its k-th call can be looked at again. Under callgrind,
the third build of a program (bench/harness/worst.h) first shows what each chunk of 128 calls took together:

    chunk 0: 64 mallocs 6,210 instructions, 3 kernel calls    chunk 1: 128 mallocs 3,904 instructions    ...

No call of a chunk takes more than the chunk's sum less the cheapest call for each of the others. The chunks in which
a call could be worse than the worst one known are run again with every call alone, until there are none left or the
tries are used up; how bad a call may be at most is told in any case.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator
from hakmem_lab.bench.cell import SERVED_BY, Benchmark, Context, NotProven, command_of, run_proven
from hakmem_lab.bench.comeback import DAYNIGHT, KEPT
from hakmem_lab.bench.progress import Progress
from hakmem_lab.bench.record import Metric, Recorder

FOLLOW_THE_CLOCK = (DAYNIGHT, KEPT)
KINDS = ("malloc", "free")
MEASURED_IN = {"counted_malloc": "malloc", "counted_free": "free"}  # the functions of worst.h
CHUNK_CALLS = 128  # as in worst.h
CHUNKS_A_RUN = 256
RUNS = 4
DULL = 500  # instructions: whether the worst call takes 20 or this many is not worth another run
TITLE = "desc: Trigger: Client Request: "
# Read from memory by a program (vDSO); only under valgrind they enter the kernel.
NOT_KERNEL_CALLS = frozenset({"clock_gettime", "gettimeofday", "time", "getcpu", "sched_getcpu"})
SUFFIX = re.compile(r"(?<=.)[.@'].*")
VALGRIND = "valgrind"
CALLGRIND = (
    VALGRIND, "--tool=callgrind", "--collect-atstart=no", "--collect-systime=yes", "--dump-line=no",
    "--combine-dumps=yes",
)


# ---- reading callgrind's dumps ----

@dataclass
class Cost:
    """What calls of one kind took together, from entry to return."""

    calls: int = 0
    instructions: int = 0
    kernel_calls: int = 0

    def add(self, calls: int, line: str) -> None:
        """`line` follows `calls=`."""
        self.calls += calls
        self.instructions += number_in(line, 1)
        self.kernel_calls += number_in(line, 2)


@dataclass
class Dump:
    """One dump: the calls of each kind, and the instructions of each function without those it called."""

    title: str
    costs: dict[str, Cost] = field(default_factory=lambda: {kind: Cost() for kind in KINDS})
    functions: Counter[str] = field(default_factory=Counter)
    clock_reads: int = 0  # counted as kernel calls, which they are not without valgrind


def number_in(line: str, at: int) -> int:
    """A line of costs: position, instructions, kernel calls, their time; zeros at the end are left away."""
    words = line.split()
    return int(words[at]) if len(words) > at else 0


def read_dumps(lines: Iterable[str]) -> Iterator[Dump]:
    """All that the program asked for; the one at its end is none of them."""
    each = iter(lines)
    for line in each:
        if line.startswith(TITLE):
            dump = Dump(line.removeprefix(TITLE).strip())
            read_costs(dump, each)
            yield dump


def read_costs(dump: Dump, lines: Iterator[str]) -> None:
    """Reads to the end of one dump. `fn=(7) malloc` names function 7, later it is only `fn=(7)`."""
    names: dict[str, str] = {}
    function = called = ""
    for line in lines:
        if line[0] in "0123456789+-*":
            dump.functions[function] += number_in(line, 1)
        elif line.startswith("fn="):
            function = name_in(line, names)
        elif line.startswith("cfn="):
            called = name_in(line, names)
        elif line.startswith("calls="):
            add_call(dump, function, called, int(line[6:].split()[0]), next(lines))
        elif line.startswith("totals:"):
            return


def name_in(line: str, names: dict[str, str]) -> str:
    """Without a compiler's suffix, a symbol's version, or callgrind's mark of a recursion."""
    number, _, name = line.partition("=")[2].strip().partition(" ")
    if name:
        names[number] = SUFFIX.sub("", name)
    return names[number]


def add_call(dump: Dump, caller: str, called: str, calls: int, line: str) -> None:
    """The program's own readings of the clock take no instructions here, as nothing is collected outside the calls."""
    if caller in MEASURED_IN:
        dump.costs[MEASURED_IN[caller]].add(calls, line)
    if is_clock(called) and not is_clock(caller) and number_in(line, 1) > 0:
        dump.clock_reads += number_in(line, 2)


def is_clock(function: str) -> bool:
    return function.lstrip("_") in NOT_KERNEL_CALLS


# ---- single calls ----

@dataclass(frozen=True)
class Call:
    """One call of malloc or free."""

    kind: str
    number: int  # of all calls that were counted, from 0
    bytes: int  # asked for, or of the block that is freed
    instructions: int
    kernel_calls: int
    functions: tuple[tuple[str, int], ...]  # the instructions of each, the most first

    @property
    def chunk(self) -> int:
        return self.number // CHUNK_CALLS


def call_of(dump: Dump) -> Call:
    """Its title is `malloc 1234 64`."""
    kind, number, size = dump.title.split()
    cost = dump.costs[kind]
    functions = tuple((name, count) for name, count in dump.functions.most_common() if name not in MEASURED_IN)
    return Call(kind, int(number), int(size), cost.instructions, cost.kernel_calls - dump.clock_reads, functions)


# ---- the search ----

Runner = Callable[[Sequence[int]], Iterable[Dump]]  # runs the program; with chunks, their calls one by one


@dataclass
class Search:
    """What is known so far: every chunk's sums, and the calls of the chunks that were opened."""

    chunks: dict[int, dict[str, Cost]]
    calls: dict[int, Call] = field(default_factory=dict)
    opened: set[int] = field(default_factory=set)

    def of_kind(self, kind: str) -> list[Call]:
        return [call for call in self.calls.values() if call.kind == kind]

    def worst(self, kind: str) -> Call | None:
        return max(self.of_kind(kind), key=lambda call: call.instructions, default=None)

    def worst_quiet(self, kind: str) -> Call | None:
        """Of those that do not enter the kernel."""
        quiet = (call for call in self.of_kind(kind) if call.kernel_calls == 0)
        return max(quiet, key=lambda call: call.instructions, default=None)

    def worst_in_kernel(self) -> Call | None:
        return max(self.calls.values(), key=lambda call: (call.kernel_calls, call.instructions), default=None)

    def room(self, kind: str) -> dict[int, int]:
        """Chunk -> the most instructions that a call of this kind in it can have taken, beyond those seen alone."""
        seen: dict[int, list[int]] = {}
        for call in self.of_kind(kind):
            seen.setdefault(call.chunk, []).append(call.instructions)
        least = min([*(min(some) for some in seen.values()), *self.averages(kind).values()], default=0)
        return {number: room_in(costs[kind], seen.get(number, []), least) for number, costs in self.chunks.items()}

    def averages(self, kind: str) -> dict[int, int]:
        """Chunk -> instructions of a call of this kind."""
        costs = ((number, both[kind]) for number, both in self.chunks.items())
        return {number: cost.instructions // cost.calls for number, cost in costs if cost.calls}

    def cheapest(self, kind: str) -> set[int]:
        """The chunk that tells what the cheapest call takes."""
        averages = self.averages(kind)
        return {min(averages, key=lambda number: averages[number])} - self.opened if averages else set()

    def suspects(self) -> list[int]:
        """The chunks to open next, in ascending order: some for each thing that is looked for."""
        share = CHUNKS_A_RUN // (len(KINDS) + 1)
        picked: set[int] = set()
        for kind in KINDS:
            known = self.worst_quiet(kind)
            above = max(known.instructions if known else 0, DULL)
            picked |= self.highest(self.room(kind), above, share) | self.cheapest(kind)
        in_kernel = self.worst_in_kernel()
        kernel_calls = {number: sum(c.kernel_calls for c in costs.values()) for number, costs in self.chunks.items()}
        picked |= self.highest(kernel_calls, in_kernel.kernel_calls if in_kernel else 0, share)
        return sorted(picked)

    def highest(self, values: dict[int, int], above: int, most: int) -> set[int]:
        """Chunks not opened yet."""
        open_ones = [number for number, value in values.items() if value > above and number not in self.opened]
        return set(sorted(open_ones, key=lambda number: -values[number])[:most])

    def at_most(self, kind: str) -> int:
        """No call of this kind took more instructions."""
        known = self.worst(kind)
        return max([known.instructions if known else 0, *self.room(kind).values()])


def room_in(cost: Cost, seen: list[int], least: int) -> int:
    """A chunk that was opened has room only where its calls took less, alone, than they had taken together."""
    if not seen:
        return cost.instructions - max(cost.calls - 1, 0) * least
    missing = cost.instructions - sum(seen)
    return max(seen) + missing if missing > 0 else 0


def find_worst(run: Runner) -> Search:
    """Runs the program once for the sums, then up to RUNS times for single calls."""
    search = Search({int(dump.title.split()[1]): dump.costs for dump in run(())})
    for _ in range(RUNS):
        chunks = search.suspects()
        if not chunks:
            break
        search.opened.update(chunks)
        search.calls.update((call.number, call) for call in map(call_of, run(chunks)))
    return search


# ---- the pass ----

def worst_pass(
    context: Context, benchmarks: list[Benchmark], allocators: list[Allocator], recorder: Recorder, progress: Progress
) -> None:
    rows = [one for one in benchmarks if can_be_searched(one)]
    if shutil.which(VALGRIND) is None or not all(worst_build(one).is_file() for one in rows):
        progress.say(f"hakmem: the worst calls are left out: {VALGRIND} was missing (apt-get install {VALGRIND}; make)")
        return
    progress.begin("worst calls", len(rows) * len(allocators))
    for benchmark in rows:
        for allocator in allocators:
            progress.step(f"{benchmark.name} on {allocator.name}")
            try:
                recorder.add(*worst_metrics(context, benchmark, allocator))
            except Refusal as refusal:
                progress.say(f"hakmem: no worst calls of {benchmark.name} on {allocator.name}: {refusal}")


def can_be_searched(benchmark: Benchmark) -> bool:
    """Threads take turns as they like, and some groups follow the clock: the k-th call is another one in the next run."""
    return benchmark.program is not None and benchmark.threads == 1 and benchmark.group not in FOLLOW_THE_CLOCK


def worst_calls(context: Context, benchmark: Benchmark, allocator: Allocator) -> Search:
    """Raises a Refusal when the program does not end as it should, or is served by something else."""
    program = worst_build(benchmark)

    def run(chunks: Sequence[int]) -> Iterator[Dump]:
        out = context.scratch / "callgrind"
        out.unlink(missing_ok=True)
        command = command_of(context, benchmark, "--repetitions", "1", program=program)
        settings = ["LD_BIND_NOW=1", *([f"HAK_BENCH_CHUNKS={','.join(map(str, chunks))}"] if chunks else [])]
        checked_run(context, ["env", *settings, *CALLGRIND, f"--callgrind-out-file={out}", *command], allocator)
        with out.open(encoding="utf-8", errors="replace") as lines:
            yield from read_dumps(lines)
        out.unlink()

    return find_worst(run)


def worst_build(benchmark: Benchmark) -> Path:
    """Only made where valgrind's headers are installed."""
    program = benchmark.program or Path()
    return program.with_name(program.name + "_worst")


def checked_run(context: Context, command: list[str], allocator: Allocator) -> None:
    done = run_proven(context, command, allocator)
    if done.trouble is None:
        return
    if done.trouble.startswith(SERVED_BY):
        raise NotProven(f"under callgrind: {done.trouble}")
    raise Refusal(f"under callgrind: {done.trouble}", 1)


def worst_metrics(context: Context, benchmark: Benchmark, allocator: Allocator) -> list[Metric]:
    """The worst calls of a benchmark that can_be_searched."""
    search = worst_calls(context, benchmark, allocator)
    figures = [*kernel_figures(search), *(figure for kind in KINDS for figure in kind_figures(search, kind))]
    return [Metric(benchmark.name, allocator.name, 0, name, float(value), unit) for name, value, unit in figures]


def kernel_figures(search: Search) -> Iterator[tuple[str, int, str]]:
    worst = search.worst_in_kernel()
    if worst:
        yield "worst_kernel_calls", worst.kernel_calls, "calls"


def kind_figures(search: Search, kind: str) -> Iterator[tuple[str, int, str]]:
    worst, quiet = search.worst(kind), search.worst_quiet(kind)
    if worst is None:
        return
    yield f"worst_{kind}_instructions", worst.instructions, "instructions"
    yield f"worst_{kind}_at_most", search.at_most(kind), "instructions"
    yield f"worst_{kind}_number", worst.number, "number"
    yield f"worst_{kind}_bytes", worst.bytes, "bytes"
    if quiet:
        yield f"worst_{kind}_instructions_outside_kernel", quiet.instructions, "instructions"
