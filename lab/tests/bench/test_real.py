# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real programs as benchmarks: they run on HAKMEM with proof, and nothing is left behind. No figure is judged."""

from __future__ import annotations

import os
import signal
import subprocess
import unittest
from pathlib import Path
from unittest.mock import patch

import psutil
from workbench import ON_GLIBC, ON_HAKMEM, WithContext, real_row

from hakmem.base.errors import Refusal, Stopped
from hakmem.process.counters import compare, read_counts
from hakmem.process.peers import Allocator
from hakmem.process.proof import read_records
from hakmem_lab.bench import real, redis
from hakmem_lab.bench.cell import SERVED_BY
from hakmem_lab.bench.record import COUNTED, OK, Run

FORWARDER = Path(os.environ["HAK_FORWARDER"])
# A program of each kind: a tree of processes, a script, standard input, a server. tests/real runs all programs.
TRIED = ("gcc", "python_malloc", "sqlite3", "redis")


class RealCase(WithContext):
    def run_on(self, name: str, allocator: Allocator) -> Run:
        return real.run_real(self.context, real_row(name), allocator, 0, COUNTED)[0]


class Programs(RealCase):
    def test_they_run_on_hakmem_and_compute_the_same_as_on_glibc(self) -> None:
        for name in TRIED:
            with self.subTest(program=name):
                run = self.run_on(name, ON_HAKMEM)
                self.assertEqual(run.outcome, OK)
                self.assertGreater(run.ns or 0, 0)
                self.assertGreater(run.peak_rss_kib or 0, 0)
                self.assertEqual(run.operations, redis.REQUESTS if name == "redis" else 1)

    def test_redis_on_glibc_is_served_by_libc_although_it_links_jemalloc(self) -> None:
        program = real.named("redis")
        with real.run_folder(self.context) as folder:
            real.perform(self.context, program, real.Manner(real.preloaded(self.context, ON_GLIBC)), folder)
            servers = [record for record in read_records(folder / real.PROOF) if program.is_heart(record.exe)]
        self.assertEqual({os.path.basename(record.malloc_path) for record in servers}, {"libc.so.6"})

    def test_the_counted_twin_shows_that_hakmem_served(self) -> None:
        for name in ("lua", "redis"):
            with self.subTest(program=name), real.run_folder(self.context) as folder:
                real.run_counted(self.context, real_row(name), folder)
                calls = compare(read_records(folder / real.PROOF), read_counts(folder / real.COUNTS))
                self.assertGreater(calls.probed, 1000)
                self.assertEqual(calls.unserved, 0)


class Refused(RealCase):
    def test_what_something_else_served(self) -> None:
        run = self.run_on("lua", Allocator("hakmem", FORWARDER, "a forwarder"))
        self.assertTrue(run.outcome.startswith(SERVED_BY), run.outcome)
        self.assertIsNone(run.ns)

    def test_a_program_whose_heart_left_no_proof(self) -> None:
        with self.assertRaisesRegex(Refusal, "cc1 left no proof"):
            real.refuse_unless_served(real.named("gcc"), ON_HAKMEM, [])

    def test_what_computes_something_else_than_on_glibc(self) -> None:
        (self.scratch / "lua.digest").write_text("another one")
        self.assertEqual(self.run_on("lua", ON_HAKMEM).outcome, "computed something else than on glibc")

    def test_what_does_not_end(self) -> None:
        self.context = self.with_timeout(0.01)
        self.assertIn("did not end within 0.01 s", self.run_on("lua", ON_HAKMEM).outcome)

    def test_a_program_that_is_not_installed_is_named(self) -> None:
        with patch("shutil.which", lambda command: None if command in ("z3", "redis-cli") else command):
            self.assertEqual(
                real.missing_programs(), ["redis (apt-get install redis-server redis-tools)", "z3 (apt-get install z3)"]
            )
            self.assertTrue({"redis", "z3"}.isdisjoint(program.name for program in real.real_benchmarks()))


class RedisIsShutDown(RealCase):
    def left_behind(self) -> list[psutil.Process]:
        return psutil.Process().children(recursive=True)

    def test_after_a_client_that_fails(self) -> None:
        with patch.object(redis, "CLIENT", "false"):
            self.assertIn("false exited with 1", self.run_on("redis", ON_GLIBC).outcome)
        self.assertEqual(self.left_behind(), [])

    def test_after_a_signal(self) -> None:
        with patch.object(redis, "request_all", side_effect=Stopped(signal.SIGINT)), self.assertRaises(Stopped):
            self.run_on("redis", ON_GLIBC)
        self.assertEqual(self.left_behind(), [])

    def test_when_it_does_not_start(self) -> None:
        with patch.object(redis, "SETTINGS", ("--nonsense", "yes")):
            self.assertIn("redis-server ended before it was ready", self.run_on("redis", ON_GLIBC).outcome)
        self.assertEqual(self.left_behind(), [])

    def test_when_it_is_not_ready_in_time(self) -> None:
        with patch.object(redis, "READY", b"what it never says"):
            self.context = self.with_timeout(0.2)
            self.assertIn("did not end within 0.2 s", self.run_on("redis", ON_GLIBC).outcome)
        self.assertEqual(self.left_behind(), [])


class Inputs(unittest.TestCase):
    def test_the_compilers_sources_are_programs(self) -> None:
        for compiler, source in (("gcc", "tables.c"), ("g++", "templates.cpp")):
            with self.subTest(source=source):
                command = [compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", str(real.inputs() / source)]
                self.assertEqual(subprocess.run(command, capture_output=True).stderr, b"")


if __name__ == "__main__":
    unittest.main()
