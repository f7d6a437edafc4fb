"""Ratios, means, verdicts, the order of the cells, and who is believed: without running anything."""

from __future__ import annotations

import unittest
from pathlib import Path

from hakmem.micro_judge import lines_of, means_of
from hakmem.micro_run import Measurement, Row, Sample, cells, parse_output
from hakmem.peers import Allocator, who_served_instead

HAKMEM = Allocator("hakmem", Path("/lib/hakmem.so"), "1")
GLIBC = Allocator("glibc", None, "2")
OTHER = Allocator("other", Path("/lib/other.so"), "3")
ALL = [HAKMEM, GLIBC, OTHER]


def measurement(figures: dict[tuple[str, str], list[tuple[float, float | None]]]) -> Measurement:
    """(row, allocator) -> (ns, hop) of each round."""
    rows = list(dict.fromkeys(row for row, _ in figures))
    measured = Measurement([Row(row, "") for row in rows], ALL)
    for (row, name), samples in figures.items():
        for number, (ns, hop) in enumerate(samples):
            measured.add(Sample(row, name, number, ns, hop))
    return measured


class Figures(unittest.TestCase):
    def test_the_shortest_round_counts(self) -> None:
        measured = measurement({("a", "hakmem"): [(9.0, None), (4.0, None)], ("a", "glibc"): [(8.0, None)]})
        (line,) = lines_of(measured)
        self.assertEqual((line.ns["hakmem"], line.best_peer, line.ratio), (4.0, "glibc", 0.5))

    def test_rounds_with_the_cores_apart_do_not_count(self) -> None:
        measured = measurement({
            ("two", "hakmem"): [(50.0, 30.0), (5.0, 300.0)],
            ("two", "glibc"): [(100.0, 31.0)],
        })
        (line,) = lines_of(measured)
        self.assertEqual(line.ns["hakmem"], 50.0)
        self.assertFalse(line.far_apart)

    def test_a_row_with_the_cores_never_near_is_marked(self) -> None:
        measured = measurement({("two", "hakmem"): [(50.0, 300.0)], ("two", "glibc"): [(100.0, 30.0)]})
        self.assertTrue(lines_of(measured)[0].far_apart)

    def test_means(self) -> None:
        measured = measurement({
            ("a", "hakmem"): [(2.0, None)], ("a", "glibc"): [(4.0, None)], ("a", "other"): [(8.0, None)],
            ("b", "hakmem"): [(8.0, None)], ("b", "glibc"): [(16.0, None)], ("b", "other"): [(4.0, None)],
        })
        row_by_row, single = means_of(lines_of(measured))
        self.assertAlmostEqual(row_by_row.ratio, 1.0)  # 2/4 and 8/4
        self.assertAlmostEqual(single.ratio, 0.7071, places=4)  # other: 2/8 and 8/4; glibc: 2/4 and 8/16
        self.assertIn("other", single.text)

    def test_each_row_has_its_target(self) -> None:
        measured = measurement({
            ("pass", "hakmem"): [(0.7, None)], ("pass", "glibc"): [(1.0, None)],
            ("pair", "hakmem"): [(1.04, None)], ("pair", "glibc"): [(1.0, None)],
        })
        self.assertEqual([line.met for line in lines_of(measured)], [False, True])

    def test_without_hakmem_there_is_no_verdict(self) -> None:
        lines = lines_of(measurement({("a", "glibc"): [(1.0, None)]}))
        self.assertIsNone(lines[0].met)
        self.assertEqual(means_of(lines), [])


class Order(unittest.TestCase):
    def test_every_allocator_comes_first_equally_often(self) -> None:
        order = list(cells([Row("a", ""), Row("b", "")], ALL, 3))
        self.assertEqual(len(order), 18)
        firsts = [allocator.name for _, _, allocator in order[::3]]
        self.assertEqual({name: firsts.count(name) for name in firsts}, {"hakmem": 2, "glibc": 2, "other": 2})


class Proof(unittest.TestCase):
    def proof(self, path: str, glibc_served: str, hak_owns: str) -> dict[str, str]:
        return {"malloc": path, "free": path, "glibc_served": glibc_served, "hak_owns": hak_owns}

    def test_what_is_believed(self) -> None:
        self.assertIsNone(who_served_instead(HAKMEM, self.proof("/lib/hakmem.so", "no", "yes")))
        self.assertIsNone(who_served_instead(GLIBC, self.proof("/lib/libc.so.6", "yes", "absent")))
        self.assertIsNone(who_served_instead(OTHER, self.proof("/lib/other.so", "no", "absent")))

    def test_what_is_not(self) -> None:
        for allocator, proof, word in (
            (HAKMEM, self.proof("/lib/hakmem.so", "yes", "yes"), "glibc"),
            (HAKMEM, self.proof("/lib/hakmem.so", "no", "absent"), "no HAKMEM"),
            (HAKMEM, self.proof("/lib/hakmem.so", "no", "no"), "no HAKMEM"),
            (HAKMEM, self.proof("/lib/libc.so.6", "yes", "absent"), "libc.so.6"),
            (GLIBC, self.proof("/lib/other.so", "no", "absent"), "other.so"),
            (OTHER, {}, "nothing"),
            (OTHER, {"malloc": "/lib/other.so", "free": "/lib/libc.so.6"}, "(free)"),
        ):
            with self.subTest(allocator=allocator.name, proof=proof):
                self.assertIn(word, who_served_instead(allocator, proof) or "")

    def test_output_is_read(self) -> None:
        values = parse_output("pass ns=3.5 repetitions=2 hop_ns=28\nmalloc=/a folder/lib.so\nfree=x\n")
        self.assertEqual((values["ns"], values["hop_ns"], values["malloc"]), ("3.5", "28", "/a folder/lib.so"))


if __name__ == "__main__":
    unittest.main()
