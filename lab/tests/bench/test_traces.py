# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces as rows of the benchmark: replayed on each allocator with proof. No figure is judged."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from workbench import BUILD, ON_GLIBC, ON_HAKMEM, WithContext

from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator
from hakmem_lab.bench import catalogue, real, traces, twin
from hakmem_lab.bench.cell import SERVED_BY, Benchmark
from hakmem_lab.bench.record import COUNTED, OK, Metric, Run

FORWARDER = Path(os.environ["HAK_FORWARDER"])
CORPUS = Path(__file__).resolve().parents[3] / "tests" / "trace" / "corpus"
LAB = Path(sys.executable).with_name("hakmem-lab")
CALLS = {"node": 21_748, "redis-server.large": 13_581}  # as tests/trace/test_excerpts.py knows


class Traces(WithContext):
    def run_on(self, file: Path, allocator: Allocator) -> Run:
        return real.run_real(self.context, traces.row_of(file), allocator, 0, COUNTED)[0]

    def test_every_call_is_made_on_each_allocator(self) -> None:
        for name, calls in CALLS.items():
            for allocator in (ON_HAKMEM, ON_GLIBC):
                with self.subTest(trace=name, allocator=allocator.name):
                    run = self.run_on(CORPUS / f"{name}.hakt", allocator)
                    self.assertEqual((run.outcome, run.group), (OK, "trace"))
                    self.assertEqual(run.operations, calls * traces.SMALL_ROUNDS)
                    self.assertTrue(0 < (run.ns or 0) < 1e6)
                    self.assertGreater(run.peak_rss_kib or 0, 1024)

    def test_what_something_else_serves_gets_no_figure(self) -> None:
        hollow = Allocator(ON_HAKMEM.name, FORWARDER.resolve(), "built")
        run = self.run_on(CORPUS / "z3.large.hakt", hollow)
        self.assertIn(SERVED_BY, run.outcome)
        self.assertIsNone(run.ns)

    def test_the_counted_twin_sees_hakmem_serve(self) -> None:
        seen: list[Metric] = []

        class Kept:
            def add(self, *metrics: Metric) -> None:
                seen.extend(metrics)

        outcome = twin.twin_outcome(self.context, traces.row_of(CORPUS / "node.hakt"), Kept())  # type: ignore[arg-type]
        self.assertEqual(outcome, OK)
        found = {metric.name: metric.value for metric in seen}
        self.assertEqual(found["twin_served_percent"], 100)
        self.assertGreaterEqual(found["twin_calls"], CALLS["node"] * traces.SMALL_ROUNDS)

    def test_a_damaged_trace_is_told(self) -> None:
        packed = (CORPUS / "z3.large.hakt").read_bytes()
        file = self.scratch / "a.hakt"
        file.write_bytes(packed[: len(packed) // 2] + bytes(4) + packed[len(packed) // 2 + 4 :])
        self.assertIn("damaged", self.run_on(file, ON_HAKMEM).outcome)


class Rows(WithContext):
    def names(self, set_name: str) -> set[str]:
        return {one.name for one in catalogue.in_set(self.rows(), set_name)}

    def rows(self, *asked: Path) -> list[Benchmark]:
        return catalogue.all_benchmarks(BUILD, asked)

    def test_the_corpus_is_in_the_full_set_only(self) -> None:
        corpus = {one.name for one in self.rows() if one.group == traces.TRACE}
        self.assertEqual(len(corpus), len(list(CORPUS.glob("*.hakt"))))
        self.assertIn("trace_redis-server_large", corpus)
        self.assertEqual(corpus & self.names("full"), corpus)
        self.assertEqual(corpus & (self.names("quick") | self.names("scaling")), set())

    def test_one_that_is_asked_for_takes_the_place_of_the_corpus_s(self) -> None:
        mine = shutil.copy(CORPUS / "z3.hakt", self.scratch)
        (row,) = [one for one in self.rows(Path(mine)) if one.name == "trace_z3"]
        self.assertEqual(row.trace, Path(mine))

    def test_what_cannot_be_a_row(self) -> None:
        (self.scratch / "z3.hakt").write_text("text")
        with self.assertRaisesRegex(Refusal, "z3.hakt: not a trace"):
            self.rows(self.scratch / "z3.hakt")
        with self.assertRaisesRegex(Refusal, "2 files would be the row trace_z3"):
            self.rows(CORPUS / "z3.hakt", CORPUS / "z3.hakt")


class Session(WithContext):
    def test_a_file_alone(self) -> None:
        out = self.scratch / "out"
        done = subprocess.run(
            [LAB, "bench", "--build", BUILD, "--trace", CORPUS / "ffmpeg.hakt", "--allocators", "hakmem,glibc",
             "--runs", "1", "--warmup", "0", "--passes", "twin,time", "--output", out],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with (out / "runs.csv").open(encoding="utf-8") as file:
            rows = [(row["benchmark"], row["group"], row["allocator"], row["outcome"]) for row in csv.DictReader(file)]
        self.assertEqual(set(rows), {("trace_ffmpeg", "trace", name, OK) for name in ("hakmem", "glibc")})
        self.assertIn("Traces of real programs", (out / "table.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
