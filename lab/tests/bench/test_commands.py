# SPDX-License-Identifier: MIT OR Apache-2.0
"""The benchmark programs and `hakmem-lab bench`, run as a user would. No figure is judged, only its proof and its end."""

from __future__ import annotations

import csv
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from forked import run_forked

from hakmem_lab.bench.catalogue import QUICK, SCALING, all_benchmarks
from hakmem_lab.bench.cell import Benchmark

BUILD = Path(os.environ["HAK_BUILD"])
FORWARDER = Path(os.environ["HAK_FORWARDER"])
LIBRARY = BUILD / "libhakmem.so"
BAD_USAGE, NOT_PROVEN = 2, 3
PATIENCE_SECONDS = 60
LAB = Path(sys.executable).with_name("hakmem-lab")

# The rows that take long, made short.
SHORT = {
    "larson_tiny": ("seconds=1",), "larson_mid": ("seconds=1",), "larson_single": ("seconds=1",),
    "soak": ("seconds=1",), "startup": ("count=20",), "idle": ("threads=50",), "frag": ("mib=16",),
    "frag_idle_threads": ("mib=16",), "frag_waited": ("mib=16",), "frag_waited_threads": ("mib=16",),
    "daynight": ("busy=1", "idle=0", "repeats=1", "mib=16"),
    "daynight_single": ("busy=1", "idle=0", "repeats=1", "mib=16"),
    "survive_1": ("mib=16",), "survive_4": ("mib=16",),
    **{f"kept_slots_{load}{beside}": ("milliseconds=10",) for beside in ("", "_thread")
       for load in ("1x1_9", "1x30_60", "2x10_60", "4x4_40", "8x2_20", "16x1_9")},
    "kept_slots_2x2_20_8t": ("milliseconds=10",), "kept_beside": ("turns=1", "neighbours=2"),
    "kept_bursts": ("mib=16", "pause_ms=0"), "kept_bursts_thread": ("mib=16", "pause_ms=0"),
    "kept_aligned": ("blocks=50", "rounds=1"), "kept_new_thread": ("threads=5",),
    "kept_idle_threads": ("threads=4",), "kept_idle_threads_waited": ("threads=4", "trim=1"),
    "kept_period_big": ("mib=16", "period_ms=0"), "kept_period_small": ("mib=16", "period_ms=0"),
    **{f"period_{load}": ("mib=16", "period_ms=0", "periods=11") for load in ("big", "small", "nights")},
    "giant": ("mib=16",), "churn_1": ("count=50",), "churn_2": ("count=50",),
}
CRASHING = "void *malloc(unsigned long n) { return (void *)(n * 0); } void free(void *p) { (void)p; }"


def command(*words: str) -> list[str]:
    return [str(LAB), "bench", *words]


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    """One counted run of each, the time pass only, unless the words say otherwise."""
    brief = ("--runs", "1", "--warmup", "0", "--seconds", "0.01", "--passes", "time", "--build", str(BUILD))
    return run_forked(("bench", *brief, *words), os.environ)


def program(benchmark: Benchmark, *words: str) -> subprocess.CompletedProcess[str]:
    line = [str(benchmark.program), benchmark.row, *words]
    return subprocess.run(line, capture_output=True, text=True, env=os.environ | {"LD_PRELOAD": str(LIBRARY)})


def lines_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class Programs(unittest.TestCase):
    rows = [one for one in all_benchmarks(BUILD) if one.program]

    def test_every_row_runs_on_hakmem_and_proves_it(self) -> None:
        for row in self.rows:
            with self.subTest(row=row.name):
                brief = ("--seconds", "0", "--repetitions", "1", "--proof")
                done = program(row, *SHORT.get(row.name, ()), *brief)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertRegex(done.stdout, r"\nns=\d")
                self.assertIn("\nhak_owns=yes\n", done.stdout)
                self.assertIn("\nglibc_served=no\n", done.stdout)

    def test_a_row_is_warm_and_repeated_however_short_its_time(self) -> None:
        """scenario_json's first two repetitions fault memory in, and take longer than the time that is given."""
        row = next(row for row in self.rows if row.name == "scenario_json")
        for words, warm_ups, repetitions in ((("--seconds", "1"), 4, 5), (("--repetitions", "3"), 1, 3), (("--seconds", "0"), 1, 1)):
            done = dict(line.split("=", 1) for line in program(row, *words).stdout.splitlines())
            with self.subTest(words=words):
                self.assertGreaterEqual(int(done["warm_ups"]), warm_ups)
                self.assertGreaterEqual(int(done["repetitions"]), repetitions)

    def test_names_are_unique_and_those_of_the_sets_exist(self) -> None:
        names = [one.name for one in all_benchmarks(BUILD)]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({*QUICK, *SCALING} - set(names), set())

    def test_bad_words_get_one_line(self) -> None:
        pair = next(row for row in self.rows if row.name == "pair")
        for words in (("--nonsense",), ("nonsense=1",), ("--seconds", "many"), ("7",)):
            with self.subTest(words=words):
                done = program(pair, *words)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (BAD_USAGE, 1), done.stderr)


class WithFolder(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hakmem-test-")))
        self.output = self.scratch / "results"

    def bench(self, *words: str) -> subprocess.CompletedProcess[str]:
        return bench("--output", str(self.output), *words)

    def runs(self) -> list[dict[str, str]]:
        return lines_of(self.output / "runs.csv")

    def refused(self, done: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
        """One line, and nothing was begun."""
        self.assertRegex(done.stderr, r"\Ahakmem: [^\n]+\n\Z")
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse((self.output / "runs.csv").exists())

    def compiled(self, source: str) -> Path:
        library = self.scratch / "libother.so"
        line = ["gcc", "-shared", "-fPIC", "-fno-builtin", "-xc", "-", "-o", str(library)]
        subprocess.run(line, input=source, text=True, check=True)
        return library


class Results(WithFolder):
    def test_a_round_of_two_rows_with_the_counted_twin(self) -> None:
        done = self.bench("--filter", "pair,replace_400", "--allocators", "hakmem,glibc", "--passes", "twin,time")
        self.assertEqual(done.returncode, 0, done.stderr)
        runs = self.runs()
        seen = {(run["benchmark"], run["allocator"], run["outcome"]) for run in runs}
        self.assertEqual(seen, {(row, name, "ok") for row in ("pair", "replace_400") for name in ("hakmem", "glibc")})
        for run in runs:
            self.assertGreater(float(run["ns"]), 0)
            self.assertGreater(int(run["peak_rss_kib"]), 0)
            self.assertGreaterEqual(int(run["voluntary_switches"]), 0)
        named = [str(self.output / name) for name in ("table.md", "report.html")]
        self.assertEqual(done.stdout.splitlines()[-2:], named)
        self.check_twin()
        self.check_machine()

    def check_twin(self) -> None:
        metrics = lines_of(self.output / "metrics.csv")
        served = [float(one["value"]) for one in metrics if one["name"] == "twin_served_percent"]
        calls = [float(one["value"]) for one in metrics if one["name"] == "twin_calls"]
        self.assertEqual(len(served), 2)
        self.assertGreater(min(served), 99.9)
        self.assertGreater(min(calls), 100)

    def check_machine(self) -> None:
        text = (self.output / "machine.json").read_text()
        machine = json.loads(text)
        self.assertNotIn(str(BUILD), text)
        self.assertEqual([one["name"] for one in machine["allocators"]], ["hakmem", "glibc"])
        for name in ("cpu", "kernel", "thp", "governor", "compiler", "flags", "commit", "load", "date"):
            self.assertTrue(str(machine[name]), name)
        self.assertEqual(machine["benchmarks"]["pair"]["group"], "micro")

    def test_warm_ups_come_first_and_threads_are_set(self) -> None:
        words = ("--set", "scaling", "--filter", "sharing_active@t2", "--allocators", "hakmem", "--warmup", "1")
        done = self.bench(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([run["phase"] for run in self.runs()], ["warm-up", "counted"])
        parameters = {one["name"]: one["value"] for one in lines_of(self.output / "metrics.csv")}
        self.assertEqual(float(parameters["parameter_threads"]), 2)

    def test_results_are_not_overwritten(self) -> None:
        self.bench("--filter", "pair", "--allocators", "hakmem")
        before = (self.output / "runs.csv").read_text()
        again = self.bench("--filter", "pair", "--allocators", "hakmem")
        self.assertEqual(again.returncode, BAD_USAGE)
        self.assertIn("there are results in it already", again.stderr)
        self.assertEqual((self.output / "runs.csv").read_text(), before)

    def test_the_list_says_what_an_operation_is(self) -> None:
        done = bench("--list")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^pair +micro +malloc\(16\), write, free$")
        self.assertRegex(done.stdout, r"(?m)^kept_runs +kept +malloc\(32-256 KiB\)")


class Refused(WithFolder):
    @classmethod
    def setUpClass(cls) -> None:
        """What the forks would each load: pandas takes two seconds."""
        importlib.import_module("hakmem_lab.bench.compare")
        importlib.import_module("hakmem_lab.bench.session")

    def test_bad_words(self) -> None:
        for words, hint in (
            (("--filter", "nonsense"), "--filter nonsense"),
            (("--filter", "pair,nonsense"), "--filter nonsense"),
            (("--filter", "replace_4oo"), "nearest: replace_400"),
            (("--set", "nonsense"), "quick, full, scaling"),
            (("--allocators", "nonsense"), "--allocators nonsense"),
            (("--passes", "nonsense"), "there are twin, time"),
            (("--peer", "x=/nonsense"), "--peer x=/nonsense"),
            (("--peer", f"glibc={FORWARDER}"), "there is a glibc already"),
            (("--peer", f"x={FORWARDER}", "--peer", f"x={LIBRARY}"), "--peer x="),
            (("--runs", "0"), "--runs"),
            (("--library", "/nonsense.so"), "/nonsense.so"),
        ):
            with self.subTest(words=words):
                self.refused(self.bench(*words), BAD_USAGE, hint)

    def test_a_peer_that_forwards_to_libc(self) -> None:
        done = self.bench("--filter", "pair", "--peer", f"other={FORWARDER}")
        self.refused(done, NOT_PROVEN, "other", "served by glibc", FORWARDER.name)

    def test_a_forwarder_that_claims_to_be_hakmem(self) -> None:
        done = self.bench("--filter", "pair", "--library", str(FORWARDER))
        self.refused(done, NOT_PROVEN, "hakmem", "served by glibc", FORWARDER.name)

    def test_a_library_that_is_no_malloc(self) -> None:
        done = self.bench("--filter", "pair", "--peer", f"other={BUILD / 'libhakident.so'}")
        self.refused(done, NOT_PROVEN, "other", "libc.so.6")

    def test_a_file_that_is_no_library(self) -> None:
        done = self.bench("--filter", "pair", "--peer", f"other={__file__}")
        self.refused(done, NOT_PROVEN, "other", "libc.so.6")

    def test_a_library_that_gives_no_memory(self) -> None:
        done = self.bench("--filter", "pair", "--peer", f"other={self.compiled(CRASHING)}")
        self.refused(done, BAD_USAGE, "other", "malloc returned NULL")

    def test_a_library_that_crashes(self) -> None:
        library = self.compiled("void *malloc(unsigned long n) { *(volatile long *)8 = 1; return (void *)n; }")
        done = self.bench("--filter", "pair", "--peer", f"other={library}")
        self.refused(done, BAD_USAGE, "other", "SIGSEGV")

    def test_a_folder_that_cannot_be_made(self) -> None:
        blocked = self.scratch / "file"
        blocked.write_text("")
        done = bench("--filter", "pair", "--allocators", "hakmem", "--output", str(blocked / "results"))
        self.refused(done, 1, str(blocked))

    def test_an_output_that_is_no_folder(self) -> None:
        done = bench("--filter", "pair", "--allocators", "hakmem", "--output", "/dev/null")
        self.refused(done, BAD_USAGE, "--output /dev/null: not a folder")

    def test_what_holds_no_results(self) -> None:
        self.output.mkdir()
        table = self.output / "runs.csv"
        for content in (b"", b"\n\n", b'{"a": 1,\n"b": [1, 2]}\n', bytes(range(256)), b'"never closed\n'):
            with self.subTest(content=content[:20]):
                table.write_bytes(content)
                for words in (("report", str(self.output)), ("compare", str(self.output), str(table))):
                    done = run_forked(("bench", *words), os.environ)
                    self.assertRegex(done.stderr, rf"\Ahakmem: {table}: [^\n]+\n\Z")
                    self.assertEqual((done.returncode, done.stdout), (BAD_USAGE, ""))

    def test_a_full_disk(self) -> None:
        self.output.mkdir()
        (self.output / "runs.csv").symlink_to("/dev/full")
        done = self.bench("--filter", "pair", "--allocators", "hakmem")
        wanted = f"hakmem: {self.output / 'runs.csv'}: no space left on device\n"
        self.assertEqual((done.returncode, done.stderr), (1, wanted))


class Troubles(WithFolder):
    def test_what_fails_later_is_named_and_the_rest_is_measured(self) -> None:
        """A library that serves blocks of up to 1 MiB, from one array."""
        source = """
            static char memory[64 << 20]; static unsigned long used;
            void *malloc(unsigned long n) { used += (n + 31) & ~15ul;
                return n > 1 << 20 || used > sizeof memory ? 0 : memory + used - ((n + 31) & ~15ul); }
            void free(void *p) { (void)p; }
            """
        rows = ("--filter", "pair,scenario_vm", "--allocators", "glibc,other", "--runs", "2")
        done = self.bench(*rows, "--seconds", "0", "--peer", f"other={self.compiled(source)}")
        self.assertEqual(done.returncode, 1, done.stderr)
        failed = [(run["benchmark"], run["allocator"]) for run in self.runs() if run["outcome"] != "ok"]
        self.assertEqual(failed, [("scenario_vm", "other")])
        self.assertIn("hakmem: scenario_vm on other: exited with 1: bench: malloc returned NULL\n", done.stderr)
        self.assertEqual(len(self.runs()), 7)

    def test_a_run_that_takes_too_long(self) -> None:
        """Is stopped, and not tried again; a row that happens once is not held up by --seconds."""
        rows = ("--filter", "pair,idle", "--allocators", "hakmem", "--runs", "2")
        done = self.bench(*rows, "--seconds", "600", "--timeout", "4")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("hakmem: pair on hakmem: did not end within 4 s and was stopped\n", done.stderr)
        self.assertEqual([run["outcome"] for run in self.runs() if run["benchmark"] == "idle"], ["ok", "ok"])
        self.assertEqual(len([run for run in self.runs() if run["benchmark"] == "pair"]), 1)

    def test_a_setting_that_hakmem_ignores_is_told(self) -> None:
        line = command("--filter", "pair", "--allocators", "hakmem,glibc", "--runs", "1", "--passes", "time",
                       "--seconds", "0.01", "--output", str(self.output), "--build", str(BUILD))
        done = subprocess.run(line, capture_output=True, text=True, env=os.environ | {"HAKMEM_PRIZE": "lean"})
        said = "hakmem: HAKMEM_PRIZE=lean ignored: no such setting; nearest: price (HAKMEM_PRICE)\n"
        self.assertEqual((done.returncode, done.stderr.count(said)), (0, 1), done.stderr)

    def test_ctrl_c_at_any_moment(self) -> None:
        """Also when nothing is measured yet; what is finished is reported if anything is."""
        for number, moment in enumerate((0, 20, 50, 100, 200, 300, 500, 900)):
            with self.subTest(ms=moment):
                words = ("--filter", "pair", "--allocators", "hakmem,glibc", "--runs", "1000", "--seconds", "0.05",
                         "--passes", "time", "--output", str(self.scratch / str(number)), "--build", str(BUILD))
                process = subprocess.Popen(command(*words), text=True, stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                time.sleep(moment / 1000)
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=PATIENCE_SECONDS)
                self.assertEqual(process.returncode, -signal.SIGINT, errors)
                self.assertNotIn("Traceback", errors)

    def test_ctrl_c_keeps_and_reports_what_is_finished(self) -> None:
        words = ("--filter", "pair", "--allocators", "hakmem,glibc", "--runs", "1000", "--seconds", "0.05",
                 "--passes", "time", "--output", str(self.output), "--build", str(BUILD))
        process = subprocess.Popen(command(*words), text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.wait_for_runs(process, 5)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(process.returncode, -signal.SIGINT, errors)
        self.assertGreaterEqual(len(self.runs()), 5)
        self.assertIn("hakmem: stopped; this is what was finished:", errors)
        self.assertTrue(out.endswith(f"{self.output / 'report.html'}\n"), out)
        self.assertTrue((self.output / "table.md").is_file())

    def wait_for_runs(self, process: subprocess.Popen[str], wanted: int) -> None:
        """Polls; the limit is for a hang, not a measure."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        runs = self.output / "runs.csv"
        while not runs.is_file() or len(runs.read_text().splitlines()) <= wanted:
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
