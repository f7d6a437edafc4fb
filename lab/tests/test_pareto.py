# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab pareto`: its arithmetic on figures that are known, the launcher's samples, and one small program from end to end."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest

from dataclasses import replace
from pathlib import Path

import numpy as np
from laboratory import lab
from support import BUILD, ROOT, Scratch

from hakmem.base.console import stdout_console
from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator, find_allocators
from hakmem_lab.bench.statistics import Ratio
from hakmem_lab.csv_rows import names_of
from hakmem_lab.pareto import floor, programs, rows, verdict
from hakmem_lab.pareto.configurations import Configuration, all_of, named
from hakmem_lab.pareto.integral import MIB, SECOND_NS, WALL, Phase, Samples, Steps, integral, read_samples, steps_of_means
from hakmem_lab.pareto.perform import Context, measure, measure_floor
from hakmem_lab.pareto.report import report
from hakmem_lab.pareto.rows import Row
from hakmem_lab.pareto.session import Order, done_before, turns
from hakmem_lab.pareto.verdict import Point, least_memory, least_time, memory_ratio, programs_of, time_ratio

sys.path.insert(0, str(ROOT / "tests" / "trace"))
from writer import Trace  # noqa: E402

MS = SECOND_NS // 1000
HAKMEM = Allocator("hakmem", None, "1", "aa")
OTHER = Allocator("other", None, "1", "bb")


class Integrals(unittest.TestCase):
    def test_between_samples_it_changes_evenly(self) -> None:
        ns, mib = np.asarray([0.0, 1, 3]) * SECOND_NS, np.asarray([0.0, 10, 10])
        self.assertAlmostEqual(integral(ns, mib, 0, 3 * SECOND_NS), 25)
        self.assertAlmostEqual(integral(ns, mib, 0.5 * SECOND_NS, 2 * SECOND_NS), 0.5 * 7.5 + 10)

    def test_parts_sum_to_the_whole(self) -> None:
        ns, mib = np.asarray([0.0, 1, 2, 5]) * SECOND_NS, np.asarray([3.0, 9, 1, 4])
        cuts = [0, 0.3, 1, 1.7, 5]
        parts = [integral(ns, mib, a * SECOND_NS, b * SECOND_NS) for a, b in zip(cuts, cuts[1:])]
        self.assertAlmostEqual(sum(parts), integral(ns, mib, 0, 5 * SECOND_NS))

    def test_outside_of_the_samples_it_stays(self) -> None:
        ns, mib = np.asarray([1.0, 2]) * SECOND_NS, np.asarray([4.0, 6])
        self.assertAlmostEqual(integral(ns, mib, 0, 3 * SECOND_NS), 4 + 5 + 6)

    def test_nothing_of_no_time(self) -> None:
        self.assertEqual(integral(np.asarray([0.0, 1]), np.asarray([1.0, 1]), 5, 5), 0)

    def test_steps(self) -> None:
        steps = Steps(np.asarray([1.0, 2]) * SECOND_NS, np.asarray([5.0, 1]))
        self.assertAlmostEqual(steps.integral(0, 4 * SECOND_NS), 5 + 2)
        self.assertAlmostEqual(steps.integral(1.5 * SECOND_NS, 2.5 * SECOND_NS), 2.5 + 0.5)

    def test_steps_of_means(self) -> None:
        steps = steps_of_means([10, 20], [4, 8], 0, 1)
        self.assertAlmostEqual(steps.integral(0, 30) * SECOND_NS, 40 + 80 + 10)

    def test_by_its_own_clock_waiting_costs_nothing(self) -> None:
        """A second at work with 4 MiB, three that it waits with 100."""
        ns = np.asarray([0, 1, 1.001, 4]) * SECOND_NS
        mib = np.asarray([4.0, 4, 100, 100])
        samples = Samples(ns, mib, mib, np.asarray([0, 1, 1, 1]) * SECOND_NS)
        whole = Phase("whole", 0, 4 * SECOND_NS)
        clock = samples.own_clock(whole, 1.0)
        shown = clock.during(whole)
        self.assertAlmostEqual(shown.seconds, 1)
        self.assertAlmostEqual(integral(clock(ns), mib, shown.start_ns, shown.end_ns), 4)
        self.assertEqual(WALL.during(whole), whole)


class Fronts(unittest.TestCase):
    FRONT = [Point(1.0, 100), Point(1.2, 50), Point(2.0, 10)]

    def test_between_prices_it_is_a_line(self) -> None:
        self.assertAlmostEqual(least_memory(self.FRONT, 1.1), 75)
        self.assertAlmostEqual(least_time(self.FRONT, 75), 1.1)
        self.assertAlmostEqual(least_time(self.FRONT, 30), 1.6)

    def test_more_than_all_is_the_best_of_all(self) -> None:
        self.assertEqual(least_memory(self.FRONT, 9), 10)
        self.assertEqual(least_time(self.FRONT, 900), 1.0)

    def test_there_may_be_no_equal(self) -> None:
        self.assertIsNone(least_memory(self.FRONT, 0.9))
        self.assertIsNone(least_time(self.FRONT, 9))

    def test_a_price_that_is_worse_in_both_changes_nothing(self) -> None:
        self.assertEqual(least_memory([Point(1, 10), Point(2, 20)], 2), 10)

    def test_within_one_percent_is_equal(self) -> None:
        front = [Point(1.01, 7), Point(1.5, 1)]
        self.assertAlmostEqual(memory_ratio(front, Point(1.0, 10)), 0.7)
        self.assertIsNone(memory_ratio([Point(1.0101, 7)], Point(1.0, 10)))

    def test_time_at_equal_memory(self) -> None:
        self.assertAlmostEqual(time_ratio(self.FRONT, Point(1.0, 75)), 1.1)
        self.assertAlmostEqual(time_ratio(self.FRONT, Point(2.0, 75)), 0.55)

    def test_the_hardest_peer_counts(self) -> None:
        self.assertEqual(verdict.worst({"a": 0.4, "b": 0.9})[0], "b")
        self.assertEqual(verdict.worst({"a": 0.4, "b": None, "c": 3.0})[0], "b")

    def test_a_peer_at_the_floor_is_met_only_at_the_floor(self) -> None:
        self.assertEqual(verdict.quotient(-1, -5), 1)
        self.assertGreater(verdict.quotient(1, -5), 100)


def run_rows(configuration: str, settings: str, number: int, cpu: float, mib_s: list[float], allocator: str = "hakmem",
             program: str = "p") -> list[Row]:
    """A server of two phases of a second each."""
    start = (program, "server", configuration, allocator, "v" + allocator, settings, number)
    phases = [Row(*start, f"phase {n}", rows.OK, wall_s=1.0, clock_s=1.0, anonymous_mib_s=mib) for n, mib in enumerate(mib_s)]
    return [*phases, Row(*start, "whole", rows.OK, wall_s=2.0, clock_s=2.0, cpu_s=cpu, anonymous_mib_s=sum(mib_s),
                         rss_mib_s=sum(mib_s))]


def floor_rows(program: str = "p") -> list[Row]:
    """Twice as slow: 10 MiB and 20 MiB; in the second phase more was asked for than was touched."""
    start = (program, "server", rows.FLOOR, "hakmem", "vhakmem", "", 0)
    return [Row(*start, "phase 0", rows.OK, wall_s=2.0, clock_s=2.0, live_mib_s=16, heap_mib_s=30, outside_mib_s=4),
            Row(*start, "phase 1", rows.OK, wall_s=2.0, clock_s=2.0, live_mib_s=90, heap_mib_s=36, outside_mib_s=4),
            Row(*start, "whole", rows.OK, wall_s=4.0)]


def several(evolving: float, rounds: int = 6) -> list[Row]:
    """Rounds with a little noise; evolving takes that part of the baseline's time and excess."""
    found = floor_rows()
    for number in range(rounds):
        noise = 1 + 0.001 * (number % 3)
        found += run_rows("baseline", "mode=baseline,price=balanced", number, 1.0 * noise, [10 + 4, 20 + 6])
        found += run_rows("evolving", "mode=evolving,price=balanced", number, evolving * noise,
                          [10 + 4 * evolving, 20 + 6 * evolving])
        found += run_rows("other", "", number, 1.0 * noise, [10 + 10, 20 + 10], "other")
    return found


class Verdicts(unittest.TestCase):
    def program(self, found: list[Row]) -> verdict.Program:
        (program,) = programs_of(found)
        return program

    def test_excess_is_above_the_floor_of_each_phase(self) -> None:
        program = self.program(several(0.5, 1))
        self.assertEqual(program.floor_mib, {"phase 0": 10, "phase 1": 20})
        self.assertAlmostEqual(program.runs["baseline"].point.excess_mib_s, 10)
        self.assertAlmostEqual(program.runs["evolving"].point.excess_mib_s, 5)

    def longer(self, kind: str) -> verdict.Program:
        """15 MiB above the floor for three seconds in one run, 5 MiB for one in two others."""
        slow = [replace(row, clock_s=3.0) if row.phase == "phase 0" else row for row in run_rows("a", "", 0, 1.0, [75, 20])]
        others = [row for number in (1, 2) for row in run_rows("a", "", number, 1.0, [15, 20])]
        return self.program([replace(row, kind=kind) for row in [*floor_rows(), *slow, *others]])

    def test_a_phase_of_a_server_lasts_as_long_as_usual(self) -> None:
        self.assertEqual(self.longer("server").runs["a"].excess, {0: 15, 1: 5, 2: 5})

    def test_a_batch_program_has_its_own_time(self) -> None:
        self.assertEqual(self.longer("batch").runs["a"].excess, {0: 45, 1: 5, 2: 5})

    def test_the_floor_is_the_mean_of_all(self) -> None:
        again = [replace(row, round=1, outside_mib_s=row.outside_mib_s + 8) for row in floor_rows()]
        self.assertEqual(self.program(several(0.5, 1) + again).floor_mib["phase 0"], 12)

    def test_front_and_peers(self) -> None:
        program = self.program(several(0.5))
        self.assertEqual(list(program.front), ["evolving"])
        self.assertEqual(list(program.peers), ["other"])
        self.assertAlmostEqual(program.memory_ratios()["other"], 0.25)
        self.assertAlmostEqual(program.time_ratios()["other"], 0.5)
        self.assertTrue(program.meets_front())
        self.assertFalse(self.program(several(1.5)).meets_front())

    def test_prices_are_in_order_and_ablations_no_part_of_it(self) -> None:
        found = floor_rows()
        for name, settings in (("lean", "mode=evolving,price=lean"), ("evolving", "mode=evolving"),
                               ("half", "mode=evolving,price=300000"), ("no x", "lab_learn_x=off,mode=evolving,price=balanced"),
                               ("fast", "mode=evolving,price=speed"), ("baseline", "mode=baseline,price=lean")):
            found += run_rows(name, settings, 0, 1.0, [20, 30])
        self.assertEqual(list(self.program(found).front), ["fast", "half", "evolving", "lean"])

    def test_intervals(self) -> None:
        better, worse, same = (self.program(several(part)) for part in (0.9, 1.1, 1.0))
        better.name, worse.name, same.name = "better", "worse", "same"
        for what in (verdict.CPU, verdict.MEMORY, verdict.COST):
            with self.subTest(what):
                found = verdict.intervals([better, worse, same], what)
                self.assertEqual((found.judged, len(found.worse), len(found.better)), (3, 1, 1))
        three = [replace(better, name=str(number)) for number in range(3)]
        self.assertTrue(verdict.intervals([*three, same], verdict.CPU).met)
        self.assertFalse(verdict.intervals([*three[:2], same], verdict.CPU).met)
        self.assertFalse(verdict.intervals([*three, worse], verdict.CPU).met)

    def test_the_bounds_themselves_are_not_beyond(self) -> None:
        class Fixed(verdict.Program):
            def against(self, ours: str, theirs: str) -> dict[str, Ratio]:
                return {verdict.CPU: Ratio(1.0, *self.bounds)}  # type: ignore[attr-defined]

        for bounds, worse, better in (((1.02, 1.1), 0, 0), ((1.021, 1.1), 1, 0), ((0.9, 0.97), 0, 0), ((0.9, 0.969), 0, 1)):
            program = Fixed("p", "server", {}, {})
            program.bounds = bounds  # type: ignore[attr-defined]
            found = verdict.intervals([program], verdict.CPU)
            self.assertEqual((len(found.worse), len(found.better)), (worse, better), bounds)

    def test_too_few_rounds_are_not_judged(self) -> None:
        self.assertEqual(verdict.intervals([self.program(several(0.5, 4))], verdict.CPU).judged, 0)

    def test_cost_is_time_and_rent(self) -> None:
        runs = self.program(several(1.0, 1)).runs["baseline"]
        self.assertAlmostEqual(runs.cost(0, 640_000), 1.0 + 10 * 0.00064)

    def test_two_builds_are_refused(self) -> None:
        found = several(0.5, 2)
        found[-4] = replace(found[-4], version="another")
        with self.assertRaisesRegex(Refusal, "two libraries"):
            programs_of(found)


class Files(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "rows.csv"

    def test_there_and_back(self) -> None:
        found = several(0.75, 2)
        rows.append(self.file, found[:5])
        rows.append(self.file, found[5:])
        for there, back in zip(found, rows.read(self.file), strict=True):
            self.assertEqual((there.program, there.settings, there.phase, there.round), (back.program, back.settings, back.phase, back.round))
            self.assertAlmostEqual(there.anonymous_mib_s, back.anonymous_mib_s, places=5)
            self.assertAlmostEqual(there.cpu_s, back.cpu_s, places=5)

    def test_runs_that_failed_or_were_cut_off_are_not_there(self) -> None:
        whole, cut = run_rows("baseline", "", 0, 1.0, [1, 2]), run_rows("baseline", "", 1, 1.0, [1, 2])[:-1]
        failed = [replace(run_rows("baseline", "", 2, 1.0, [1, 2])[-1], outcome="was killed")]
        self.assertEqual(rows.complete([*whole, *cut, *failed]), whole)

    def test_other_files_and_damage_are_refused(self) -> None:
        for text in ("a,b\n1,2\n", "", ",".join(names_of(Row)) + "\np,server,c,a,v,,zero,whole,ok,1,1,1,1,1,1,1,1,1\n"):
            self.file.write_text(text)
            with self.assertRaises(Refusal):
                rows.read(self.file)

    def order(self, configurations: list[Configuration]) -> Order:
        return Order(list(programs.PROGRAMS[:2]), configurations, HAKMEM, 2, 2, 1, self.file)

    def test_every_turn_once_and_each_first_in_turn(self) -> None:
        order = self.order([Configuration("a", HAKMEM), Configuration("b", HAKMEM)])
        planned = list(turns(order))
        self.assertEqual(len(planned), 2 * 2 + 2 * 2 * 2)
        self.assertEqual([one.name for one in planned], ["floor"] * 4 + ["a", "b", "b", "a"] + ["b", "a", "a", "b"])

    def test_what_is_done_is_known_by_its_library_and_settings(self) -> None:
        rows.append(self.file, run_rows("a", "", 0, 1.0, [1, 1], program="redis"))
        self.assertEqual(done_before(self.order([Configuration("b", HAKMEM)])), {("redis", "a", "vhakmem", 0)})
        for changed in (Configuration("a", HAKMEM), Configuration("a", Allocator("hakmem", None, "", "vhakmem"), {"price": "lean"})):
            with self.assertRaisesRegex(Refusal, "name another file"):
                done_before(self.order([changed]))


class Configurations(unittest.TestCase):
    def test_usual(self) -> None:
        found = all_of([HAKMEM, OTHER], [])
        self.assertEqual([one.name for one in found], ["baseline", "evolving", "evolving-speed", "evolving-lean", "other"])
        self.assertEqual(found[1].variables, {"HAKMEM_MODE": "evolving", "HAKMEM_PRICE": "balanced"})

    def test_named(self) -> None:
        one = named("mine:mode=evolving,price=1000", HAKMEM)
        self.assertEqual((one.name, one.settings), ("mine", {"mode": "evolving", "price": "1000"}))
        for wrong in (":price=1", "a:price", "a:=1", "a:prize=lean"):
            with self.subTest(wrong), self.assertRaises(Refusal):
                named(wrong, HAKMEM)

    def test_twins_are_refused(self) -> None:
        with self.assertRaises(Refusal):
            all_of([HAKMEM], ["a:price=1", "a:price=2"])

    def test_half_of_the_programs_are_servers(self) -> None:
        kinds = [row.kind for row in programs.PROGRAMS]
        self.assertGreaterEqual(len(kinds), 12)
        self.assertGreaterEqual(2 * kinds.count(programs.SERVER), len(kinds))
        listed = (ROOT / "scripts" / "pareto.txt").read_text().splitlines()
        packages = dict(line.split(": ") for line in listed if line and not line.startswith("#"))
        self.assertEqual(packages, {row.name: row.package for row in programs.PROGRAMS})


SMAPS = b"""\
1000-2000 rw-p 00000000 00:00 0
Anonymous:            40 kB
VmFlags: rd wr mr mw me ac rr
2000-3000 rw-p 00000000 00:00 0 [heap]
Anonymous:             8 kB
VmFlags: rd wr mr mw me ac
5000-6000 rw-p 00000000 08:01 77 /lib/libhakmem.so
Anonymous:             4 kB
VmFlags: rd wr mr mw me ac
6000-7000 rw-p 00000000 00:00 0
Anonymous:            16 kB
VmFlags: rd wr mr mw me ac
8000-9000 rw-p 00000000 00:00 0
Anonymous:             1 kB
VmFlags: rd wr mr mw me ac
"""


class Floors(unittest.TestCase):
    def test_marked_mappings_and_the_librarys_own_data_are_the_heap(self) -> None:
        self.assertEqual(floor.split(SMAPS, "/lib/libhakmem.so"), (40 + 4 + 16, 8 + 1))
        self.assertEqual(floor.split(SMAPS, "/lib/other.so"), (40, 8 + 4 + 16 + 1))

    def live(self, trace: Trace, *options: str) -> list[dict[str, float]]:
        with tempfile.TemporaryFile() as file:
            file.write(trace.bytes())
            file.seek(0)
            done = subprocess.run([BUILD / "hak_live", *options], stdin=file, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_live_bytes_over_time(self) -> None:
        trace = Trace()
        thread = trace.process(7, ["/bin/p"]).thread(0)
        thread.allocate(0, 0x10, 1 * MIB)
        thread.allocate(100 * MS, 0x20, 3 * MIB)
        thread.free(300 * MS, 0x20)
        thread.allocate(400 * MS, 0x30, 1)
        curves = floor.curves_of(iter(self.live(trace)))
        self.assertEqual([curve.pid for curve in curves], [7])
        looks = {7: [floor.Look(0, 1000, 2.0), floor.Look(500 * MS, 1000, 2.0)]}
        (found,) = floor.floors([Phase("whole", 0, 500 * MS)], curves, looks, 0)
        self.assertAlmostEqual(found.live_mib_s, 0.1 * 1 + 0.2 * 4 + 0.2 * 1, delta=0.005)
        self.assertAlmostEqual(found.outside_mib_s, 0.5 * 2, delta=0.001)

    def test_a_wrong_step_and_no_trace(self) -> None:
        for options in (("--step", "0"), ("--step", "x"), ("--other",)):
            self.assertEqual(subprocess.run([BUILD / "hak_live", *options], input=b"", capture_output=True).returncode, 2)
        self.assertEqual(subprocess.run([BUILD / "hak_live"], input=b"none", capture_output=True).returncode, 1)


class Sampling(Scratch):
    def sampled(self, *words: str) -> Samples:
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "samples"
        subprocess.run([self.places.launcher, "-s", file, "fd:2", *words], check=True, stderr=subprocess.DEVNULL)
        return read_samples(file)

    def test_memory_of_children_too(self) -> None:
        child = "a = bytearray(64 << 20); import time; time.sleep(0.2)"
        found = self.sampled("sh", "-c", f"/usr/bin/python3 -c '{child}'; true")
        self.assertGreater(found.anonymous_mib.max(), 64)
        self.assertTrue(np.all(np.diff(found.ns) > 0))
        self.assertGreater(found.cpu_ns.max(), 0)
        self.assertTrue(np.all(found.anonymous_mib <= found.resident_mib))

    def test_orphans_are_in_the_figures(self) -> None:
        busy = "import time\nwhile time.process_time() < 0.3: pass"
        orphan = f"import os, time\nif os.fork() == 0:\n  os.setsid()\n  exec({busy!r})\n  os._exit(0)\n"
        wait = "import time; time.sleep(1.5)"
        line = subprocess.run(
            [self.places.launcher, "-s", "/dev/null", "fd:1", "/usr/bin/python3", "-c", orphan + wait],
            capture_output=True, text=True, check=True).stdout
        figures = dict(pair.split("=") for pair in line.split())
        self.assertGreater(int(figures["user_us"]) + int(figures["sys_us"]), 250_000)

    def test_a_file_that_cannot_be_made(self) -> None:
        done = subprocess.run([self.places.launcher, "-s", "/no/such/file", "fd:1", "true"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (125, ""))


TINY = """\
blocks = [bytearray(b'x') * (3 << 20) for _ in range(8)]
import time
while time.process_time() < 0.3: pass
print(len(blocks))
"""


class EndToEnd(Scratch):
    def test_a_small_program(self) -> None:
        """Its floor is what it asked for, and HAKMEM is above it by less than that."""
        row = programs.Real("tiny", "python3", ("/usr/bin/python3",), ("/usr/bin/python3", "-s", "tiny.py"), "python3",
                            {"tiny.py": lambda: TINY}, {"PYTHONMALLOC": "malloc"})
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        context = Context(self.places, folder, 60)
        allocators, _ = find_allocators(self.places.so_file, [])
        ours, glibc = (next(one for one in allocators if one.name == name) for name in ("hakmem", "glibc"))
        file = folder / "rows.csv"
        rows.append(file, rows.rows_of_floor(row, ours, 0, measure_floor(context, row, ours)))
        for configuration in (named("evolving:mode=evolving", ours), Configuration("glibc", glibc)):
            rows.append(file, rows.rows_of_run(row, configuration, 0, measure(context, row, configuration)))
        (program,) = programs_of(rows.complete(rows.read(file)))
        self.assertGreater(program.floor_mib["whole"], 5)
        self.assertLess(program.floor_mib["whole"], 40)
        excess = program.runs["evolving"].point.excess_mib_s
        self.assertLess(abs(excess), 24 * program.runs["evolving"].wall_s[0])
        self.assertEqual(report(file, folder / "report", stdout_console()), 0)
        for name in ("pareto.md", "pareto.png", "pareto.svg"):
            self.assertTrue((folder / "report" / name).stat().st_size)

    def test_what_was_served_by_another_has_no_figure(self) -> None:
        row = programs.Real("static", "-", (), ("/bin/true",), "true")
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        mine = Allocator("other", self.places.so_file, "")
        glibc = next(one for one in find_allocators(None, [])[0] if one.name == "glibc")
        measure_row = replace(row, words=("/usr/bin/env", f"LD_PRELOAD={self.places.identity_probe} {mine.so_file}",
                                          "/bin/true"))
        with self.assertRaisesRegex(Refusal, "served by"):
            measure(Context(self.places, folder, 60), measure_row, Configuration("glibc", glibc))

    def test_the_command(self) -> None:
        self.assertEqual(lab("pareto", "--list").returncode, 0)
        for wrong in (("--programs", "rediss"), ("--config", "a:prize=1"), ("--allocators", "none")):
            done = lab("pareto", *wrong, "--output", "/no/such/folder/x.csv")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertEqual(lab("pareto", "report", "/no/such.csv").returncode, 2)


if __name__ == "__main__":
    unittest.main()
