# SPDX-License-Identifier: MIT OR Apache-2.0
"""The two probe libraries, in real processes."""

from __future__ import annotations

import os
import subprocess
import unittest
from pathlib import Path

from support import Scratch, preloadable, program

from hakmem.process.counters import compare, read_counts
from hakmem.process.proof import Record


class Counting(Scratch):
    def one(self, *argv: str) -> Record:
        """The record of a counted program. On HAKMEM, whose operator new does not call malloc by name (libstdc++'s does,
        and is then counted twice, as two calls)."""
        _, records = self.probed([self.places.counting_probe, self.places.so_file], *argv)
        self.assertEqual(len(records), 1, records)
        return records[0]

    def extra(self, *argv: str) -> tuple[int, int]:
        """Calls beyond those of the same program asked to do nothing."""
        base, full = self.one(argv[0]), self.one(*argv)
        return full.allocs - base.allocs, full.frees - base.frees

    def test_every_function_of_the_family_counts_once(self) -> None:
        self.assertEqual(self.extra(program("calls"), "family"), (16, 15))

    def test_every_form_of_new_and_delete_counts_once(self) -> None:
        self.assertEqual(self.extra(program("news"), "each"), (8, 12))

    def test_many_threads(self) -> None:
        allocs, frees = self.extra(program("calls"), "threads", "8", "20000")
        self.assertGreaterEqual(allocs, 160_000)
        self.assertGreaterEqual(frees, 160_000)
        self.assertLess(allocs, 160_100)

    def test_a_forked_child_adds_to_its_parents_record(self) -> None:
        found = self.one(program("calls"), "fork", "1000")
        self.assertGreaterEqual(found.frees, 2000)
        self.assertEqual((found.forks, len(found.forked_pids)), (1, 1))

    def test_counts_survive_abort(self) -> None:
        figures, records = self.probed([self.places.counting_probe], program("calls"), "abort", "1000")
        self.assertEqual(figures.status, 134)
        self.assertGreaterEqual(records[0].allocs, 1000)

    def test_an_execution_in_place_adds_a_record(self) -> None:
        figures, records = self.probed(
            [self.places.counting_probe], program("calls"), "exec", "100", program("calls_fixed"), "pairs", "200"
        )
        self.assertEqual([record.pid for record in records], [figures.pid, figures.pid])
        self.assertEqual([Path(record.exe).name for record in records], ["tools_calls", "tools_calls_fixed"])
        self.assertGreaterEqual(records[0].frees, 100)
        self.assertGreaterEqual(records[1].frees, 200)

    def test_hakmem_counts_the_same(self) -> None:
        for argv in (["family"], ["pairs", "5000"], ["threads", "4", "5000"], ["fork", "1000"], ["abort", "1000"],
                     ["exec", "100", program("news"), "each"]):
            with self.subTest(argv=argv):
                self.assert_counted_alike(program("calls"), *argv)

    def assert_counted_alike(self, *argv: str) -> None:
        stem = self.folder / f"counts-{argv[1]}"
        more = {"HAKMEM_COUNT_CALLS": "on", "HAKMEM_COUNTERS_FILE": str(stem)}
        _, records = self.probed([self.places.counting_probe, self.places.so_file], *argv, more=more)
        found = compare(records, read_counts(stem))
        self.assertGreater(found.probed, 0)
        self.assertEqual((found.unserved, found.unseen), (0, 0))


class Names(Scratch):
    """A name of the family that HAKMEM serves and the probe lets by would go uncounted."""

    NOT_COUNTED = {
        "malloc_usable_size", "malloc_trim", "malloc_stats", "malloc_info", "mallinfo", "mallinfo2", "mallopt",
        "__libc_mallinfo", "__libc_mallopt",
        # Calls that allocate nothing themselves, before which HAKMEM's own thread ends (src/api/process.c).
        "setuid", "seteuid", "setreuid", "setresuid", "setgid", "setegid", "setregid", "setresgid", "setgroups",
        "initgroups", "capset", "unshare", "setns", "chroot", "prctl",
        "dlopen", "dlmopen",
    }

    def exported(self, library: Path) -> set[str]:
        listing = subprocess.run(
            ["nm", "-D", "--defined-only", "--extern-only", "--format=just-symbols", library], capture_output=True, text=True, check=True
        )
        return {name.partition("@")[0] for name in listing.stdout.split()}

    def test_the_probe_wraps_all_that_hakmem_serves(self) -> None:
        served = {name for name in self.exported(self.places.so_file) if not name.startswith(("hak_", "HAKMEM_"))}
        self.assertIn("malloc", served)
        self.assertEqual(served - self.exported(self.places.counting_probe) - self.NOT_COUNTED, set())

    def test_the_identity_library_wraps_nothing(self) -> None:
        self.assertEqual(self.exported(self.places.identity_probe), set())


class Identity(Scratch):
    def one(self, libraries: list[Path], *argv: str) -> Record:
        _, records = self.probed(libraries, *argv)
        self.assertEqual(len(records), 1, records)
        return records[0]

    def test_glibc(self) -> None:
        for probe in (self.places.identity_probe, self.places.counting_probe):
            with self.subTest(probe=probe.name):
                found = self.one([probe], program("calls"))
                self.assertTrue(os.path.basename(found.malloc_path).startswith("libc.so"), found.malloc_path)
                self.assertEqual(found.malloc_path, found.free_path)
                self.assertFalse(found.owned)

    def test_hakmem(self) -> None:
        for probe in (self.places.identity_probe, self.places.counting_probe):
            with self.subTest(probe=probe.name):
                self.assertTrue(self.one([probe, self.places.so_file], program("calls")).served_by(self.places.so_file))
        self.assertTrue(self.one([self.places.identity_probe, self.places.so_file], program("calls")).owned)

    def test_a_library_that_forwards_shows_itself(self) -> None:
        found = self.one([self.places.identity_probe, preloadable("forward")], program("calls"))
        self.assertTrue(found.served_by(preloadable("forward")))
        self.assertFalse(found.owned)

    def test_a_malloc_inside_the_executable_shows_itself(self) -> None:
        for probe in (self.places.identity_probe, self.places.counting_probe):
            with self.subTest(probe=probe.name):
                found = self.one([probe, self.places.so_file], program("own_malloc"))
                self.assertEqual(os.path.realpath(found.malloc_path), os.path.realpath(program("own_malloc")))

    def test_a_stub_in_the_executable_is_not_taken_for_a_malloc(self) -> None:
        for probe in (self.places.identity_probe, self.places.counting_probe):
            with self.subTest(probe=probe.name):
                found = self.one([probe, self.places.so_file], program("calls_fixed"), "address")
                self.assertTrue(found.served_by(self.places.so_file), found)

    def test_it_counts_nothing_and_names_the_program(self) -> None:
        found = self.one([self.places.identity_probe], program("calls"), "pairs", "1000")
        self.assertEqual((found.allocs, found.frees), (0, 0))
        self.assertEqual(found.exe, os.path.realpath(program("calls")))

    def test_without_the_variable_the_program_just_runs(self) -> None:
        for name in ("", "/no/such/folder/proof"):
            for probe in (self.places.identity_probe, self.places.counting_probe):
                with self.subTest(name=name, probe=probe.name):
                    figures = self.launch(program("calls"), "pairs", "9", LD_PRELOAD=str(probe), HAKPROBE_FILE=name)
                    self.assertEqual(figures.status, 0)
                    self.assertEqual((self.folder / "errors").read_text(), "")


if __name__ == "__main__":
    unittest.main()
