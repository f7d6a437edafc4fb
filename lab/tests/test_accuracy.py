# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab accuracy`: the ranges of a profile hold the truth 19 times in 20, and what makes them too narrow is seen."""

from __future__ import annotations

import unittest
from unittest import mock

from laboratory import lab

from hakmem.reading import estimate
from hakmem_lab.accuracy import heaps
from hakmem_lab.accuracy.held import LIVE, PERIODS, counted, missed


class Accuracy(unittest.TestCase):
    def test_forty_seeds(self) -> None:
        """At 1 MiB, 100 MiB and 10 GiB."""
        ended = lab("accuracy")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)
        rows = [line for line in ended.stdout.splitlines() if line.startswith("| ")]
        self.assertEqual(rows[0].count(" GiB, "), 2)
        for kind in ("live", "live as sampled", "peak", "allocated", "temporary"):
            for part in ("all", "a place", "with callees"):
                self.assertTrue(any(row.startswith(f"| {kind}, {part} |") for row in rows), f"{kind}, {part}")
        for kind in ("growth since a mark", "difference of two runs"):
            self.assertTrue(any(row.startswith(f"| {kind}, a place |") for row in rows), kind)

    def test_heaps_are_as_large_as_they_say(self) -> None:
        for live in LIVE[1:]:
            self.assertAlmostEqual(heaps.truth_of(heaps.blocks_of(live), heaps.NOW) / live, 1, delta=0.01)

    def test_ranges_that_are_too_narrow_are_seen(self) -> None:
        """Of 90 %; and of one block that is told as 1 where it stands for 1.2."""
        with mock.patch.object(estimate, "lowest", narrow(estimate.lowest)), \
                mock.patch.object(estimate, "highest", narrow(estimate.highest)):
            told, held = counted(40, LIVE[1:2], PERIODS)
        self.assertGreater(len(missed(told, held)), 3)
        size, truth, period = 127_800, 100_000, 1 << 16  # one sample
        self.assertLessEqual(estimate.by_whole_samples(size, 1, 1.0, period).seen, truth * 1.01)
        self.assertGreater(as_told(size, 1, 1.0, period).seen, truth * 1.05)


def narrow(bound: object) -> object:
    return lambda *words: bound(*words[:3] if bound.__name__ == "highest" else words[:2], z=1.2)  # type: ignore[operator,attr-defined]


def as_told(size: int, blocks: int, part: float, period: int) -> estimate.Evidence:
    """Without a thought of what the number of blocks was before it was a whole one."""
    each, chance = size / blocks, -estimate.math.expm1(-(part * size / blocks + 16) / period)
    return estimate.Evidence(max(1.0, blocks * chance), blocks * chance * each, blocks * each * each * (1 - chance) / chance)


if __name__ == "__main__":
    unittest.main()
