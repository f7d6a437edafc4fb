# SPDX-License-Identifier: MIT OR Apache-2.0
"""The verdict of a soak: growth is told, noise is not."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from soak import MIB, Round, complaints, drift_of  # noqa: E402


def rounds(rss: list[float], maps: list[int]) -> list[Round]:
    return [Round(n + 1, each * MIB, count, 0, 0, 0) for n, (each, count) in enumerate(zip(rss, maps, strict=True))]


class Verdict(unittest.TestCase):
    def test_the_first_tenth_does_not_count(self) -> None:
        drift = drift_of([1.0] * 3 + [100.0] * 27)
        self.assertEqual((drift.first, drift.last, drift.growth), (100, 100, 0))

    def test_steady_figures_pass_with_their_noise(self) -> None:
        noisy = [200 + (n * 7919 % 13) for n in range(60)]
        self.assertEqual(complaints(rounds(noisy, [120 + n % 5 for n in range(60)]), 0.01), [])

    def test_two_percent_of_growth_is_told(self) -> None:
        growing = [200 * (1 + 0.03 * n / 60) for n in range(60)]
        self.assertRegex(complaints(rounds(growing, [120] * 60), 0.01)[0], r"^RSS grew by 1\.\d+%")

    def test_mappings_that_grow_are_told(self) -> None:
        found = complaints(rounds([200] * 60, [200 + 20 * n for n in range(60)]), 0.01)
        self.assertRegex(found[0], r"^mappings grew from \d+ to \d+$")


if __name__ == "__main__":
    unittest.main()
