# SPDX-License-Identifier: MIT OR Apache-2.0
"""Profiles that are scaled to the sum that the library counted (hakmem.reading.scale), by simulated heaps."""

from __future__ import annotations

import math
import random
import unittest
from typing import Any

from test_profile import made

from hakmem.reading.estimate import NOW, Evidence, evidence_of, range_of, size_about, sum_of, whole_evidence
from hakmem.reading.pprof import Profile
from hakmem.reading.scale import hindrance, moved, scale_of, scaled, unscaled
from hakmem.reading.table_file import FROM_FIRST, TILL_END


def drawn(count: int, share: float, chance: random.Random) -> int:
    """How many of so many are sampled: from one that is to the next."""
    found, at, odds = 0, -1, math.log1p(-share) if share < 1 else -math.inf
    while (at := at + 1 + int(math.log(1 - chance.random()) / odds)) < count:
        found += 1
    return found


class Scaled(unittest.TestCase):
    """Figures that are moved to the sum that was counted."""

    PERIOD = 1 << 16
    HEAPS = (  # by place: bytes of a block and how many there are
        (((500, 8000),),) * 5,
        (((300, 60000),), *(((300, 700),),) * 4),
        (((4 << 20, 5),), ((1000, 3000),), ((100, 9000),)),
        (((100000, 30),), ((50000, 40),), ((200000, 9),), ((30000, 60),)),
        (((64, 20000), (70000, 5)), ((1000, 900),), ((500000, 3), (16, 5000)), ((4096, 300),), ((2 << 20, 1),)),
        (((64, 60000),), ((60000, 60),)),
    )

    def sampled(self, heap: tuple[Any, ...], chance: random.Random, counted: int = 0, more: tuple[str, ...] = (FROM_FIRST,),
                lost: int = 0) -> tuple[Any, list[int]]:
        """A stack for each place, and the truth of each."""
        profile, parts = made(*(([n], [0, 0, 0, 0]) for n in range(1, len(heap) + 1))), []
        profile.period = self.PERIOD
        for place, sample in zip(heap, profile.sample):
            blocks = size = variance = 0.0
            found = seen = 0
            for each, count in place:
                share = -math.expm1(-(each + 16) / self.PERIOD)
                n = drawn(count, share, chance)
                found, seen, blocks, size = found + n, seen + n * each, blocks + n / share, size + n * each / share
                variance += n * each * each * (1 - share) / share ** 2
            sample.value[:] = [round(value) for value in (blocks, size) * 2]
            parts.append(f" {found} {seen} {round(variance / self.PERIOD)};")
        truths = [sum(each * count for each, count in place) for place in heap]
        texts = (f"hakmem: pid 1, 9 blocks sampled, 9 of them live, {lost} lost",
                 f"hakmem: bytes in use, counted: {counted or sum(truths)}", f"#hakmem samples:{''.join(parts)}", *more)
        for text in texts:
            profile.string_table.append(text)
            profile.comment.append(len(profile.string_table) - 1)
        return profile, truths

    def test_it_is_nearer_to_the_truth_and_the_range_has_it(self) -> None:
        """Each place of each heap: in 19 of 20, and no further off than as sampled, but for chance."""
        chance, runs = random.Random(7), 300
        for heap in self.HEAPS:
            inside, off = [0] * len(heap), [[0.0, 0.0] for _ in heap]
            for _ in range(runs):
                profile, truths = self.sampled(heap, chance)
                before = [sample.value[3] for sample in profile.sample]
                self.assertIsNone(hindrance(profile, NOW))
                scaled(profile)
                self.assertAlmostEqual(sum(sample.value[3] for sample in profile.sample), sum(truths), delta=len(heap))
                for n, (sample, each) in enumerate(zip(profile.sample, evidence_of(profile))):
                    low, high = range_of(sample.value[3], each, self.PERIOD)
                    self.assertTrue(low <= sample.value[3] <= high)
                    inside[n] += low * 0.999 <= truths[n] <= high * 1.001
                    off[n][0] += (before[n] - truths[n]) ** 2
                    off[n][1] += (sample.value[3] - truths[n]) ** 2
            with self.subTest(heap=heap):
                self.assertGreaterEqual(min(inside), 0.92 * runs)
                for one, other in off:
                    self.assertLessEqual(other, 1.15 * one + runs)
                self.assertLess(sum(each[1] for each in off), 0.97 * sum(each[0] for each in off))

    def test_a_range_of_one_place_ends_where_all_others_begin(self) -> None:
        profile, truths = self.sampled(self.HEAPS[0], random.Random(3))
        found = evidence_of(scaled(profile))
        sizes = [sample.value[3] for sample in profile.sample]
        low, high = range_of(sizes[0], found[0], self.PERIOD)
        rest = range_of(sum(sizes[1:]), sum_of(found[1:]), self.PERIOD)
        self.assertAlmostEqual(low + rest[1], sum(sizes), delta=2)
        self.assertAlmostEqual(high + rest[0], sum(sizes), delta=2)
        whole = whole_evidence(profile)
        self.assertEqual(range_of(sum(sizes), whole, self.PERIOD), (sum(sizes), sum(sizes)))
        self.assertEqual(size_about(sum(sizes), whole, self.PERIOD), "19.1 MiB")

    def test_what_was_sampled_itself_stays(self) -> None:
        profile, _ = self.sampled(self.HEAPS[2], random.Random(4))
        scaled(profile)
        self.assertEqual([profile.sample[0].value[n] for n in (2, 3)], [5, 5 * (4 << 20)])

    def test_a_place_does_not_fall_below_what_was_seen(self) -> None:
        evidence = [Evidence(1, 900, 100.0), Evidence(1, 10, 100.0), Evidence(0, 0, 0.0)]
        self.assertEqual(moved([1000, 1000, 0], evidence, 1500), [900, 600, 0])

    def test_it_can_be_undone_and_is_done_once(self) -> None:
        profile, _ = self.sampled(self.HEAPS[4], random.Random(5))
        raw, once = profile.SerializeToString(), scaled(profile).SerializeToString()
        self.assertEqual(scaled(profile).SerializeToString(), once)
        self.assertIsNotNone(scale_of(profile, NOW))
        unscaled(profile)
        before = Profile()
        before.ParseFromString(raw)
        self.assertEqual((list(profile.sample), list(profile.comment)), (list(before.sample), list(before.comment)))
        self.assertIsNone(scale_of(profile, NOW))

    def test_where_blocks_may_be_missing_it_is_not_done(self) -> None:
        heap, small = self.HEAPS[0], (((500, 400),),)
        total = sum(size * count for place in heap for size, count in place)
        for profile, said in (
            (self.sampled(heap, random.Random(1), more=())[0], "blocks may be older than the sampling, or from while"),
            (self.sampled(heap, random.Random(1), lost=3)[0], "3 samples were lost"),
            (self.sampled(heap, random.Random(1), more=(FROM_FIRST, TILL_END))[0], "blocks were freed between the count and"),
            (self.sampled(heap, random.Random(1), counted=2 * total)[0], "it is not what the samples stand for"),
            (self.sampled(small, random.Random(1))[0], "there are fewer than ten samples"),
        ):
            text = profile.SerializeToString()
            self.assertIn(said, hindrance(profile, NOW) or "")
            self.assertEqual(scaled(profile).SerializeToString(), text)
        exact, _ = self.sampled(heap, random.Random(1))
        exact.period = 1
        self.assertEqual(hindrance(exact, NOW), "")

    def test_blocks_that_are_all_sampled_are_exact(self) -> None:
        """Much larger than the period; the counters know small blocks besides, so nothing is missing in the samples."""
        sure, truths = self.sampled((((64 << 20, 20),),), random.Random(1), counted=20 * (64 << 20) + 70_000)
        self.assertEqual(truths, [20 * (64 << 20)])
        text = sure.SerializeToString()
        self.assertEqual(hindrance(sure, NOW), "")
        self.assertEqual(scaled(sure).SerializeToString(), text)


if __name__ == "__main__":
    unittest.main()
