"""How much free memory an allocator keeps and what it costs: what the rows of bench/kept_*.c say, line by line.

The figures are those that the programs print, and the peak that the runner sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hakmem.bench.comeback import KEPT, Figures, figures, ratios, rows_of

if TYPE_CHECKING:
    from hakmem.bench.results import Results

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
    ("faults_per_period", "page faults a period", 1),
    ("cpu_per_period_ns", "CPU a period, ms", 1e6),
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


def kept_lines(results: Results) -> Iterator[Line]:
    for row in rows_of(results, KEPT):
        for metric, text, divisor in PLAIN:
            yield row, text, figures(results, metric, row), divisor
        for metric, base, text in DIVIDED:
            yield row, text, ratios(figures(results, metric, row), figures(results, base, row)), 1
        yield row, "peak RSS / most live", times_most_live(results, row), 1


def times_most_live(results: Results, benchmark: str) -> Figures:
    peaks = {name: kib for (row, name), kib in results.peak_rss.items() if row == benchmark}
    return ratios(peaks, figures(results, MOST_LIVE, benchmark))
