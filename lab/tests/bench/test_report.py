# SPDX-License-Identifier: MIT OR Apache-2.0
"""The report of a folder of results: which runs count, what is concluded, and that page, plots and paper come out."""

from __future__ import annotations

import io
import json
import re
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from rich.console import Console

from hakmem.base.errors import Refusal
from hakmem_lab.bench.compare import compare, compare_results
from hakmem_lab.bench.judge import Judge
from hakmem_lab.bench.page import write_report
from hakmem_lab.bench.paper import write_paper
from hakmem_lab.bench.record import COUNTED, OK, WARM_UP, Bucket, Metric, Moment, Recorder, Run
from hakmem_lab.bench.results import Results
from hakmem_lab.bench.tables import as_markdown, print_summary, sections

ROUNDS = 10
NS = {"hakmem": 10.0, "glibc": 20.0, "mimalloc": 11.0}
MACHINE = {"cpu": "a CPU <of 2>", "commit": "0123456789abcdef", "allocators": [
    {"name": "hakmem", "version": "1", "sha256": "aa", "file": "libhakmem.so"},
    {"name": "mimalloc", "version": "3", "sha256": "bb", "file": "libmimalloc.so"},
]}
PROSE = "# Report\n\n{{ table('Targets') }}\n{{ figure('overview', 'all') }}\n{{ section('memory') }}\n"


def run(benchmark: str, allocator: str, ns: float, round_number: int = 0, group: str = "micro", **more) -> Run:
    return Run(benchmark, group, allocator, round_number, more.pop("phase", COUNTED), more.pop("outcome", OK), ns=ns,
               peak_rss_kib=more.pop("peak_rss_kib", 2048), **more)


def rounds(random: np.random.Generator, benchmark: str, group: str) -> list[Run]:
    """With a warm-up that must not count."""
    drawn = [run(benchmark, name, ns * np.exp(random.normal(0, 0.003)), number, group, minor_faults=100)
             for number in range(ROUNDS) for name, ns in NS.items()]
    return [run(benchmark, "hakmem", 1e6, -1, group, phase=WARM_UP), *drawn]


def whole(folder: Path, seed: int = 1) -> Path:
    """A folder with something of every kind."""
    random = np.random.default_rng(seed)
    recorder = Recorder(folder)
    for benchmark, group in (("pair", "micro"), ("fifo", "micro"), ("lifo", "micro"), ("frag", "frag"), ("lua", "real"),
                             ("larson@t1", "larson"), ("larson@t2", "larson")):
        recorder.add(*rounds(random, benchmark, group))
    for name, ns in NS.items():
        recorder.add(*(Bucket("pair", name, call, ns * step, 1000 // step) for call in ("malloc", "free")
                       for step in (1, 2, 20)))
        recorder.add(*(Moment("frag", name, moment / 10, 1000 * moment) for moment in range(5)),
                     Metric("pair", name, 0, "latency_counter_cost_ns", 18.0, "ns"),
                     Metric("pair", name, 0, "instructions_per_op", 50.0, "instructions"),
                     Metric("pair", name, 0, "worst_kernel_calls", 1.0, "calls"),
                     Metric("pair", name, 0, "parameter_cycles", 1000.0, "parameter"))
    (folder / "machine.json").write_text(json.dumps(MACHINE))
    return folder


class Case(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def results(self, *runs: Run) -> Results:
        Recorder(self.folder).add(*runs)
        return Results(self.folder)

    def refused(self, action, *arguments) -> str:
        with self.assertRaises(Refusal) as caught:
            action(*arguments)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)


class WhichRunsCount(Case):
    def test_disturbed_runs_are_left_out(self) -> None:
        results = self.results(run("a", "hakmem", 5, 0), run("a", "hakmem", 7, 1),
                               run("a", "hakmem", 99, 2, disturbed="x"))
        self.assertEqual(results.ns("a", "hakmem"), 6)
        self.assertEqual(results.marked, set())

    def test_all_count_and_are_marked_where_more_than_half_are_disturbed(self) -> None:
        results = self.results(*(run("a", "hakmem", ns, ns, disturbed="x" if ns else "") for ns in (0, 5, 7)))
        self.assertEqual(results.ns("a", "hakmem"), 5)
        self.assertEqual(results.marked, {("a", "hakmem")})
        self.assertIn("5.00†", as_markdown(sections(results)))

    def test_what_failed_once_has_no_figure(self) -> None:
        results = self.results(run("a", "hakmem", 5), run("a", "glibc", 5),
                               run("a", "hakmem", 5, 1, outcome="it crashed"))
        self.assertIsNone(results.ns("a", "hakmem"))
        self.assertEqual(results.ns("a", "glibc"), 5)
        self.assertIn("it crashed", as_markdown(sections(results)))

    def test_the_last_try_of_a_round_counts(self) -> None:
        results = self.results(run("a", "hakmem", 9, disturbed="x"), run("a", "hakmem", 5, tries=2))
        self.assertEqual(results.ns("a", "hakmem"), 5)

    def test_half_a_line_at_the_end_is_no_result(self) -> None:
        self.results(run("a", "hakmem", 5))
        with (self.folder / "runs.csv").open("a") as file:
            file.write("a,micro,hakm")
        self.assertEqual(len(Results(self.folder).runs), 1)

    def test_what_is_no_result_is_refused_in_one_line(self) -> None:
        self.assertIn("no such file", self.refused(Results, self.folder))
        (self.folder / "runs.csv").write_text("benchmark,ns\na,5\n")
        self.assertIn("first line", self.refused(Results, self.folder))
        self.results(run("a", "hakmem", 5))
        text = (self.folder / "runs.csv").read_text().replace(",5,", ",five,")
        (self.folder / "runs.csv").write_text(text)
        self.assertIn("runs.csv:2: ns is no number: 'five'", self.refused(Results, self.folder))


class Conclusions(Case):
    def test_best_peer_means_and_targets(self) -> None:
        judge = Judge(Results(whole(self.folder)))
        self.assertEqual(judge.best_peer("pair"), "mimalloc")
        self.assertEqual({duel.verdict for duel in judge.duels.values()}, {"faster"})
        self.assertAlmostEqual(judge.time_means(judge.results.micro)["glibc"].ratio, 0.5, delta=0.01)
        met = {target.text: target.met for target in judge.targets}
        self.assertFalse(met["small patterns: time, best single peer"])  # 10/11 is above 0.80
        self.assertTrue(met["small patterns: rows over 1.05 of their best peer"])
        self.assertTrue(met["real programs: time, best single peer"])
        self.assertFalse(met["peak RSS, mimalloc"])  # all use the same

    def judged(self, ours: str, theirs: str) -> str:
        """By eight rounds in which HAKMEM takes half the time; a letter for each round: x is disturbed."""
        runs = [run("a", name, ns + number / 100, number, disturbed="others" if letter == "x" else "")
                for name, letters, ns in (("hakmem", ours, 5), ("glibc", theirs, 10)) for number, letter in enumerate(letters)]
        return Judge(self.results(*runs)).duels["a"].verdict

    def test_what_was_disturbed_gives_no_verdict(self) -> None:
        for ours, theirs, verdict in (
            ("........", "........", "faster"), ("xxxxxxxx", "xxxxxxxx", "disturbed"), ("........", "xxxxxxxx", "disturbed"),
            ("xxx.....", "........", "faster"), ("xxxx....", "........", "disturbed"), ("xx......", "......xx", "disturbed"),
            ("....", "....", "too few rounds"), ("xxxx", "xxxx", "too few rounds"),
        ):
            with self.subTest(ours=ours, theirs=theirs), tempfile.TemporaryDirectory() as place:
                self.folder = Path(place)
                self.assertEqual(self.judged(ours, theirs), verdict)

    def test_disturbed_results_are_not_compared(self) -> None:
        for letters, verdict in (("........", "slower"), ("xxxx....", "disturbed")):
            one, other = self.folder / f"one{letters}", self.folder / f"other{letters}"
            for folder, ns in ((one, 5), (other, 10)):
                Recorder(folder).add(*(run("a", "hakmem", ns, number, disturbed="x" if letter == "x" else "")
                                       for number, letter in enumerate(letters)))
            self.assertEqual([change.verdict for change in compare(one, other).changes], [verdict])

    def test_the_least_is_bold_whose_ever_it_is(self) -> None:
        for ours, expected in ((5.0, "| **5.00** | 10.0 |"), (20.0, "| 20.0 | **10.0** |"), (10.001, "| **10.0** | **10.0** |")):
            with self.subTest(ours=ours), tempfile.TemporaryDirectory() as place:
                self.folder = Path(place)
                self.assertIn(expected, as_markdown(sections(self.results(run("a", "hakmem", ours), run("a", "glibc", 10)))))

    def test_a_peer_that_failed_in_a_row_is_not_the_best_single_one(self) -> None:
        results = self.results(run("a", "hakmem", 10), run("a", "glibc", 20), run("a", "fast", 5),
                               run("b", "hakmem", 10), run("b", "glibc", 20))
        self.assertEqual(Judge(results).targets[0].measured, "0.500 of glibc")

    def test_each_allocator_stands_beside_the_best_of_all_others(self) -> None:
        """`fast` failed in row b: its standing is that of row a alone, and row b is judged without it."""
        results = self.results(run("a", "hakmem", 10), run("a", "glibc", 20), run("a", "fast", 5),
                               run("b", "hakmem", 10), run("b", "glibc", 40))
        judge = Judge(results)
        found = [(one.allocator, one.mean, one.behind, one.rows, one.worst) for one in judge.standings(judge.small_patterns)]
        self.assertEqual([one[0] for one in found], ["fast", "hakmem", "glibc"])
        for one, expected in zip(found, ((0.5, 0, 1, (0.5, "a")), (0.5 ** 0.5, 1, 2, (2, "a")), (4, 2, 2, (4, "b")))):
            self.assertAlmostEqual(one[1], expected[0], 6)
            self.assertEqual(one[2:], expected[1:])
        self.assertIn("| fast | 0.500 | 0.500 | 0 of 1 | 0.5 (a) |", as_markdown(sections(results)))

    def test_hakmem_against_itself(self) -> None:
        random = np.random.default_rng(1)
        names = [f"row{number}" for number in range(60)]
        results = self.results(*(run(row, name, 10 * np.exp(random.normal(0, 0.02)), number)
                                 for row in names for number in range(ROUNDS) for name in ("hakmem", "again")))
        self.assertGreaterEqual(Judge(results).counts["no difference"], 57)

    def test_rows_of_the_scaling_curves_stand_apart(self) -> None:
        results = Results(whole(self.folder))
        self.assertEqual(results.scaling, {"larson": {1: "larson@t1", 2: "larson@t2"}})
        self.assertNotIn("larson@t1", results.micro)


class Page(Case):
    def test_everything_is_written(self) -> None:
        write_report(whole(self.folder))
        names = {path.stem for path in (self.folder / "plots").glob("*.png")}
        self.assertEqual(names, {path.stem for path in (self.folder / "plots").glob("*.svg")})
        self.assertLessEqual({"overview", "memory-speed", "scaling", "time-micro", "time-real", "latency-micro",
                              "rss-further"}, names)
        page = (self.folder / "report.html").read_text()
        self.assertIn("missed", page)
        self.assertIn("a CPU &lt;of 2&gt;", page)
        self.assertEqual(page.count("<svg"), len(names))
        self.assertIn("18.0 ns", (self.folder / "table.md").read_text())

    def test_the_page_needs_no_other_file(self) -> None:
        write_report(whole(self.folder))
        page = (self.folder / "report.html").read_text()
        fetched = re.findall(r"<link|<img|\bsrc=|url\((?!#)|@import|xlink:href=\"(?!#)|<script [^>]*>", page)
        self.assertEqual(fetched, [])

    def test_every_plot_is_well_formed_and_holds_its_text(self) -> None:
        write_report(whole(self.folder))
        for path in (self.folder / "plots").glob("*.svg"):
            text = "".join(ElementTree.parse(path).getroot().itertext())
            self.assertRegex(text, "better|best|HAKMEM is faster", path.name)

    def test_a_folder_with_little_in_it(self) -> None:
        for runs in ([run("a", "glibc", 5)], [run("a", "hakmem", 5)], [run("a", "glibc", 5, outcome="it crashed")]):
            Recorder(self.folder).add(*runs)
            write_report(self.folder)
            self.assertIn("How it was measured", (self.folder / "report.html").read_text())

    def test_the_terminal_wide_and_narrow(self) -> None:
        whole(self.folder)
        for width in (80, 160):
            out = io.StringIO()
            print_summary(Console(file=out, width=width), self.folder)
            self.assertIn("faster", out.getvalue())
            self.assertLessEqual(max(map(len, out.getvalue().splitlines())), width)


class AgainstAnotherFolder(Case):
    def test_the_same_build_twice(self) -> None:
        found = compare(whole(self.folder / "a", 1), whole(self.folder / "b", 2))
        self.assertEqual({change.verdict for change in found.changes}, {"no difference"})
        self.assertAlmostEqual(found.drift["glibc"], 1, delta=0.01)

    def test_a_slower_build_and_a_row_that_is_gone(self) -> None:
        whole(self.folder / "a")
        Recorder(self.folder / "b").add(*(run("pair", "hakmem", 12.0, number) for number in range(ROUNDS)))
        found = compare(self.folder / "a" / "runs.csv", self.folder / "b" / "runs.csv")
        self.assertEqual([(change.benchmark, change.verdict) for change in found.changes], [("pair", "slower")])
        self.assertIn("lua", found.only_before)

    def test_shown_and_written(self) -> None:
        out, output = io.StringIO(), self.folder / "ab.md"
        compare_results(Console(file=out, width=160), whole(self.folder / "a", 1), whole(self.folder / "b", 2), output)
        self.assertIn("no difference", out.getvalue())
        self.assertIn("| pair |", output.read_text())

    def test_nothing_in_common_is_refused(self) -> None:
        Recorder(self.folder / "b").add(run("other", "hakmem", 1.0))
        self.assertIn("in both", self.refused(compare, whole(self.folder / "a"), self.folder / "b"))


class Paper(Case):
    def setUp(self) -> None:
        super().setUp()
        whole(self.folder / "data")
        (self.folder / "report.md.jinja").write_text(PROSE)

    def files(self) -> dict[str, bytes]:
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in files}

    def test_the_second_time_changes_no_byte(self) -> None:
        write_paper(self.folder)
        first = self.files()
        (self.folder / "figures" / "stale.svg").write_text("of another day")
        write_paper(self.folder)
        self.assertEqual(self.files(), first)
        self.assertIn("figures/overview.svg", first)
        self.assertIn("![all](figures/overview.svg)", first["report.md"].decode())

    def test_figures_from_a_further_folder(self) -> None:
        whole(self.folder / "data" / "sixteen")
        (self.folder / "report.md.jinja").write_text("{{ figure('scaling', 'curves', data='sixteen') }}")
        write_paper(self.folder)
        self.assertTrue((self.folder / "figures" / "sixteen-scaling.svg").is_file())

    def test_mistakes_in_the_prose_are_one_line(self) -> None:
        for prose in ("{{ table('Nothing') }}", "{{ figure('nothing', '') }}", "{{ unknown }}", "{% if %}"):
            (self.folder / "report.md.jinja").write_text(prose)
            self.assertIn("report.md.jinja", self.refused(write_paper, self.folder))


if __name__ == "__main__":
    unittest.main()
