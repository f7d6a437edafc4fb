# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ratios with intervals, verdicts that survive many rows, geometric means and percentiles: numbers in, numbers out.

A verdict is a one-sample t-test on the trimmed mean of the per-round log ratios (Tukey and McLaughlin 1963): two
extreme rounds of ten on each side cannot make it. It is asked whether the ratio lies beyond a dead band of 1 %, and the
answers of all rows of a comparison are corrected together (Holm 1979).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray
from scipy import stats

from hakmem_lab.bench.budget import FEWEST_ROUNDS

Numbers = NDArray[np.float64]

DEAD_BAND = log(1.01)
ERROR_LEVEL = 0.05
CONFIDENCE = 0.95
TRIMMED_SHARE = 0.2
RESAMPLES = 10_000
SEED = 1963

FASTER = "faster"
SLOWER = "slower"
SAME = "no difference"
UNJUDGED = "too few rounds"
DISTURBED = "disturbed"  # too few rounds that nothing disturbed

PERCENTILES = (50.0, 95.0, 99.0, 99.9)
PICOSECONDS = 1000  # in a nanosecond: the histogram counts whole numbers
LONGEST_CALL = 10**15  # picoseconds: 1,000 s


def geometric_mean(values: Iterable[float]) -> float:
    logs = [log(value) for value in values]
    return exp(sum(logs) / len(logs))


# ---- intervals ----

@dataclass(frozen=True)
class Ratio:
    """A ratio of medians and its 95 % interval; no interval below five rounds."""

    value: float
    low: float | None = None
    high: float | None = None


def ratio_of_medians(ours: Sequence[float] | Numbers, theirs: Sequence[float] | Numbers) -> Ratio:
    """`ours` and `theirs` are figures of the same rounds: rounds are drawn again, not single figures."""
    value = float(median_ratio(ours, theirs))
    if len(ours) < FEWEST_ROUNDS:
        return Ratio(value)
    drawn = stats.bootstrap(
        (np.asarray(ours), np.asarray(theirs)), median_ratio, paired=True, vectorized=True, n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE, method="percentile", rng=np.random.default_rng(SEED),
    )
    return Ratio(value, float(drawn.confidence_interval.low), float(drawn.confidence_interval.high))


def median_ratio(ours: Sequence[float] | Numbers, theirs: Sequence[float] | Numbers, axis: int = -1) -> Numbers:
    return np.asarray(np.median(ours, axis=axis) / np.median(theirs, axis=axis))


# ---- verdicts ----

def verdicts(rows: Sequence[tuple[Numbers, Numbers]]) -> list[str]:
    """One verdict per row of (ours, theirs) on the first of each pair; rows with too few rounds do not count."""
    logs = [np.log(np.asarray(ours) / np.asarray(theirs)) for ours, theirs in rows]
    judged = [number for number, one in enumerate(logs) if len(one) >= FEWEST_ROUNDS]
    adjusted = holm([min(p_above(logs[n], DEAD_BAND), p_above(-logs[n], DEAD_BAND)) for n in judged])
    answer = [UNJUDGED] * len(rows)
    for number, p in zip(judged, adjusted):
        answer[number] = direction(logs[number]) if p <= ERROR_LEVEL else SAME
    return answer


def disturbed_or(verdict: str, rounds: int) -> str:
    """So many rounds were made; the verdict is of those that nothing disturbed."""
    return DISTURBED if verdict == UNJUDGED and rounds >= FEWEST_ROUNDS else verdict


def direction(logs: Numbers) -> str:
    return SLOWER if stats.trim_mean(logs, TRIMMED_SHARE) > 0 else FASTER


def p_above(values: Numbers, bound: float) -> float:
    """How likely a trimmed mean so far above `bound` is when the true one is not above it."""
    distance = float(stats.trim_mean(values, TRIMMED_SHARE)) - bound
    error = trimmed_mean_error(values)
    if error == 0:
        return 0.0 if distance > 0 else 1.0
    return float(stats.t.sf(distance / error, kept(len(values)) - 1))


def trimmed_mean_error(values: Numbers) -> float:
    """Standard error of the trimmed mean, from the winsorized deviation."""
    winsorized = np.asarray(stats.mstats.winsorize(values, (TRIMMED_SHARE, TRIMMED_SHARE)))
    return float(np.std(winsorized, ddof=1) / ((1 - 2 * TRIMMED_SHARE) * sqrt(len(values))))


def kept(rounds: int) -> int:
    return rounds - 2 * int(TRIMMED_SHARE * rounds)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values: the smallest times their number, the next times one less, never falling."""
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for place, number in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, p_values[number] * (len(p_values) - place)))
        adjusted[number] = highest
    return adjusted


# ---- latency ----

@dataclass(frozen=True)
class Latency:
    """Nanoseconds that a share of the calls stays below."""

    p50: float
    p95: float
    p99: float
    p999: float
    longest: float

    def __post_init__(self) -> None:
        assert self.p50 <= self.p95 <= self.p99 <= self.p999 <= self.longest, f"percentiles fall: {self}"


def histogram_of(buckets: Iterable[tuple[float, int]]) -> HdrHistogram:
    """From (nanoseconds, calls)."""
    histogram = HdrHistogram(1, LONGEST_CALL, 3)
    for ns, count in buckets:
        histogram.record_value(max(1, round(ns * PICOSECONDS)), int(count))
    return histogram


def latency_of(buckets: Iterable[tuple[float, int]]) -> Latency:
    histogram = histogram_of(buckets)
    at = histogram.get_percentile_to_value_dict(list(PERCENTILES))
    p50, p95, p99, p999 = (at[percentile] / PICOSECONDS for percentile in PERCENTILES)
    return Latency(p50, p95, p99, p999, histogram.get_max_value() / PICOSECONDS)
