# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab simulate --tune`: what is known of small traces, which point is picked, and one line for everything wrong."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import unittest
from pathlib import Path

from laboratory import lab
from support import BUILD, ROOT, Scratch, clean_environment

from hakmem_lab.tune.points import BALANCED, CACHES, LADDER, Bound, Point, Setting, Wish, bytes_text, front_of, picked

sys.path.insert(0, str(ROOT / "tests" / "trace"))
from writer import Trace  # noqa: E402

MS, SECOND = 1_000_000, 1_000_000_000
BLOCK = 4 << 20
BLOCK_KIB, BLOCK_PAGES = BLOCK >> 10, BLOCK >> 12
OWN_KIB = 512  # the library's tables, at most
SOME = 50  # faults of them, which differ from run to run
COSTS = ("--page-ns", "1000", "--call-ns", "2000")


def periods(count: int) -> Trace:
    """A block of 4 MiB for half of each second, and a small one every 10 ms."""
    trace = Trace()
    thread = trace.process(7, ["/usr/bin/server"]).thread(0)
    for tick in range(100 * count):
        if tick % 100 == 0:
            thread.allocate(tick * 10 * MS, 0x100000, BLOCK)
        if tick % 100 == 50:
            thread.free(tick * 10 * MS, 0x100000)
        thread.allocate(tick * 10 * MS + 1, 0x10, 2 << 20)
        thread.free(tick * 10 * MS + 2, 0x10)
    thread.allocate(count * SECOND, 0x20, 8)
    return trace


def once() -> Trace:
    """A block for the first half of a second."""
    trace = Trace()
    thread = trace.process(7, ["prog"]).thread(0)
    thread.allocate(0, 0x100000, BLOCK)
    thread.free(500 * MS, 0x100000)
    thread.allocate(SECOND, 0x20, 8)
    return trace


class Tuned(Scratch):
    def tune(self, trace: bytes | Trace, *options: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        file = self.folder / "trace.hakt"
        file.write_bytes(trace.packed() if isinstance(trace, Trace) else trace)
        return lab("simulate", "--build", str(BUILD), "--tune", *map(str, options), str(file), **variables)

    def rows(self, trace: Trace, *options: str, **variables: str) -> tuple[list[dict[str, str]], list[str]]:
        out = self.folder / "out.csv"
        ended = self.tune(trace, "--csv", out, *COSTS, *options, **variables)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)
        with out.open() as file:
            return list(csv.DictReader(file)), ended.stdout.splitlines()

    def assert_refused(self, ended: subprocess.CompletedProcess[str], text: str, status: int = 2) -> None:
        self.assertEqual((ended.returncode, ended.stdout), (status, ""), ended.stderr)
        self.assertIn(text, ended.stderr)
        self.assert_one_line(ended.stderr)


class Model(Tuned):
    def test_what_is_free_stays_or_is_fetched(self) -> None:
        """At price 0 all pages come once; at the highest, those of each period."""
        rows, _ = self.rows(periods(5), HAKMEM_BIG_CACHE_BYTES="1G")
        self.assertEqual([int(row["price"]) for row in rows], list(LADDER))
        kept, gone = rows[0], rows[-1]
        self.assertLess(int(kept["faults"]), 2 * BLOCK_PAGES)
        self.assertGreaterEqual(int(gone["faults"]), 5 * BLOCK_PAGES)
        self.assertLess(float(gone["mean_kib"]), float(kept["mean_kib"]))
        self.assertLess(float(kept["loss_percent"]), 0.01)
        self.assertGreater(float(gone["loss_percent"]), 0.01)
        for row in rows:
            reckoned = 1000 * int(row["faults"]) + 2000 * int(row["kernel_calls"])
            self.assertEqual(int(row["kernel_ns"]), reckoned)
            self.assertLessEqual(float(row["mean_kib"]), float(row["peak_kib"]))

    def test_the_mean_is_over_time(self) -> None:
        """A block that is there for half of the time."""
        rows, _ = self.rows(once(), HAKMEM_BIG_CACHE_BYTES="0")
        for row in rows:
            self.assertAlmostEqual(float(row["mean_kib"]), BLOCK_KIB / 2, delta=OWN_KIB)
            self.assertAlmostEqual(float(row["peak_kib"]), BLOCK_KIB, delta=OWN_KIB)

    def test_bounds_on_big_blocks(self) -> None:
        """Those below the peak, at each price; with 0 nothing is kept."""
        rows, _ = self.rows(periods(3))
        caches = {row["big_cache_bytes"] for row in rows}
        self.assertEqual(caches, {"", *(str(cache) for cache in CACHES if cache < BLOCK * 1.4)})
        self.assertEqual(len(rows), len(caches) * len(LADDER))
        without = next(row for row in rows if row["big_cache_bytes"] == "0" and row["price"] == "0")
        self.assertGreaterEqual(int(without["faults"]), 3 * BLOCK_PAGES)

    def test_the_last_line_gives_what_was_said(self) -> None:
        rows, lines = self.rows(once(), "--most-memory", "60%")
        self.assertRegex(lines[-1], r"\AHAKMEM_PRICE=\w+( HAKMEM_BIG_CACHE_BYTES=\w+)?\Z")
        settings = dict(pair.split("=") for pair in lines[-1].split())
        costs = {"HAKMEM_LAB_COST_CALL": "2000", "HAKMEM_LAB_COST_PAGE": "1000", "HAKMEM_LAB_COST_MOVE": "40"}
        ended = subprocess.run([BUILD / "hak_model"], input=once().bytes(), stdout=subprocess.PIPE, check=True,
                               env=clean_environment(**settings, **costs))
        row = next(row for row in rows if row["picked"] == "1")
        self.assertAlmostEqual(json.loads(ended.stdout)["minflt"], int(row["faults"]), delta=SOME)

    def test_of_several_processes_the_busiest(self) -> None:
        trace = once()
        trace.process(8, ["other"]).thread(0).allocate(5, 0x1000, 8)
        ended = self.tune(trace, *COSTS)
        note = f"note: {self.folder / 'trace.hakt'}: of 2 processes the one with the most events\n"
        self.assertEqual((ended.returncode, ended.stderr), (0, note))

    def test_several_traces_are_added_up(self) -> None:
        other = self.folder / "other.hakt"
        other.write_bytes(once().packed())
        alone, _ = self.rows(once(), HAKMEM_BIG_CACHE_BYTES="0")
        both, _ = self.rows(once(), str(other), HAKMEM_BIG_CACHE_BYTES="0")
        for name in ("faults", "kernel_calls"):
            self.assertAlmostEqual(int(both[0][name]), 2 * int(alone[0][name]), delta=SOME)

    def test_what_is_printed(self) -> None:
        plot = self.folder / "tuned.png"
        ended = self.tune(periods(2), "--plot", plot)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)
        self.assertRegex(ended.stdout, r"(?m)^ +balanced +– +[\d.]+ +[\d.]+ +[\d,]+ +[\d,]+ +[\d.,]+ +\d+\.\d{3}")
        self.assertRegex(ended.stdout, r"(?m)^A call of the kernel costs [\d,.]+ ns, a page [\d,.]+ ns\. ")
        self.assertRegex(ended.stdout, r"(?m)^picked, the knee of the front: mean [\d.]+ MiB \(balanced [\d.]+\)")
        self.assertEqual(plot.read_bytes()[:4], b"\x89PNG")

    def test_costs_are_measured(self) -> None:
        line = json.loads(subprocess.run([BUILD / "hak_costs"], stdout=subprocess.PIPE, check=True).stdout)
        self.assertGreater(min(line["call_ns"], line["page_ns"]), 0)


class WrongUse(Tuned):
    def test_options(self) -> None:
        trace = once()
        for options, text in (
            (("--most-memory", "60M", "--most-time", "1"), "--most-memory and --most-time"),
            (("--most-memory", "much"), "--most-memory much: neither bytes (64M) nor percent (80%)"),
            (("--most-memory", "-1"), "--most-memory -1"),
            (("--most-memory", "nan%"), "--most-memory nan%: no percentage"),
            (("--most-time", "soon"), "--most-time soon: no percentage"),
            (("--price", "lean"), "--price does not go with --tune"),
            (("--markdown", "out.md"), "--markdown does not go with --tune"),
            (("--plot", self.folder), "with --tune it is a picture, .png or .svg"),
            (("--plot", self.folder / "no" / "a.png"), "there is no folder"),
        ):
            with self.subTest(options=options):
                self.assert_refused(self.tune(trace, *options), text)
        file = str(self.folder / "trace.hakt")
        for option in ("--most-memory", "--most-time"):
            self.assert_refused(lab("simulate", option, "1", file), f"{option} goes with --tune only")

    def test_files(self) -> None:
        trace = Trace()
        trace.process(7, ["prog"])
        self.assert_refused(self.tune(b"#!/bin/sh\n"), "trace.hakt: not a trace")
        self.assert_refused(self.tune(trace), "trace.hakt: this process asked for nothing")
        self.assert_refused(self.tune(once(), "--csv", self.folder / "trace.hakt"), "is a trace that is read")
        self.assert_refused(self.tune(once(), "--csv", "/dev/full"), "/dev/full: no space left on device", 1)

    def test_less_memory_than_any_setting_needs(self) -> None:
        self.assert_refused(self.tune(once(), "--most-memory", "1K"), "--most-memory 1K: no setting of the ladder", 1)


def point(mean: float, ms: float, price: int = BALANCED, cache: int | None = None) -> Point:
    return Point(Setting(price, cache), mean * 1024, 0, 0, 0, ms * 1e6, 1e9, 0)


class Picks(unittest.TestCase):
    lean, middle, fast = point(10, 100, 3), point(20, 20, 2), point(100, 10, 1)
    beaten = point(30, 30, 4)
    points = [fast, beaten, lean, middle]

    def test_the_front(self) -> None:
        self.assertEqual(front_of(self.points), [self.lean, self.middle, self.fast])

    def test_of_equals_the_least_odd(self) -> None:
        """Equal is what differs by less than half a percent."""
        usual = point(20.01, 20.01)
        self.assertEqual(front_of([point(20, 20, cache=0), point(20, 20, 1), usual]), [usual])

    def test_the_knee(self) -> None:
        self.assertEqual(picked(self.points, Wish()), self.middle)
        self.assertEqual(picked([self.lean], Wish()), self.lean)
        self.assertEqual(picked([point(10, 100, 1), point(20, 50), point(40, 10, 2)], Wish()).setting.price, BALANCED)
        self.assertEqual(picked([point(10, 100, 1), point(40, 10)], Wish()).setting.price, BALANCED)

    def test_bounds(self) -> None:
        for wish, expected in (
            (Wish(Bound(50 * 1024, None, "50M")), self.middle),
            (Wish(Bound(None, 0.1, "10%")), self.lean),
            (Wish(Bound(None, 1.0, "100%")), self.fast),
            (Wish(loss_percent=0), self.fast),
            (Wish(loss_percent=1), self.middle),
            (Wish(loss_percent=9), self.lean),
        ):
            with self.subTest(wish=wish):
                self.assertEqual(picked(self.points, wish), expected)

    def test_settings_as_text(self) -> None:
        self.assertEqual(Setting(BALANCED).text(), "HAKMEM_PRICE=balanced")
        self.assertEqual(Setting(0, 16 << 20).text(), "HAKMEM_PRICE=0 HAKMEM_BIG_CACHE_BYTES=16M")
        self.assertEqual([bytes_text(count) for count in (0, 1, 3 << 10, 1 << 30)], ["0", "1", "3K", "1G"])


if __name__ == "__main__":
    unittest.main()
