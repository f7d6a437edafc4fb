# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab simulate`: what is known of small traces, and one line for everything wrong.

Where it is reckoned by hand a piece of 64 KiB pays 1 ns a ns of rent, and 20 to be fetched.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import random
import signal
import struct
import subprocess
import sys
import time
import unittest
from pathlib import Path

from laboratory import LAB, lab
from support import BUILD, ROOT, Scratch, hakmem, small_trace

from hakmem.process.launch import parse_figures

sys.path.insert(0, str(ROOT / "tests" / "trace"))
from writer import Process, Thread, Trace  # noqa: E402

PIECE = 65536
BY_HAND = ("--price", "16e9", "--call-ns", "4", "--page-ns", "1")
FIXED = {
    "0": 60, "1/8": 67.5, "1/4": 55, "1/2": 65, "1": 85, "2": 75, "4": 75, "8": 75,
    "forever": 75, "1 ms": 75, "10 ms": 75, "100 ms": 75, "1 s": 75, "10 s": 75,
}
Rows = list[dict[str, str]]


def three_gaps(thread: Thread) -> None:
    """Of 5 and 30 ns, and one of 40 that the end cuts off."""
    for came, went in ((0, 10), (15, 20), (50, 60)):
        thread.allocate(came, 0x10000, PIECE, (0x400000, 1))
        thread.free(went, 0x10000)
    thread.allocate(100, 0x20000, 1)


def waits(thread: Thread, site: int, gaps: list[int], start: int) -> int:
    """Its block is another than that of other sites, and of a bin of its own only where the size is."""
    for gap in gaps:
        thread.allocate(start, 0x10000, PIECE, (site, 0))
        thread.free(start, 0x10000)
        start += gap
    return start


class Simulated(Scratch):
    def trace(self, *programs: str, name: str = "a.hakt") -> Path:
        """Each program with the three gaps."""
        trace = Trace()
        for number, program in enumerate(programs):
            three_gaps(trace.process(7 + number, [f"/usr/bin/{program}", "-x"]).thread(0))
        return self.written(trace.packed(), name)

    def written(self, packed: bytes, name: str = "a.hakt") -> Path:
        path = self.folder / name
        path.write_bytes(packed)
        return path

    def one(self, fill: object, *options: str) -> dict[tuple[str, str], dict[str, str]]:
        """The figures of a trace of one process, by policy and keep time."""
        trace = Trace()
        fill(trace.process(7, ["prog"]))  # type: ignore[operator]
        rows, _ = self.rows(self.written(trace.packed()), *options)
        return {(row["policy"], row["keep"]): row for row in rows}

    def rows(self, *arguments: Path | str) -> tuple[Rows, str]:
        out = self.folder / "out.csv"
        ended = self.simulate(*arguments, "--csv", out)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        with out.open(encoding="utf-8") as file:
            return list(csv.DictReader(file)), ended.stdout

    def simulate(self, *arguments: Path | str) -> subprocess.CompletedProcess[str]:
        return lab("simulate", "--build", str(BUILD), *map(str, arguments))

    def assert_refused(self, ended: subprocess.CompletedProcess[str]) -> None:
        self.assert_one_line(ended.stderr)
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))


class Figures(Simulated):
    def test_three_gaps_by_hand(self) -> None:
        found = self.one(lambda process: three_gaps(process.thread(0)), *BY_HAND)
        cost = {key: float(row["cost_ns"]) for key, row in found.items()}
        self.assertEqual(cost["clairvoyant", ""], 45)
        self.assertEqual(cost["baseline", "1"], 85)
        self.assertEqual({keep: ns for (policy, keep), ns in cost.items() if policy == "fixed"}, FIXED)
        self.assertEqual(cost["best fixed", "1/4"], 55)
        self.assertEqual(cost["by site", ""], 55)
        self.assertEqual(cost["by busy site", ""], 55)
        self.assertAlmostEqual(float(found["baseline", "1"]["ratio"]), 85 / 45)
        self.assertAlmostEqual(float(found["baseline", "1"]["regret"]), 85 / 55)

    def test_what_is_counted(self) -> None:
        row = self.one(lambda process: three_gaps(process.thread(0)), *BY_HAND)["baseline", "1"]
        known = {"hits": 1, "fetches": 1, "faults": 16, "kernel_calls": 3, "gaps": 3, "open": 1, "first_fetches": 1}
        self.assertEqual({name: int(row[name]) for name in known}, known)
        self.assertAlmostEqual(float(row["idle_mib_s"]) * 16e9, 45)
        self.assertAlmostEqual(float(row["fetch_ns"]), 40)

    def test_each_site_has_its_time(self) -> None:
        def fill(process: Process) -> None:
            now = waits(process.thread(0), 1, [5] * 10, 0)
            now = waits(process.thread(0), 2, [1000] * 10, now)
            process.thread(0).allocate(now, 0x10000, PIECE)

        cost = {key[0]: float(row["cost_ns"]) for key, row in self.one(fill, *BY_HAND).items()}
        self.assertEqual((cost["clairvoyant"], cost["by site"]), (250, 250))
        self.assertEqual((cost["by size"], cost["best fixed"], cost["baseline"]), (300, 300, 450))

    def test_a_block_freed_by_another_thread(self) -> None:
        def fill(process: Process) -> None:
            process.thread(0).allocate(0, 0x10000, PIECE)
            process.thread(1).free(10, 0x10000)
            process.thread(2).allocate(17, 0x10000, PIECE)

        self.assertEqual(float(self.one(fill, *BY_HAND)["clairvoyant", ""]["cost_ns"]), 7)

    def test_the_headroom(self) -> None:
        def fill(process: Process) -> None:
            now = waits(process.thread(0), 1, [10, 100], 0)
            process.thread(0).allocate(now, 0x10000, PIECE)

        row = self.one(fill, *BY_HAND)["clairvoyant", ""]
        self.assertAlmostEqual(float(row["idle_mib_s_at_equal_fetching"]) * 16e9, 10)
        self.assertAlmostEqual(float(row["fetch_ns_at_equal_memory"]), 16)

    def test_the_costs_are_those_of_the_library(self) -> None:
        """A block of 2 MiB breaks even after about 0.4 s at `balanced`, and after 50 ms at `lean`."""
        for price, ms in (((), 401.6), (("--price", "lean"), 50.0), (("--price", "speed"), 30235.3)):
            def fill(process: Process) -> None:
                now = waits(process.thread(0), 1, [1], 0)
                process.thread(0).allocate(now, 0x40000, 2 << 20)
                process.thread(0).free(now, 0x40000)
                process.thread(0).allocate(now + 100_000_000_000, 0x40000, 2 << 20)

            row = self.one(fill, *price, "--least", "1000000")["baseline", "1"]
            self.assertAlmostEqual(float(row["idle_mib_s"]) / 2 * 1e3, ms, delta=0.1)

    def test_the_baseline_is_at_most_twice_the_clairvoyant(self) -> None:
        trace = Trace()
        for seed in range(5):
            chance, now, live = random.Random(seed), 0, []
            thread = trace.process(seed + 1, [f"p{seed}"]).thread(0)
            for number in range(3000):
                now += int(10 ** chance.uniform(0, 8))
                if not live or chance.random() < 0.5:
                    live.append(number * PIECE + PIECE)
                    thread.allocate(now, live[-1], chance.randrange(1, 16 * PIECE), (chance.randrange(9), 0))
                else:
                    thread.free(now, live.pop(chance.randrange(len(live))))
        rows, _ = self.rows(self.written(trace.packed()))
        for row in rows:
            self.assertGreaterEqual(float(row["ratio"]), 1, row)
        self.assertEqual(len([row for row in rows if row["policy"] == "baseline" and float(row["ratio"]) <= 2]), 5)


    def test_who_learns(self) -> None:
        """Fifty times break-even, for 1,200 waits: never kept once that is known, which the first 200 left out hide."""
        def fill(process: Process) -> None:
            now = waits(process.thread(0), 1, [1000] * 1200, 0)
            process.thread(0).allocate(now, 0x10000, PIECE)

        rows = {key[0]: row for key, row in self.one(fill, *BY_HAND).items()}
        for policy in ("evolving", "evolving by size", "evolving by process"):
            row = rows[policy]
            self.assertLess(float(row["cost_ns"]), 1.05 * float(rows["clairvoyant"]["cost_ns"]), policy)
            self.assertEqual((row["many_rows"], row["many_gaps"], row["few_gaps"]), ("1", "1000", "0"))
            self.assertAlmostEqual(float(row["many_paid_ns"]), 1000 * 20, delta=400)
            self.assertAlmostEqual(float(row["many_best_ns"]), 1000 * 20)
        self.assertEqual(rows["baseline"]["many_gaps"], "")


class Tables(Simulated):
    def test_a_line_for_who_learns(self) -> None:
        ended = self.simulate(self.trace("redis-server"), *BY_HAND)
        self.assertRegex(ended.stdout, r"redis-server +3 +1\.89( +1\.\d\d){3} +0 +– +1\.\d{3} *\n")

    def test_a_line_for_a_program(self) -> None:
        ended = self.simulate(self.trace("redis-server"), *BY_HAND)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertRegex(ended.stdout, r"redis-server +7 +3 +1\.89 +1\.22 +1/4 × +1\.22 +1\.22 +1\.22 ")
        self.assertRegex(ended.stdout, r"redis-server +3 +0 % +< 0\.001( +\d+ %){5} *\n")
        self.assertRegex(ended.stdout, r"redis-server +< 0\.001 +< 0\.001( +\d+ %){5} *\n")

    def test_the_same_tables_as_markdown(self) -> None:
        out = self.folder / "tables.md"
        ended = self.simulate(self.trace("redis|server"), *BY_HAND, "--markdown", out)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        text = out.read_text(encoding="utf-8")
        self.assertIn("| redis\\|server | 7 | 3 | 1.89 | 1.22 | 1/4 × | 1.22 | 1.22 | 1.22 | < 0.001 |\n", text)
        self.assertEqual(text.count("| program | "), 4)
        self.assertEqual(text.count("|---|---:|"), 4)

    def test_a_file_that_cannot_be_written_is_named(self) -> None:
        trace = self.trace("redis-server")
        for option, path in itertools.product(("--csv", "--markdown"), ("/dev/full", str(self.folder))):
            ended = self.simulate(trace, option, path)
            self.assertEqual(ended.returncode, 1)
            self.assertRegex(ended.stderr, f"^hakmem: {path}: [^\n]+\n$")

    def test_how_many_waits_are_at_busy_sites(self) -> None:
        def fill(process: Process) -> None:
            now = waits(process.thread(0), 1, [5] * 100, 0)
            now = waits(process.thread(0), 2, [5] * 99, now)
            process.thread(0).allocate(now, 0x10000, PIECE)

        row = self.one(fill, *BY_HAND)["baseline", "1"]
        self.assertEqual((row["gaps"], row["busy"]), ("199", "100"))

    def test_what_one_time_and_times_by_size_would_save(self) -> None:
        """Short waits of one size and long ones of another: each has its time, and one time for both is worse."""
        def fill(process: Process) -> None:
            now = waits(process.thread(0), 1, [10] * 3, 0)
            for _ in range(3):
                process.thread(0).allocate(now, 0x100000, 2 * PIECE)
                process.thread(0).free(now, 0x100000)
                now += 1000
            process.thread(0).allocate(now, 0x10000, PIECE)

        rows = self.one(fill, *BY_HAND)
        idle = {key[0]: float(row["idle_mib_s_at_equal_fetching"]) * 16e9 for key, row in rows.items()
                if row["idle_mib_s_at_equal_fetching"]}
        self.assertLess(idle["by size"], idle["best fixed"])
        self.assertLess(idle["clairvoyant"], idle["by size"])

    def test_processes_of_a_program_are_one_line_and_several_traces_are_told_apart(self) -> None:
        ended = self.simulate(self.trace("cc1", "as", "cc1"), self.trace("cc1", name="b.hakt"), *BY_HAND)
        for line in (r"cc1 \(a\), 2 processes +14 +6 +1\.89", r"cc1 \(b\) +7 +3 +1\.89", r"as +7 +3 +1\.89"):
            self.assertRegex(ended.stdout, line)

    def test_the_figures_of_each_process_are_in_the_file(self) -> None:
        rows, _ = self.rows(self.trace("cc1", "as", "cc1"), *BY_HAND)
        costs = [(row["program"], row["pid"], float(row["cost_ns"])) for row in rows if row["policy"] == "baseline"]
        self.assertEqual(costs, [("cc1", "7", 85), ("as", "8", 85), ("cc1", "9", 85)])

    def test_names_that_look_like_something_else(self) -> None:
        trace = Trace()
        for number, name in enumerate(("[red]\"é\x1b[31m", "$x^$", "")):
            three_gaps(trace.process(7 + number, [name]).thread(0))
        ended = self.simulate(self.written(trace.packed()), *BY_HAND, "--plot", self.folder / "plots")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        for name in ('[red]"é\\x1b[31m ', "$x^$ ", "pid 9 "):
            self.assertIn(f"\n {name}", ended.stdout)

    def test_where_memory_is_free_there_is_no_choice_to_draw(self) -> None:
        ended = self.simulate(self.trace("prog"), "--price", "0", "--plot", self.folder)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertTrue((self.folder / "ratio.png").exists())
        self.assertFalse((self.folder / "frontier.png").exists())
        self.assertRegex(ended.stdout, r"prog +7 +3 +1\.00")

    def test_between_two_points_lies_their_mixture(self) -> None:
        from hakmem_lab.simulate.plots import mixtures

        points = mixtures([(0.0, 100.0), (10.0, 0.0), (20.0, 0.0)])
        self.assertIn((5.0, 50.0), points)
        self.assertEqual((points[0], points[-1]), ((0.0, 100.0), (20.0, 0.0)))
        self.assertTrue(all(idle > 10 or ns == 100 - 10 * idle for idle, ns in points))

    def test_plots(self) -> None:
        folder = self.folder / "new" / "plots"
        ended = self.simulate(self.trace("redis-server", "cc1"), *BY_HAND, "--plot", folder)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        for name in ("ratio", "frontier"):
            packed = (folder / f"{name}.png").read_bytes()
            self.assertEqual(packed[:8], b"\x89PNG\r\n\x1a\n")
            width, height = struct.unpack(">II", packed[16:24])
            self.assertTrue(1000 < width < 1500 and height > 200, (width, height))


class Ends(Simulated):
    """Where a file ends, and where there is little in it."""

    def test_a_torn_end_is_said_and_the_rest_is_used(self) -> None:
        trace = Trace()
        thread = trace.process(7, ["prog"]).thread(0)
        three_gaps(thread)
        thread.close()
        whole = trace.bytes()
        thread.allocate(200, 0x10000, PIECE)
        longer = trace.bytes()
        ends = {"inside a record": gzip.compress(longer[:-3]), "inside the file": gzip.compress(whole)[:-4],
                "inside both": gzip.compress(longer, compresslevel=0)[:-12]}
        for where, packed in ends.items():
            with self.subTest(where):
                ended = self.simulate(self.written(packed), *BY_HAND)
                self.assert_one_line(ended.stderr)
                self.assertIn("torn", ended.stderr)
                self.assertEqual(ended.returncode, 0)
                self.assertRegex(ended.stdout, r"prog +7 +3 +1\.89")

    def test_what_ends_before_its_first_call_is_refused_by_every_reader(self) -> None:
        whole = small_trace(self.folder / "whole.hakt").read_bytes()
        out, ends = self.folder / "out.hakt", {"its end is torn, and no call": whole[:-20]}
        ends |= {"cut off before": whole[:10], "nothing is in it": gzip.compress(b"")}
        readers = (("simulate",), ("simulate", "--tune"), ("sites", "--trace"), ("predict",), ("replay",), ("excerpt",))
        for why, packed in ends.items():
            file = self.written(packed)
            for words in readers if len(packed) <= 30 else readers[:3:2]:  # the others look for a process with calls
                with self.subTest(why, words=words):
                    more = ("-o", str(out)) if words == ("excerpt",) else ("--build", str(BUILD))
                    ended = (hakmem if words[0] in ("sites", "replay") else lab)(*words, str(file), *more)
                    self.assertEqual((ended.returncode, ended.stdout), (2, ""), ended.stderr)
                    self.assertRegex(ended.stderr, rf"\Ahakmem: {file}: [^\n]*{why}[^\n]*\n\Z")

    def test_a_file_of_several_members(self) -> None:
        trace = Trace()
        three_gaps(trace.process(7, ["prog"]).thread(0))
        text = trace.bytes()
        packed = b"".join(gzip.compress(text[at:at + 50]) for at in range(0, len(text), 50))
        ended = self.simulate(self.written(packed), *BY_HAND)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertRegex(ended.stdout, r"prog +7 +3 +1\.89")

    def test_no_block_of_that_size(self) -> None:
        for options, text in ((("--least", str(1 << 20)), "1 MiB"), (("--least", "65537"), "65,537 bytes")):
            ended = self.simulate(self.trace("prog"), *options, "--plot", self.folder / "plots")
            self.assert_one_line(ended.stderr)
            self.assertIn(f"no block of {text} or more was freed", ended.stderr)
            self.assertEqual((ended.returncode, ended.stdout), (0, ""))

    def test_events_that_were_lost_are_said(self) -> None:
        trace = Trace()
        process = trace.process(7, ["prog"], lost=1234)
        three_gaps(process.thread(0))
        ended = self.simulate(self.written(trace.packed()))
        self.assert_one_line(ended.stderr)
        self.assertIn("1,234 events were lost", ended.stderr)


class Refusals(Simulated):
    def test_files_that_are_no_traces(self) -> None:
        good = self.trace("prog")
        packed = good.read_bytes()
        middle = len(packed) // 2
        wrong = {
            "not-packed": b"HAKT" + bytes(100), "empty": b"", "text": gzip.compress(b"hello, world\n" * 100),
            "damaged": packed[:middle] + bytes(4) + packed[middle + 4:], "behind": packed + b"more",
            "version": gzip.compress(gzip.decompress(packed).replace(b"HAKT\1", b"HAKT\2")),
        }
        for name, text in wrong.items():
            with self.subTest(name):
                ended = self.simulate(self.written(text, name))
                self.assert_refused(ended)
                self.assertIn(f"{self.folder / name}: ", ended.stderr)
                self.assert_refused(self.simulate(good, self.folder / name, good))

    def test_files_that_cannot_be_read(self) -> None:
        for path in (self.folder / "none", self.folder):
            self.assert_refused(self.simulate(path))

    def test_options(self) -> None:
        good = self.trace("prog")
        prices = [["--price", price] for price in ("dear", "-1", "1e13", "nan")]
        for options in (*prices, ["--least", "0"], ["--call-ns", "-1"], ["--page-ns", "x"]):
            with self.subTest(options=options):
                self.assert_refused(self.simulate(good, *options))
        self.assert_refused(self.simulate())
        self.assert_refused(lab("simulate", "--build", str(self.folder), str(good)))


class Ending(Simulated):
    """A stand-in for hak_simulate that works for longer than a test may, unless it is ended, or ends at once."""

    def stand_in(self, commands: str) -> Path:
        tool = self.folder / "hak_simulate"
        tool.write_text(f"#!/bin/sh\necho $$ >>{self.folder}/pids\n{commands}\n")
        tool.chmod(0o755)
        return self.folder

    def assert_all_ended(self) -> None:
        """Those that were ended before they could write are not in the file."""
        pids = self.folder / "pids"
        for pid in pids.read_text().split() if pids.exists() else ():
            self.assertFalse(Path("/proc", pid).exists())

    def test_the_first_file_that_fails_ends_the_others(self) -> None:
        build = self.stand_in("exec sleep 1000")
        damaged = self.written(self.trace("prog").read_bytes() + b"more", "damaged")
        ended = lab("simulate", "--build", str(build), str(self.trace("prog")), str(damaged))
        self.assert_refused(ended)
        self.assertIn("damaged", ended.stderr)
        self.assert_all_ended()

    def test_a_signal_ends_all(self) -> None:
        build = self.stand_in("exec sleep 1000")
        command = [LAB, "simulate", "--build", build, self.trace("prog"), self.trace("prog", name="b")]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
            while not (self.folder / "pids").exists():
                time.sleep(0.01)
            running.send_signal(signal.SIGTERM)
            _, wrong = running.communicate()
        self.assertEqual(running.returncode, -signal.SIGTERM)
        self.assert_one_line(wrong)
        self.assert_all_ended()

    def test_a_tool_that_fails(self) -> None:
        cases = {"kill -9 $$": "status -9", "echo hak_simulate: bad luck >&2; exit 1": ": bad luck\n"}
        for commands, text in cases.items():
            ended = lab("simulate", "--build", str(self.stand_in(commands)), str(self.trace("prog")))
            self.assert_refused(ended)
            self.assertIn(text, ended.stderr)


class Tool(Simulated):
    """hak_simulate by itself."""

    def tool(self, text: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([BUILD / "hak_simulate", *options], input=text, capture_output=True, check=False)

    def test_options(self) -> None:
        values = ("--price x", "--bins 0", "--bins 65", "--bins 1.5", "--least 0", "--many 0", "--no", "--price", "file")
        for options in (value.split() for value in values):
            ended = self.tool(b"", *options)
            self.assertEqual((ended.returncode, ended.stdout), (2, b""), options)
            self.assertRegex(ended.stderr, rb"\A[^\n]*hak_simulate: [^\n]+\n\Z")

    def test_many_says_who_is_busy(self) -> None:
        trace = Trace()
        thread = trace.process(7, ["prog"]).thread(0)
        waits(thread, 2, [10**12] * 10, waits(thread, 1, [1] * 10, 0))
        for many, same in (("10", "by site"), ("11", "best fixed")):
            lines = map(json.loads, self.tool(trace.bytes(), "--many", many).stdout.splitlines())
            cost = {line["policy"]: line["cost_ns"] for line in lines if line["kind"] == "policy"}
            self.assertEqual(cost["by busy site"], cost[same])
            self.assertLess(cost["by site"], cost["best fixed"])

    def test_bins_tell_sizes_apart(self) -> None:
        trace = Trace()
        thread = trace.process(7, ["prog"]).thread(0)
        thread.allocate(0, 0x10000, PIECE + 1)
        thread.free(10, 0x10000)
        thread.allocate(20, 0x10000, 2 * PIECE)
        for bins, closed in (("1", b'"open":0'), ("2", b'"open":1')):
            self.assertIn(closed, self.tool(trace.bytes(), "--bins", bins).stdout)

    def peak(self, sites: int) -> int:
        """Bytes, of a trace in which each site has one gap."""
        trace = Trace()
        thread = trace.process(7, ["prog"]).thread(0)
        for n in range(sites):
            thread.allocate(10 * n, 0x100000, PIECE + 16, (0x400000 + 16 * n, 2))
            thread.free(10 * n + 5, 0x100000)
        (self.folder / "raw").write_bytes(trace.bytes())
        line = f"exec {BUILD}/hak_simulate <raw >lines"
        ended = subprocess.run([BUILD / "hak_launcher", "fd:1", "sh", "-c", line], cwd=self.folder, check=True,
                               capture_output=True, text=True)
        return parse_figures(ended.stdout).maxrss_kib << 10

    def test_a_site_with_one_gap_takes_little_memory(self) -> None:
        """Not a row of all keep times: with one it would be 1,000 bytes and more."""
        few, many = 1_000, 50_000
        self.assertLess((self.peak(many) - self.peak(few)) / (many - few), 500)

    def test_what_cannot_be_written(self) -> None:
        with open("/dev/full", "wb") as full:
            ended = subprocess.run([BUILD / "hak_simulate"], input=b"", stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stderr, rb"\Ahak_simulate: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
