# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab headroom`: its arithmetic on figures that are known, and one small program from end to end."""

from __future__ import annotations

import csv
import unittest
from pathlib import Path

from laboratory import lab
from support import Scratch

from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator
from hakmem_lab.headroom import learnt, table
from hakmem_lab.headroom.report import best_of, figures, headroom
from hakmem_lab.judge.table import chosen
from hakmem_lab.pareto.verdict import Program, Runs

BALANCED_NS = 640_000
HAKMEM = Allocator("hakmem", None, "1", "aa")


def runs(cpu: list[float], excess: float) -> Runs:
    return Runs({}, "hakmem", dict(enumerate(cpu)), {number: excess for number in range(len(cpu))})


def program(**of: Runs) -> Program:
    return Program("p", "batch", {}, of)


class Best(unittest.TestCase):
    def test_luck_in_the_choice_is_not_in_the_figure(self) -> None:
        """Round 1 of `huge` was lucky: it is chosen, and judged by the rounds 0 and 2."""
        found = program(balanced=runs([1.0, 1.0, 1.0], 0), huge=runs([1.1, 0.5, 1.2], 0))
        self.assertEqual(headroom(found, "balanced"), ("huge", 1.1))

    def test_memory_counts_at_the_price(self) -> None:
        """A second of CPU time, or half of it and 1,000 MiB for a second."""
        roomy = {"roomy": runs([0.5] * 3, 1000)}
        found = program(balanced=runs([1.0] * 3, 0), speed=runs([1.0] * 3, 0), **roomy)
        self.assertEqual(headroom(found, "balanced"), ("balanced", 1.0))
        best = headroom(found, "speed")
        assert best is not None
        self.assertEqual(best[0], "roomy")
        self.assertAlmostEqual(best[1], 0.5 + 1000 * 8_500e-9)

    def test_the_default_may_be_the_best(self) -> None:
        found = program(balanced=runs([1.0, 0.9, 1.0], 5), tight=runs([1.0, 0.95, 1.0], 4))
        self.assertEqual(best_of(found, BALANCED_NS), "balanced")
        self.assertEqual(headroom(found, "balanced"), ("balanced", 1.0))

    def test_a_least_of_many_rounds_meets_no_least_of_few(self) -> None:
        """The default was quick in the rounds 4 and 5, which `huge` does not have."""
        found = program(balanced=runs([1.0, 1.0, 1.0, 1.0, 0.5, 0.5], 0), huge=runs([0.8] * 4, 0))
        self.assertEqual(headroom(found, "balanced"), ("huge", 0.8))
        self.assertTrue(figures(found.runs["huge"], found.runs["balanced"]).startswith("0.800"))

    def test_no_figure_of_one_round(self) -> None:
        self.assertIsNone(headroom(program(balanced=runs([1.0], 0)), "balanced"))
        self.assertIsNone(headroom(program(huge=runs([1.0, 1.0], 0)), "balanced"))


class Wishes(unittest.TestCase):
    def test_programs(self) -> None:
        self.assertEqual([row.name for row in chosen("z3,redis", table.programs())], ["redis", "z3"])
        with self.assertRaisesRegex(Refusal, "nearest: redis"):
            chosen("rediss", table.programs())

    def test_the_prices_are_always_there(self) -> None:
        names = [one.name for one in table.configurations([HAKMEM], table.Sides("huge"))]
        self.assertEqual(names, [*table.PRICES, "huge"])
        with self.assertRaisesRegex(Refusal, "--settings vast"):
            table.configurations([HAKMEM], table.Sides("vast"))

    def test_sides(self) -> None:
        """A folder of policies for each price; each learner alone; peers."""
        sides = table.Sides("", Path("/p"), True, "other")
        found = {one.name: one for one in table.configurations([HAKMEM, Allocator("other", None, "1", "bb")], sides)}
        self.assertEqual(found["learnt-lean"].settings, {"price": "lean", "policy_file": "/p/lean/"})
        self.assertEqual(found["with keep"].settings, {"mode": "evolving", "lab_learn_keep": "on"})
        self.assertEqual(set(found["other"].settings), set())
        self.assertEqual([name for name in found if table.often(name)],
                         [*table.PRICES, *(f"learnt-{price}" for price in table.PRICES)])


class Learnt(unittest.TestCase):
    def test_the_first_run_and_the_later_ones(self) -> None:
        """The second run is in neither; memory counts at the price."""
        mine = runs([2.0, 9.0, 0.5, 0.5, 0.5, 0.5, 0.5], 0)
        found = program(balanced=runs([1.0] * 7, 0), **{"learnt-balanced": mine, "huge": runs([0.5] * 7, 0)})
        line, *_ = learnt.lines_at("balanced", [found], {"p": headroom(found, "balanced")})
        self.assertEqual(line[:9], ["p", "2.000", "–", "0.500", "0.50, 0.50", "0.500", "+0.0", "huge 0.500", "1.00"])

    def test_the_tenth_run(self) -> None:
        mine = runs([1.0] * 9 + [0.25, 3.0], 0)
        found = program(balanced=runs([1.0] * 9 + [0.5, 1.0], 0), **{"learnt-balanced": mine})
        line, *_ = learnt.lines_at("balanced", [found], {"p": headroom(found, "balanced")})
        self.assertEqual(line[2], "0.500")

    def test_no_share_of_no_headroom(self) -> None:
        found = program(balanced=runs([1.0] * 7, 0), **{"learnt-balanced": runs([0.9] * 7, 0)})
        line, *_ = learnt.lines_at("balanced", [found], {"p": headroom(found, "balanced")})
        self.assertEqual(line[7:9], ["balanced 1.000", "–"])

    def test_the_best_peer_is_chosen_on_other_rounds(self) -> None:
        """`lucky` was quick in round 1 alone."""
        found = program(balanced=runs([1.0] * 4, 0), **{"learnt-balanced": runs([0.8] * 4, 0)})
        found.runs["lucky"] = Runs({}, "lucky", dict(enumerate([2.0, 0.1, 2.0, 2.0])), dict.fromkeys(range(4), 0.0))
        found.runs["good"] = Runs({}, "good", dict(enumerate([0.9] * 4)), dict.fromkeys(range(4), 0.0))
        line, *_ = learnt.lines_at("balanced", [found], {"p": headroom(found, "balanced")})
        self.assertEqual(line[9:], ["lucky", "0.400", "0.500"])

    def test_peers_and_learners_are_no_settings(self) -> None:
        found = program(balanced=runs([1.0] * 4, 0), **{"with keep": runs([0.1] * 4, 0), "glibc": runs([0.1] * 4, 0)})
        self.assertEqual(best_of(found, BALANCED_NS), "balanced")


class EndToEnd(Scratch):
    def test_one_program(self) -> None:
        rows = self.folder / "rows.csv"
        words = ["headroom", "--programs", "git-log", "--settings", "huge", "--learnt", "--peers", "glibc",
                 "--runs", "2", "--others", "1", "--floors", "1", "-o", str(rows)]
        learnt_names = [f"learnt-{price}" for price in table.PRICES]
        self.assertEqual(lab(*words).returncode, 0)
        with rows.open(newline="") as file:
            found = {(row["configuration"], row["outcome"]) for row in csv.DictReader(file)}
        self.assertEqual(found, {(name, "ok") for name in ("floor", *table.PRICES, *learnt_names, "huge", "glibc")})
        said = lab("headroom", "report", str(rows))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("| git-log |", said.stdout)
        self.assertEqual(lab("headroom", "--programs", "none").returncode, 2)


if __name__ == "__main__":
    unittest.main()
