# SPDX-License-Identifier: MIT OR Apache-2.0
"""The laboratory's command ends, prints and writes as the product's does; and what was once a command of that is named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import unittest
from dataclasses import fields
from pathlib import Path

import test_printable
import test_stop
import test_streams
from laboratory import LAB, lab
from support import BUILD, COMMAND, Scratch, clean_environment, hakmem, small_trace
from test_learn import ring
from test_printable import HARM, NAME

from hakmem_lab.bench.record import Recorder, Run, read_lines


class CommandLine(Scratch):
    def test_what_loads_slowly_is_loaded_by_what_needs_it(self) -> None:
        code = "import sys, hakmem_lab.bench.order; print(*sys.modules)"
        loaded = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual({"pandas", "numpy", "scipy", "matplotlib", "jinja2"} & set(loaded), set())

    def test_what_is_wrong_names_the_commands_own_help(self) -> None:
        cases = {
            "bench": ("bench", "--runs", "0"), "bench compare": ("bench", "compare", "a"), "bench report": ("bench", "report"),
            "simulate": ("simulate",), "": ("frobnicate",),
        }
        for command, words in cases.items():
            with self.subTest(words=words):
                ended = lab(*words)
                self.assert_one_line(ended.stderr)
                self.assertTrue(ended.stderr.endswith(f" (see {f'hakmem-lab {command}'.strip()} --help)\n"), ended.stderr)

    def test_commands_that_were_the_products_are_named(self) -> None:
        for old, new in (("bench", "bench"), ("front", "pareto"), ("simulate", "simulate"), ("predict", "predict"),
                         ("corpus", "corpus"), ("excerpt", "excerpt"), ("decisions", "learning")):
            words = (old, "a", "--plot", "b") if old == "decisions" else (old, "--help")
            with self.subTest(old):
                ended = hakmem(*words)
                self.assert_one_line(ended.stderr)
                self.assertIn(f"`hakmem-lab {new}`", ended.stderr)
                self.assertEqual((ended.returncode, ended.stdout), (2, ""))
                self.assertIn("Usage: hakmem-lab", lab(new, "--help").stdout)


class Printable(test_printable.Harmless):
    command = staticmethod(lab)

    def test_names(self) -> None:
        build, missing = ("--build", str(BUILD)), str(self.folder / NAME)
        for torn in (False, True):
            file = self.trace(torn)
            for words in (("simulate", *build, file), ("predict", *build, file),
                          ("excerpt", file, "-o", str(self.folder / f"{NAME}.out"))):
                self.assertIn(r"\x1b[31m", self.harmless(*words))
        for command in ("simulate", "predict"):
            self.assertIn(r"\x1b[31m", self.harmless(command, missing))

    def test_results_of_a_benchmark(self) -> None:
        folder = self.folder / "results"
        line = {field.name: 1 for field in fields(Run)}
        line |= {"benchmark": NAME, "allocator": "hakmem", "phase": "counted", "outcome": "ok", "disturbed": ""}
        Recorder(folder).add(Run(**line), Run(**line | {"allocator": "glibc", "outcome": f"died {HARM}"}))
        (folder / "machine.json").write_text(json.dumps({"benchmarks": {NAME: {"group": NAME, "threads": 1, "operation": ""}}}))
        self.assertIn(r"\x1b[31m", self.harmless("bench", "report", str(folder)))
        self.assertIn(r"\x1b[31m", self.harmless("bench", "compare", str(folder), str(folder)))

    def test_what_is_no_file_is_refused_at_once(self) -> None:
        pipe, packed = self.folder / "pipe", self.folder / "packed"
        os.mkfifo(pipe)
        packed.write_bytes(b"\x1f\x8b\x08 and no more")
        for file in (pipe, packed, Path("/dev/zero")):
            ended = subprocess.run([LAB, "pareto", "report", file], env=clean_environment(), capture_output=True, text=True,
                                   timeout=60, check=False)
            self.assertIn(ended.returncode, (1, 2))
            self.assert_one_line(ended.stderr)


class Streams(test_streams.Reading):
    command = LAB

    def test_full_and_unread(self) -> None:
        for words in (f"bench --list --build {BUILD}", "bench --help"):
            self.check(f"{words} >/dev/full", 1, "", test_streams.FULL)
            self.check(f"{words} | (exec <&-; sleep 2)", test_streams.BROKEN_PIPE, "")

    def test_a_reader_that_is_gone_leaves_nothing(self) -> None:
        trace, build = small_trace(self.folder / "a.hakt"), f"--build {BUILD}"
        for words in (f"predict {build} {trace}", f"excerpt {trace} -o {self.folder}/b.hakt", f"simulate --tune {build} {trace}"):
            self.assert_nothing_is_left(words)

    def test_columns_are_heeded_and_no_figure_is_cut(self) -> None:
        self.assert_no_figure_is_cut(lab, "simulate", "--build", str(BUILD), str(small_trace(self.folder / "a.hakt")))

    def test_signs_are_plain_where_the_locale_has_ascii_only(self) -> None:
        trace = str(small_trace(self.folder / "a.hakt"))
        for words in (("simulate", "--build", str(BUILD), trace), ("simulate", "--help")):
            ended = lab(*words, LC_ALL="C")
            told = ended.stdout + ended.stderr
            self.assertTrue(told.isascii(), told)
            self.assertNotIn("Traceback", told)


@unittest.skipUnless(test_streams.can_mount(), "no disk may be made here")
class FullDisk(test_streams.DiskThatIsFull):
    command = LAB

    def test_one_line_with_the_cause_and_nothing_half_written(self) -> None:
        trace, full, build = small_trace(self.folder / "a.hakt"), "no space left on device", ("--build", BUILD)
        decisions = self.folder / "ring.1"
        decisions.write_bytes(ring(7))
        for words in (
            ("simulate", *build, trace, "--csv"), ("simulate", *build, trace, "--markdown"), ("predict", *build, trace, "--csv"),
            ("simulate", *build, "--tune", trace, "--csv"), ("excerpt", trace, "-o"),
        ):
            self.refused(f"out: {full}", *words, "out")
        self.refused(f"out.svg: {full}", "learning", *build, decisions, "-o", "out.svg")

    def test_lines_of_a_benchmark_are_whole(self) -> None:
        script = """import sys; from hakmem_lab.bench.record import Recorder, Run
recorder = Recorder(__import__("pathlib").Path(sys.argv[1]))
try:
    for number in range(1000): recorder.add(Run("benchmark", "group", "allocator", number, "counted", "ok"))
except OSError as failure: print(failure)"""
        disk = self.folder / "disk"
        disk.mkdir()
        lines = "mount -t tmpfs -o size=32k none $0; $1 -c \"$2\" $0; cp $0/runs.csv $3"
        ended = subprocess.run(["unshare", "-m", "sh", "-c", lines, disk, COMMAND.with_name("python"), script, self.folder],
                               capture_output=True, text=True, check=False)
        self.assertEqual(ended.stdout, f"[Errno 28] No space left on device: '{disk}/runs.csv'\n", ended.stderr)
        self.assertGreater(len(read_lines(self.folder, Run)), 10)


class Stopped(test_stop.Left):
    def test_what_a_command_has_of_its_own_is_removed(self) -> None:
        trace, build = small_trace(self.folder / "a.hakt"), ("--build", str(BUILD))
        for words, number in (
            (("predict", *build, "--reruns", "100", str(trace)), signal.SIGTERM),
            (("simulate", "--tune", *build, str(trace)), signal.SIGHUP), (("bench", *build, "--output", "out"), signal.SIGINT),
        ):
            self.assert_nothing_is_left(LAB, words, number)


if __name__ == "__main__":
    unittest.main()
