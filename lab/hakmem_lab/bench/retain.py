# SPDX-License-Identifier: MIT OR Apache-2.0
"""How much free memory an allocator keeps and what it costs: what the rows of bench/kept_*.c and period.c say, line by line.

The figures are those that the programs print, and the peak that the runner sees. Below, the goals of these rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hakmem.process.peers import GLIBC, HAKMEM
from hakmem_lab.bench.comeback import KEPT, Figures, against, at_most, figures, ratios, rows_of
from hakmem_lab.bench.target import Target

if TYPE_CHECKING:
    from hakmem_lab.bench.results import Results

Line = tuple[str, str, Figures, float]  # benchmark, what it is, figures by allocator, divisor
KIBI = 1024
REPLACEMENTS_PER_SECOND = "replacements / s"
MOST_LIVE, FIRST_PAUSE = "most_live_kib", "rss_pause_1_kib"

# Metric, what to call it, divisor.
PLAIN = (
    ("operations_per_second", REPLACEMENTS_PER_SECOND, 1),
    ("neighbours_slowdown", "slow-down of the neighbours", 1),
    ("alone_ns", "ns a pair, alone", 1),
    ("beside_ns", "ns a pair, beside the others", 1),
    ("beside_ratio", "beside / alone", 1),
    ("faults_first_ten", "page faults, first ten periods", 1),
    ("faults_per_period", "page faults a period", 1),
    ("cpu_per_period_ns", "CPU a period, ms", 1e6),
    ("running_mib_seconds", "MiB × s while the periods last", 1),
    ("silent_mib_seconds", "MiB × s in the silence after them", 1),
    *((f"rss_silent_{number}_kib", f"RSS at the end of silent period {number}, MiB", KIBI) for number in (1, 2, 3, 5)),
    (FIRST_PAUSE, "RSS in the first pause, MiB", KIBI),
    ("rss_freed_kib", "RSS when all is freed, MiB", KIBI),
    ("rss_trimmed_kib", "RSS after the trim, MiB", KIBI),
    ("rss_waited_kib", "RSS four seconds later, MiB", KIBI),
)
# Metric, what it is divided by, what to call the ratio.
DIVIDED = (
    ("rss_pause_2_kib", FIRST_PAUSE, "RSS in the second pause / the first"),
    ("rss_pause_3_kib", FIRST_PAUSE, "RSS in the third pause / the first"),
    ("rss_pause_4_kib", FIRST_PAUSE, "RSS in the fourth pause / the first"),
    ("range_kib", MOST_LIVE, "addresses used / most live"),
    ("rss_rest_kib", MOST_LIVE, "RSS between the periods / most live"),
)


def retain_lines(results: Results) -> Iterator[Line]:
    for row in rows_of(results, KEPT):
        for metric, text, divisor in PLAIN:
            yield row, text, figures(results, metric, row), divisor
        for metric, base, text in DIVIDED:
            yield row, text, ratios(figures(results, metric, row), figures(results, base, row)), 1
        yield row, "peak RSS / most live", times_most_live(results, row), 1


def times_most_live(results: Results, benchmark: str) -> Figures:
    peaks = {name: kib for (row, name), kib in results.peak_rss.items() if row == benchmark}
    return ratios(peaks, figures(results, MOST_LIVE, benchmark))


# ---- targets ----

SLOTS = "kept_slots"
PRICE, BALANCED = "HAKMEM_PRICE", "balanced"
# Peak RSS / most live, at most, and replacements a second / the best peer's, at least, by price; with one slot, always.
SLOT_GOALS = {"lean": (1.10, 0.12), BALANCED: (1.35, 0.60), "speed": (1.50, 0.85)}
ONE_SLOT_GOALS = (1.30, 0.95)
ALIGNED_GOAL = IDLE_GOAL = PAUSE_GOAL = FAULT_GOAL = 1.10
NEW_THREAD_GOAL = 1.20
# Where no peer that uses as little memory may be faster.
CROWDED = ("kept_slots_2x2_20_8t", "kept_beside")


def retain_targets(results: Results) -> list[Target]:
    rows = [row for row in rows_of(results, KEPT) if row.startswith(SLOTS) and row not in CROWDED]
    one = [row for row in rows if row.startswith(f"{SLOTS}_1x")]
    price = results.machine.get("environment", {}).get(PRICE) or BALANCED
    found = [*crowd_targets(results), *ratio_targets(results), *idle_thread_targets(results), *period_targets(results)]
    if price not in SLOT_GOALS:
        return found
    many = [row for row in rows if row not in one]
    return [*slot_targets(results, f"{SLOTS}, {price}", many, *SLOT_GOALS[price]),
            *slot_targets(results, f"{SLOTS}, {price}, one slot", one, *ONE_SLOT_GOALS), *found]


def slot_targets(results: Results, text: str, rows: list[str], most: float, least: float) -> Iterator[Target]:
    peaks = {row: peak for row in rows if (peak := times_most_live(results, row).get(HAKMEM))}
    if peaks:
        row = max(peaks, key=peaks.__getitem__)
        yield at_most(f"{text}: peak RSS / most live", peaks[row], most, detail=row)
    speeds = {row: of for row in rows if (of := beside_best(figures(results, "operations_per_second", row)))}
    if speeds:
        row = min(speeds, key=lambda name: speeds[name][0])
        yield at_least(f"{text}: replacements / s, best peer", *speeds[row], least, row)


def beside_best(of: Figures) -> tuple[float, str] | None:
    """HAKMEM's figure over the largest of the peers, and whose that is."""
    peers = {name: value for name, value in of.items() if name != HAKMEM}
    best = max(peers, key=peers.__getitem__, default=None)
    return (of[HAKMEM] / peers[best], best) if best and HAKMEM in of else None


def at_least(text: str, ratio: float, peer: str, goal: float, detail: str = "") -> Target:
    return Target(text, f"{ratio:.3f} of {peer}", f"≥ {goal:.2f}", ratio >= goal, detail)


def crowd_targets(results: Results) -> Iterator[Target]:
    for row in CROWDED:
        peaks = {name: kib for (of, name), kib in results.peak_rss.items() if of == row}
        lean = as_lean(figures(results, "operations_per_second", row), peaks)
        if found := beside_best(lean):
            yield at_least(f"{row}: replacements / s, best peer as lean", *found, 1)


def as_lean(of: Figures, memory: Figures) -> Figures:
    """Without the peers that use more memory than HAKMEM."""
    most = memory.get(HAKMEM, 0)
    return {name: value for name, value in of.items() if memory.get(name, most) <= most}


def ratio_targets(results: Results) -> Iterator[Target]:
    for row in rows_of(results, KEPT):
        first = figures(results, FIRST_PAUSE, row)
        pauses = [ratios(figures(results, f"rss_pause_{n}_kib", row), first).get(HAKMEM) for n in (2, 3, 4)]
        beside = figures(results, "beside_ratio", row).get(HAKMEM)
        spread = ratios(figures(results, "range_kib", row), figures(results, MOST_LIVE, row)).get(HAKMEM)
        if known := [ratio for ratio in pauses if ratio]:
            yield at_most(f"{row}: RSS in a pause / in the first", max(known), PAUSE_GOAL)
        if beside:
            yield at_most(f"{row}: a pair beside 200 threads / alone", beside, NEW_THREAD_GOAL)
        if spread:
            yield at_most(f"{row}: addresses used / most live", spread, ALIGNED_GOAL)
            yield at_most(f"{row}: peak RSS / most live", times_most_live(results, row)[HAKMEM], ALIGNED_GOAL)


def idle_thread_targets(results: Results) -> Iterator[Target]:
    trimmed = figures(results, "rss_trimmed_kib", "kept_idle_threads")
    waited = figures(results, "rss_waited_kib", "kept_idle_threads_waited")
    for text, of in (("after the trim", trimmed), ("four seconds later, without", waited)):
        if HAKMEM in of and trimmed.get(GLIBC):
            ratio = of[HAKMEM] / trimmed[GLIBC]
            yield at_most(f"kept_idle_threads: RSS {text} / glibc's after the trim", ratio, IDLE_GOAL)


def period_targets(results: Results) -> Iterator[Target]:
    for row in rows_of(results, KEPT):
        memory = figures(results, "rss_rest_kib", row)
        for metric, text in (("faults_per_period", "page faults"), ("cpu_per_period_ns", "CPU")):
            of = as_lean(figures(results, metric, row), memory) if memory else {}
            peers = [name for name in of if name != HAKMEM]
            if peers and HAKMEM in of:
                best = min(peers, key=of.__getitem__)
                yield at_most(f"{row}: {text}, best peer as lean", against(of, best) or 0, FAULT_GOAL, best)
