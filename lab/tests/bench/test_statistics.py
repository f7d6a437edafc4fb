# SPDX-License-Identifier: MIT OR Apache-2.0
"""Verdicts, intervals, corrections and percentiles: right by hand, and right in simulated noise."""

from __future__ import annotations

import unittest

import numpy as np
from scipy import stats

from hakmem_lab.bench.statistics import (
    FASTER,
    SAME,
    SLOWER,
    UNJUDGED,
    Latency,
    geometric_mean,
    holm,
    latency_of,
    p_above,
    ratio_of_medians,
    verdicts,
)

ROWS = 60
ROUNDS = 10
NOISE = 0.01


def runs(random: np.random.Generator, factor: float = 1.0, rounds: int = ROUNDS) -> np.ndarray:
    return 100 * factor * np.exp(random.normal(0, NOISE, rounds))


class Verdicts(unittest.TestCase):
    def test_the_same_allocator_twice_shows_no_difference(self) -> None:
        random = np.random.default_rng(1)
        for _ in range(20):
            answers = verdicts([(runs(random), runs(random)) for _ in range(ROWS)])
            self.assertGreaterEqual(answers.count(SAME), 0.95 * ROWS)

    def test_five_percent_are_found_among_sixty_rows(self) -> None:
        random = np.random.default_rng(2)
        seeds = 30
        found = {SLOWER: 0, FASTER: 0}
        for _ in range(seeds):
            rows = [(runs(random), runs(random)) for _ in range(ROWS - 2)]
            answers = verdicts([(runs(random, 1.05), runs(random)), (runs(random), runs(random, 1.05)), *rows])
            found[SLOWER] += answers[0] == SLOWER
            found[FASTER] += answers[1] == FASTER
        self.assertGreaterEqual(found[SLOWER], 0.8 * seeds)
        self.assertGreaterEqual(found[FASTER], 0.8 * seeds)

    def test_half_a_percent_lies_within_the_dead_band(self) -> None:
        same = np.full(ROUNDS, 100.0)
        self.assertEqual(verdicts([(same * 1.005, same), (same * 1.02, same), (same, same * 1.02)]),
                         [SAME, SLOWER, FASTER])

    def test_two_wild_rounds_make_no_verdict(self) -> None:
        random = np.random.default_rng(3)
        wild = runs(random)
        wild[:2] *= 5
        self.assertEqual(verdicts([(wild, runs(random))]), [SAME])

    def test_fewer_than_five_rounds_are_not_judged(self) -> None:
        few = np.array([1.0, 1.0, 1.0, 1.0])
        self.assertEqual(verdicts([(few * 2, few), (np.ones(5) * 2, np.ones(5))]), [UNJUDGED, SLOWER])

    def test_no_rows(self) -> None:
        self.assertEqual(verdicts([]), [])

    def test_trimmed_t_by_hand(self) -> None:
        """1 to 10: trimmed mean 5.5 of 3..8; winsorized 3 3 3 4 5 6 7 8 8 8 has the variance 42.5/9."""
        values = np.arange(1.0, 11.0)
        error = (42.5 / 9) ** 0.5 / (0.6 * 10**0.5)
        self.assertAlmostEqual(p_above(values, 3.0), float(stats.t.sf(2.5 / error, 5)), places=12)


class Corrections(unittest.TestCase):
    def test_holm_by_hand(self) -> None:
        """0.005 x 4; 0.01 x 3; 0.03 x 2; 0.04 x 1 would fall below 0.06."""
        for adjusted, expected in zip(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02]):
            self.assertAlmostEqual(adjusted, expected)

    def test_never_above_one(self) -> None:
        self.assertEqual(holm([0.9, 0.8]), [1.0, 1.0])


class Intervals(unittest.TestCase):
    def test_cover_the_true_ratio(self) -> None:
        random = np.random.default_rng(4)
        seeds = 150
        drawn = [ratio_of_medians(runs(random, 1.1), runs(random)) for _ in range(seeds)]
        covering = sum(one.low <= 1.1 <= one.high for one in drawn)
        self.assertGreaterEqual(covering, 0.9 * seeds)

    def test_around_the_ratio_and_the_same_each_time(self) -> None:
        random = np.random.default_rng(5)
        ours, theirs = runs(random, 0.9), runs(random)
        once, again = ratio_of_medians(ours, theirs), ratio_of_medians(ours, theirs)
        self.assertEqual(once, again)
        self.assertEqual(once.value, float(np.median(ours) / np.median(theirs)))
        self.assertLessEqual(once.low, once.value)
        self.assertGreaterEqual(once.high, once.value)

    def test_none_of_a_few_rounds(self) -> None:
        self.assertIsNone(ratio_of_medians([1.0, 2.0], [1.0, 2.0]).low)

    def test_geometric_mean(self) -> None:
        self.assertAlmostEqual(geometric_mean([0.5, 2.0, 8.0]), 2.0)


class Latencies(unittest.TestCase):
    def test_percentiles_of_known_calls(self) -> None:
        found = latency_of([(20.0, 950), (40.0, 40), (400.0, 9), (5000.0, 1)])
        for value, expected in zip((found.p50, found.p95, found.p99, found.p999, found.longest),
                                   (20.0, 20.0, 40.0, 400.0, 5000.0)):
            self.assertAlmostEqual(value, expected, delta=expected / 500)

    def test_rising_in_any_histogram(self) -> None:
        random = np.random.default_rng(6)
        for _ in range(50):
            tops = np.sort(random.uniform(1, 1e6, 30))
            latency_of(zip(tops, random.integers(1, 1000, 30)))

    def test_falling_percentiles_are_refused(self) -> None:
        with self.assertRaises(AssertionError):
            Latency(20.0, 10.0, 30.0, 40.0, 50.0)


if __name__ == "__main__":
    unittest.main()
