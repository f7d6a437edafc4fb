# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the rows about memory print, and what is made of it. Only counts are judged, no time and no resident set."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from support import COMMAND, clean_environment
from workbench import BUILD, ON_GLIBC, ON_HAKMEM, WithContext, real_row, row

from hakmem_lab.bench import comeback, limit
from hakmem_lab.bench.judge import Judge
from hakmem_lab.bench.measures import comeback_sheets
from hakmem_lab.bench.page import write_report
from hakmem_lab.bench.real import run_real
from hakmem_lab.bench.record import COUNTED, Metric, Moment, Recorder, Run
from hakmem_lab.bench.results import Results
from hakmem_lab.bench.retain import retain_lines, retain_targets

SPARE_MAPPINGS = 200  # of the program, its libraries and the allocator
MAPPINGS_PER_THREAD = 2  # its stack, and the page that guards it
IDLE_THREADS = 8
NEEDED_MOST_KIB = limit.LIMIT_BYTES // 1024 * 9 // 10


def printed(program: str, *words: str) -> dict[str, float]:
    """The numbers that a row prints on HAKMEM."""
    variables = os.environ | {"LD_PRELOAD": str(BUILD / "libhakmem.so")}
    done = subprocess.run([BUILD / "bench" / program, *words], capture_output=True, text=True, env=variables)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"{program} {' '.join(words)}: {done.returncode} {done.stderr}")
    pairs = (line.split("=") for line in done.stdout.splitlines())
    return {name: float(value) for name, value in pairs if name != "row"}


class Rows(unittest.TestCase):
    def test_mappings_stay_bounded(self) -> None:
        cases = {
            ("hak_idle", "idle", "threads=1000"): 1000,
            ("hak_frag", "frag", "mib=256"): 0,
            ("hak_frag", "frag_idle_threads", "mib=256"): IDLE_THREADS,
            ("hak_frag", "frag_waited_threads", "mib=256"): IDLE_THREADS,
        }
        for words, threads in cases.items():
            with self.subTest(row=words[1]):
                self.assertLessEqual(printed(*words)["maps"], SPARE_MAPPINGS + MAPPINGS_PER_THREAD * threads)

    def test_a_day_and_a_night(self) -> None:
        for name in ("daynight", "daynight_single"):
            with self.subTest(row=name):
                found = printed("hak_daynight", name, "busy=1", "idle=1", "repeats=1", "mib=20")
                self.assertGreater(min(found["busy_mib_seconds"], found["idle_mib_seconds"]), 0)
                both = found["busy_mib_seconds"] + found["idle_mib_seconds"]
                self.assertAlmostEqual(found["mib_seconds"], both, places=6)
                self.assertAlmostEqual(found["live_mib_seconds"], 20 * (0.6 + 0.2))
                self.assertEqual(found["operations_per_second"], found["operations"])

    def test_a_tenth_of_the_limit_is_to_spare_for_who_keeps_nothing(self) -> None:
        for name in ("survive_1", "survive_4"):
            with self.subTest(row=name):
                self.assertLessEqual(printed("hak_survive", name)["need_kib"], NEEDED_MOST_KIB)


class Kept(unittest.TestCase):
    """What the programs of the group kept count themselves."""

    def test_the_most_that_is_live_is_exact(self) -> None:
        for name, threads in (("kept_slots_4x4_40", 1), ("kept_slots_4x4_40_thread", 1), ("kept_slots_2x2_20_8t", 8)):
            with self.subTest(row=name):
                found = printed("hak_kept_slots", name, "milliseconds=20", "slots=3", "least=1", "most=1")
                self.assertEqual(found["most_live_kib"], 3 * 1024 * threads)
                self.assertGreater(found["operations_per_second"], 0)

    def test_every_block_of_a_burst_is_taken_again(self) -> None:
        found = printed("hak_kept_bursts", "kept_bursts", "mib=10", "pause_ms=0")
        blocks = (10 << 20) // 1000
        stay = -(-blocks // 50)
        self.assertEqual(found["operations"], stay + 4 * (blocks - stay))
        self.assertAlmostEqual(found["most_live_kib"] * 1024, blocks * 1000)
        self.assertAlmostEqual(found["live_kib"] * 1024, stay * 1000)
        self.assertGreater(min(found[f"rss_pause_{i}_kib"] for i in (1, 2, 3, 4)), found["floor_kib"])

    def test_aligned_blocks_have_as_many_addresses_as_bytes(self) -> None:
        found = printed("hak_kept_aligned", "kept_aligned", "blocks=40", "rounds=0")
        self.assertEqual(found["range_kib"], found["most_live_kib"])
        found = printed("hak_kept_aligned", "kept_aligned", "blocks=40", "rounds=3")
        self.assertGreaterEqual(found["range_kib"], found["most_live_kib"])
        self.assertEqual(found["operations"], 3 * 40)

    def test_idle_threads_tell_what_is_resident_after_the_trim(self) -> None:
        found = printed("hak_kept_idle_threads", "kept_idle_threads", "threads=4")
        self.assertEqual(found["most_live_kib"] * 1024, 4 * 63898 * 64)
        self.assertLessEqual(found["rss_trimmed_kib"], found["rss_freed_kib"])
        self.assertNotIn("rss_waited_kib", found)

    def test_a_period_is_the_whole_sum(self) -> None:
        found = printed("hak_kept_period", "kept_period_big", "mib=12", "period_ms=0", "periods=3")
        self.assertEqual((found["operations"], found["most_live_kib"]), (9, 12 << 10))

    def test_periods_that_stop(self) -> None:
        """Every page is fetched once, so the faults of ten periods are bounded by all that is used in them."""
        found = printed("hak_period", "period_big", "mib=12", "period_ms=20", "periods=12", "silent=3")
        self.assertEqual((found["operations"], found["most_live_kib"]), (12 * 3, 12 << 10))
        self.assertGreaterEqual(found["faults_first_ten"], 12 << 8)
        self.assertEqual(found["faults_per_period"], found["faults_later"] / 2)
        self.assertIn("rss_silent_3_kib", found)
        self.assertNotIn("rss_silent_5_kib", found)
        self.assertEqual(printed("hak_period", "period_nights", "mib=20", "period_ms=0", "periods=11")["operations"],
                         11 * (12 * 16 + 3 * 20))


class WithinALimit(WithContext):
    def setUp(self) -> None:
        super().setUp()
        why_not = limit.no_group()
        if why_not:
            self.skipTest(why_not)

    def test_the_doctor_names_the_group_and_its_limit(self) -> None:
        with limit.memory_group() as group:
            command = limit.inside(group, [str(COMMAND), "doctor", "--build", str(BUILD), "--json"])
            told = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=False).stdout
        found = {each["about"]: each["found"] for each in json.loads(told)["findings"]}["control group"]
        self.assertIn(f"{limit.LIMIT_BYTES >> 20}.0 MiB", found)
        self.assertIn(group.name, found)

    def test_a_program_that_needs_more_is_said_to_die(self) -> None:
        benchmark = row("survive_1", "hak_survive", once=True)
        for argument, survived in (("mib=20", 1), ("mib=300", 0)):
            with self.subTest(argument):
                asked = replace(benchmark, arguments=(argument,))
                found = {one.name: one.value for one in limit.within_limit(self.context, asked, ON_GLIBC)}
                self.assertEqual(found[comeback.SURVIVED], survived)
                self.assertGreater(found[comeback.LIMIT_PEAK], 20 << 10)


class Redis(WithContext):
    def test_it_tells_what_is_resident_in_each_phase(self) -> None:
        _, metrics = run_real(self.context, real_row("redis"), ON_HAKMEM, 0, COUNTED)
        found = {one.name: one.value for one in metrics}
        self.assertEqual(list(found), ["rss_full_kib", "rss_deleted_kib", "rss_idle_kib"])
        self.assertGreater(min(found.values()), 0)


# ---- what is made of the figures ----

FIGURES = {  # allocator -> row -> metric -> value
    "hakmem": {
        "frag": {"parameter_mib": 512, "start_kib": 12, "floor_kib": 100, "rss_freed_kib": 900, "rss_trimmed_kib": 112},
        "daynight": {"mib_seconds": 60, "operations_per_second": 2000, "parameter_busy": 1, "parameter_idle": 1,
                     "parameter_repeats": 2, "parameter_mib": 10},
        "idle": {"rss_idle_kib": 50, "idle_kib_per_thread": 1, "maps": 9},
        "kept_slots_1x1_9": {"operations_per_second": 300, "most_live_kib": 400},
        "kept_bursts": {"rss_pause_1_kib": 200, "rss_pause_2_kib": 300, "most_live_kib": 900},
        "kept_slots_2x2_20_8t": {"operations_per_second": 70, "most_live_kib": 900},
        "kept_new_thread": {"beside_ratio": 1.1},
        "kept_aligned": {"range_kib": 1000, "most_live_kib": 1000},
        "kept_idle_threads": {"rss_trimmed_kib": 200},
        "kept_period_big": {"faults_per_period": 60, "rss_rest_kib": 100, "most_live_kib": 50},
        "survive_1": {"limit_survived": 1, "limit_peak_kib": 200 << 10},
    },
    "glibc": {
        "kept_slots_1x1_9": {"operations_per_second": 100},
        "kept_slots_2x2_20_8t": {"operations_per_second": 80},
        "kept_idle_threads": {"rss_trimmed_kib": 100},
        "kept_period_big": {"faults_per_period": 50, "rss_rest_kib": 90},
        "frag": {"parameter_mib": 512, "start_kib": 10, "floor_kib": 100, "rss_freed_kib": 600, "rss_trimmed_kib": 210},
        "survive_1": {"limit_survived": 0, "limit_peak_kib": 256 << 10},
    },
    "mimalloc": {
        "frag": {"parameter_mib": 512, "start_kib": 14, "floor_kib": 80, "rss_freed_kib": 810},
        "daynight": {"mib_seconds": 100, "operations_per_second": 1000},
        "kept_period_big": {"faults_per_period": 1, "rss_rest_kib": 110},
        "idle": {"rss_idle_kib": 40},
    },
}
GROUPS = {"frag": "frag", "daynight": "daynight", "idle": "idle", "survive_1": "survive"}


class Conclusions(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        recorder = Recorder(self.folder)
        for allocator, rows in FIGURES.items():
            for name, metrics in rows.items():
                recorder.add(Run(name, GROUPS.get(name, "kept"), allocator, 0, COUNTED, "ok", ns=1.0, peak_rss_kib=1000))
                recorder.add(*(Metric(name, allocator, 0, metric, value, "") for metric, value in metrics.items()))
            recorder.add(*(Moment("daynight", allocator, second / 2, 5000) for second in range(9)))
        self.results = Results(self.folder)

    def test_ratios_leave_out_what_the_program_itself_takes(self) -> None:
        self.assertEqual(comeback.times_own_floor(self.results, "frag"), {"hakmem": 1.02, "glibc": 2.0, "mimalloc": 10})
        self.assertEqual(comeback.times_glibc_floor(self.results, "frag"), {"hakmem": 1, "glibc": 1, "mimalloc": 0.8})

    def test_targets(self) -> None:
        met = {target.text: target.met for target in Judge(self.results).targets}
        self.assertTrue(met["frag: RSS / pages that hold a live byte"])
        self.assertTrue(met["frag: rows in which a peer keeps less"])
        self.assertTrue(met["daynight: MiB × s, mimalloc"])
        self.assertFalse(met["idle threads: RSS, mimalloc"])
        self.assertTrue(met["rows that live within 256 MiB"])

    def test_what_is_kept_is_set_against_what_was_live(self) -> None:
        said = {(row, text): dict(of) for row, text, of, _ in retain_lines(self.results) if of}
        self.assertEqual(said["kept_slots_1x1_9", "peak RSS / most live"], {"hakmem": 2.5})
        self.assertEqual(said["kept_slots_1x1_9", "replacements / s"], {"hakmem": 300, "glibc": 100})
        self.assertEqual(said["kept_bursts", "RSS in the second pause / the first"], {"hakmem": 1.5})

    def test_targets_of_what_is_kept(self) -> None:
        found = {target.text: (target.measured, target.met) for target in retain_targets(self.results)}
        self.assertEqual(found, {
            "kept_slots, balanced, one slot: peak RSS / most live": ("2.500", False),
            "kept_slots, balanced, one slot: replacements / s, best peer": ("3.000 of glibc", True),
            "kept_slots_2x2_20_8t: replacements / s, best peer as lean": ("0.875 of glibc", False),
            "kept_bursts: RSS in a pause / in the first": ("1.500", False),
            "kept_new_thread: a pair beside 200 threads / alone": ("1.100", True),
            "kept_aligned: addresses used / most live": ("1.000", True),
            "kept_aligned: peak RSS / most live": ("1.000", True),
            "kept_idle_threads: RSS after the trim / glibc's after the trim": ("2.000", False),
            "kept_period_big: page faults, best peer as lean": ("1.200 of glibc", False),
        })

    def test_tables_and_the_plot(self) -> None:
        sheets = {sheet.title: sheet for sheet in comeback_sheets(self.results)}
        survival = [cell.text for cell in sheets["within a control group of 256 MiB"].rows[0]]
        self.assertEqual(survival[2:], ["lived, 200", "died", "–"])
        write_report(self.folder)
        self.assertTrue((self.folder / "plots" / "daynight.png").is_file())
        self.assertIn("Memory that comes back", (self.folder / "report.html").read_text())


if __name__ == "__main__":
    unittest.main()
