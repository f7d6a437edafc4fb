# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables of what was counted beside the time: memory, latency, system calls, instructions, the worst single call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hakmem.process.peers import HAKMEM
from hakmem_lab.bench import comeback
from hakmem_lab.bench.comeback import DAYNIGHT, FRAG, IDLE, SURVIVE, figures, rows_of
from hakmem_lab.bench.judge import MEMORY_GROUPS
from hakmem_lab.bench.results import Pair, Results
from hakmem_lab.bench.retain import REPLACEMENTS_PER_SECOND, Line, retain_lines
from hakmem_lab.bench.sheets import BAD, BEST, FAINT, GOOD, Cell, Sheet
from hakmem_lab.bench.statistics import Latency, latency_of

KIBI = 1024
UNITS = ((1e4, 1, "ns"), (1e7, 1e3, "µs"), (1e10, 1e6, "ms"), (float("inf"), 1e9, "s"))
Call = tuple[str, str, str]  # benchmark, malloc or free, allocator

# Names of metrics, as the passes write them.
PARAMETER = "parameter"  # their unit
SYSTEM_CALLS, BY_NAME = "syscalls_per_op", "syscalls_per_op_"
INSTRUCTIONS = "instructions_per_op"
SHORTEST = "ns_best"
COUNTER_COST = "latency_counter_cost_ns"
SERVED = "twin_served_percent"
WORST = "worst_"
WORST_DETAILS = ("_at_most", "_number", "_bytes")
OWN_TABLES = (BY_NAME, WORST, "latency_", "twin_", "limit_")

SWITCHES = {"voluntary_switches": "context switches, voluntary", "involuntary_switches": "context switches, forced"}
FAULTS = {"minor_faults": "page faults, minor", "major_faults": "page faults, major"}
TIMES = {"user_us": "user time, ms", "system_us": "system time, ms"}


# ---- numbers as text ----

def three_digits(value: float) -> str:
    if value >= 100 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def unit_for(values: list[float]) -> tuple[float, str]:
    """One unit for a whole row, by its smallest figure."""
    smallest = min(values, default=0.0)
    return next((divisor, unit) for limit, divisor, unit in UNITS if smallest < limit)


def least_bold(values: Iterable[float | None], divisor: float = 1, bold: bool = True) -> Iterator[Cell]:
    """A row of figures; nothing is bold where all are alike, or where less is not better."""
    figures = list(values)
    known = [value for value in figures if value is not None]
    least = min(known) if bold and len(set(known)) > 1 else None
    for value in figures:
        if value is None:
            yield Cell("–", FAINT)
        else:
            yield Cell(three_digits(value / divisor), BEST if value == least else "")


# ---- figures by benchmark and allocator ----

def pair_sheet(results: Results, title: str, figures: Mapping[Pair, float], note: str = "", divisor: float = 1,
               folded: bool = True) -> Sheet:
    rows = [[Cell(benchmark), *least_bold((figures.get((benchmark, name)) for name in results.allocators), divisor)]
            for benchmark in results.group_of if any((benchmark, name) in figures for name in results.allocators)]
    return Sheet(title, [title, *results.allocators], rows, note=note, folded=folded)


def named_rows(results: Results, title: str, metrics: Mapping[str, str], bold: bool = True,
               folded: bool = True) -> Sheet:
    """Several metrics (name -> what to call it) in one table, a row for each with each benchmark."""
    rows = [[Cell(benchmark), Cell(text), *least_bold((results.metric(name).get((benchmark, one))
                                                       for one in results.allocators), bold=bold)]
            for benchmark in results.group_of for name, text in metrics.items()
            if any((benchmark, one) in results.metric(name) for one in results.allocators)]
    return Sheet(title, [title, "", *results.allocators], rows, words=2, folded=folded)


def metric_title(results: Results, name: str) -> str:
    words = name.replace("_per_op", " per operation").replace("_", " ")
    unit = results.metric_units[name]
    ending = f" {unit.lower()}"
    if words.endswith(ending):
        return f"{words.removesuffix(ending)}, {unit}"
    return words if not unit or unit in words or (unit == "%" and "percent" in words) else f"{words}, {unit}"


# ---- memory ----

def memory_sheets(results: Results) -> list[Sheet]:
    heavy = [name for name, group in results.group_of.items() if group in MEMORY_GROUPS]
    return [
        pair_sheet(results, "peak RSS, MiB", part(results.peak_rss, heavy, True), divisor=KIBI, folded=False,
                   note="Median of the runs; the largest process where a program starts others."),
        named_rows(results, "reported by the rows", reported(results), bold=False, folded=False),
        pair_sheet(results, "peak RSS of small patterns, MiB", part(results.peak_rss, heavy, False), divisor=KIBI),
        pair_sheet(results, "RSS at the end, MiB", results.median("final_rss_kib"), divisor=KIBI),
    ]


def part(figures: Mapping[Pair, float], benchmarks: list[str], inside: bool) -> dict[Pair, float]:
    chosen = set(benchmarks)
    return {pair: value for pair, value in figures.items() if (pair[0] in chosen) == inside}


def reported(results: Results) -> dict[str, str]:
    """What no pass writes, but the benchmark programs themselves."""
    return {name: metric_title(results, name) for name in results.metric_medians
            if not name.startswith(OWN_TABLES) and name not in (SYSTEM_CALLS, INSTRUCTIONS, SHORTEST)
            and results.metric_units[name] != PARAMETER}


# ---- memory that comes back ----

REQUESTS_PER_SECOND = "requests / s, thousand"
MORE_IS_BETTER = (REQUESTS_PER_SECOND, REPLACEMENTS_PER_SECOND)


def comeback_sheets(results: Results) -> list[Sheet]:
    return [
        line_sheet(results, "most of a heap freed", frag_lines(results),
                   "frag, frag_idle_threads: after malloc_trim, or what the library has in its place. frag_waited*: two "
                   "seconds after the last call. *_threads: beside 8 idle threads."),
        line_sheet(results, "day and night", daynight_lines(results)),
        line_sheet(results, "day and night, HAKMEM / peer", daynight_ratios(results), bold=False),
        line_sheet(results, "idle threads", idle_lines(results)),
        line_sheet(results, "redis, RSS", redis_lines(results), "After a fill of values of mixed sizes, after 90 % of "
                   "the keys were deleted, and after two seconds without a request."),
        survival_sheet(results),
        line_sheet(results, "free memory that is kept", retain_lines(results), "most live: the most bytes that were asked "
                   "for at once, as the program counted them."),
    ]


def line_sheet(results: Results, title: str, lines: Iterable[Line], note: str = "", bold: bool = True) -> Sheet:
    rows = [[Cell(benchmark), Cell(text), *least_bold((of.get(name) for name in results.allocators), divisor,
                                                      bold and text not in MORE_IS_BETTER)]
            for benchmark, text, of, divisor in lines if of]
    return Sheet(title, [title, "", *results.allocators], rows, words=2, note=note)


def frag_lines(results: Results) -> Iterator[Line]:
    for row in rows_of(results, FRAG):
        yield row, "RSS, MiB", comeback.resident_after(results, row), KIBI
        yield row, "page floor, MiB", figures(results, "floor_kib", row), KIBI
        yield row, "RSS / page floor", comeback.times_own_floor(results, row), 1
        yield row, "page floor / glibc's", comeback.times_glibc_floor(results, row), 1


def daynight_lines(results: Results) -> Iterator[Line]:
    for row in rows_of(results, DAYNIGHT):
        yield row, "MiB × s", figures(results, "mib_seconds", row), 1
        yield row, "by day", figures(results, "busy_mib_seconds", row), 1
        yield row, "by night", figures(results, "idle_mib_seconds", row), 1
        yield row, "asked for", figures(results, "live_mib_seconds", row), 1
        yield row, REQUESTS_PER_SECOND, figures(results, "operations_per_second", row), 1000


def daynight_ratios(results: Results) -> Iterator[Line]:
    for row in rows_of(results, DAYNIGHT):
        for metric, text in (("mib_seconds", "MiB × s"), ("operations_per_second", "requests / s")):
            of = figures(results, metric, row)
            yield row, text, {name: of[HAKMEM] / value for name, value in of.items() if HAKMEM in of}, 1


def idle_lines(results: Results) -> Iterator[Line]:
    for row in rows_of(results, IDLE):
        yield row, "RSS, MiB", figures(results, "rss_idle_kib", row), KIBI
        yield row, "KiB per thread", figures(results, "idle_kib_per_thread", row), 1
        yield row, "mappings", figures(results, "maps", row), 1


def redis_lines(results: Results) -> Iterator[Line]:
    for metric, text in (("rss_full_kib", "full"), ("rss_deleted_kib", "90 % deleted"), ("rss_idle_kib", "idle")):
        yield "redis", f"{text}, MiB", figures(results, metric, "redis"), KIBI


def survival_sheet(results: Results) -> Sheet:
    title = "within a control group of 256 MiB"
    rows = [[Cell(row), Cell("peak RSS, MiB"), *(survival_cell(results, row, name) for name in results.allocators)]
            for row in rows_of(results, SURVIVE) if figures(results, comeback.SURVIVED, row)]
    return Sheet(title, [title, "", *results.allocators], rows, words=2,
                 note="At most 192 MiB are needed: pages of what survives, and what is allocated beside it.")


def survival_cell(results: Results, row: str, name: str) -> Cell:
    survived = results.metric(comeback.SURVIVED).get((row, name))
    peak = results.metric(comeback.LIMIT_PEAK).get((row, name))
    if survived is None or peak is None:
        return Cell("–", FAINT)
    return Cell(f"lived, {three_digits(peak / KIBI)}", GOOD) if survived else Cell("died", BAD)


# ---- counts ----

def count_sheets(results: Results) -> list[Sheet]:
    """System calls and instructions first, then what the kernel counted in the timed runs."""
    passes = [pair_sheet(results, metric_title(results, name), results.metric(name), folded=False)
              for name in (INSTRUCTIONS, SYSTEM_CALLS) if name in results.metric_medians]
    by_name = {name: name.removeprefix(BY_NAME) for name in results.metric_medians if name.startswith(BY_NAME)}
    kernel = [pair_sheet(results, title, results.median(column)) for column, title in (FAULTS | SWITCHES).items()]
    times = [pair_sheet(results, title, results.median(column), divisor=1000) for column, title in TIMES.items()]
    shortest = pair_sheet(results, "shortest repetition, ns per operation", results.metric(SHORTEST))
    return [*passes, named_rows(results, "system calls per operation, the commonest", by_name), *kernel, *times,
            shortest]


def worst_sheets(results: Results) -> list[Sheet]:
    """The most over all rows first, then row by row."""
    names = [name for name in results.metric_medians if name.startswith(WORST)]
    figures = [name for name in names if not name.endswith(WORST_DETAILS)]
    most = [[Cell(metric_title(results, name)), *least_bold(most_of(results, name))] for name in figures]
    return [Sheet("the most over all rows", ["the most over all rows", *results.allocators], most),
            *(pair_sheet(results, metric_title(results, name), results.metric(name)) for name in names)]


def most_of(results: Results, metric: str) -> Iterator[float | None]:
    for allocator in results.allocators:
        yield max((value for pair, value in results.metric(metric).items() if pair[1] == allocator), default=None)


# ---- latency ----

def latencies(results: Results) -> dict[Call, Latency]:
    grouped = results.buckets.groupby(["benchmark", "call", "allocator"], sort=False)
    return {key: latency_of(zip(rows["ns"], rows["count"])) for key, rows in grouped}


def latency_sheets(results: Results) -> list[Sheet]:
    found = latencies(results)
    pairs = list(dict.fromkeys((benchmark, call) for benchmark, call, _ in found))
    return [Sheet(f"latency of {title}, ns", [f"{title}, ns", "", *results.allocators],
                  [row for benchmark, call in pairs if benchmark in names
                   for row in latency_rows(results, found, benchmark, call)], words=2, folded=True)
            for title, names in results.chapters.items()]


PARTS = (("P50", "p50"), ("P95", "p95"), ("P99", "p99"), ("P99.9", "p999"), ("longest", "longest"))


def latency_rows(results: Results, found: Mapping[Call, Latency], benchmark: str, call: str) -> Iterator[list[Cell]]:
    own = [found.get((benchmark, call, name)) for name in results.allocators]
    for heading, attribute in PARTS:
        figures = (getattr(one, attribute) if one else None for one in own)
        yield [Cell(f"{benchmark}, {call}"), Cell(heading, FAINT), *least_bold(figures)]


def counter_cost(results: Results) -> str:
    costs = results.metric(COUNTER_COST)
    if not costs:
        return ""
    median = sorted(costs.values())[len(costs) // 2]
    return f"Reading the cycle counter costs {median:.1f} ns, which is inside every figure."
