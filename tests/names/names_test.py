# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names that are the program's: what the libraries ask of libc by name, and programs and interposers that have such names.

HAK_BUILD is the build's folder, HAK_TEST_PROGRAMS that of this folder's programs. Each class is one ctest test.
"""

import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["HAK_BUILD"])
PROGRAMS = Path(os.environ["HAK_TEST_PROGRAMS"])
LIBRARY = BUILD / "libhakmem.so"
INTERPOSER = PROGRAMS / "libnames_interposer.so"
INTERPOSER_LOOKUP = PROGRAMS / "libnames_interposer_lookup.so"
HERE = Path(__file__).parent
LEARNERS = {f"HAKMEM_LAB_LEARN_{name}": "on" for name in ("KEEP", "KINDS", "CACHES", "CLASS")}
FOUND = [
    Path("/usr/lib") / f"{os.uname().machine}-linux-gnu" / name
    for name in ("torsocks/libtorsocks.so", "libuid_wrapper.so", "faketime/libfaketime.so.1", "faketime/libfaketimeMT.so.1")
]

PT_LOAD, PF_W = 1, 2
MOST_ADDRESSES = 120

Result = subprocess.CompletedProcess[str]


def machine() -> str:
    """The processor that the libraries are made for."""
    return {62: "x86_64", 183: "aarch64"}[int.from_bytes(LIBRARY.read_bytes()[18:20], "little")]


def run(*command: str | Path, preload: tuple[Path, ...] = (LIBRARY,), **settings: str) -> Result:
    environment = {"PATH": os.environ["PATH"], "LANG": "C", "LD_PRELOAD": ":".join(map(str, preload))} | settings
    if not preload:
        del environment["LD_PRELOAD"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def writable_bytes(library: Path) -> int:
    """Of the segments that may be written to, zero data too."""
    data = library.read_bytes()
    table, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    rows = (struct.unpack_from("<IIQQQQQ", data, table + n * size) for n in range(count))
    return sum(row[6] for row in rows if row[0] == PT_LOAD and row[1] & PF_W)


class NamesCase(unittest.TestCase):
    def expect_done(self, result: Result, output: str = "done\n") -> None:
        self.assertEqual((result.returncode, result.stderr, result.stdout), (0, "", output), str(result.args))


class Undefined(unittest.TestCase):
    """A library reaches by name what allowed.txt lists, and nothing else."""

    @staticmethod
    def allowed() -> set[str]:
        """Rows, those of one processor with its name before the reason, as `(x86_64)`."""
        rows = [row.split() for row in (HERE / "allowed.txt").read_text().splitlines() if row and not row.startswith("#")]
        return {row[0] for row in rows if not row[1].startswith("(") or row[1] == f"({machine()})"}

    @staticmethod
    def wanted(*arguments: str) -> set[str]:
        """What is undefined in any of the objects and defined in none."""
        listed = subprocess.run(["nm", "-P", *arguments], capture_output=True, text=True, check=True).stdout
        rows = [row.split() for row in listed.splitlines() if len(row.split()) > 1]
        names = [(row[0].split("@")[0], row[1]) for row in rows]
        found = {name for name, kind in names if kind in "Uwv"} - {name for name, kind in names if kind not in "Uwv"}
        return {name for name in found if not name.startswith("__aarch64_")}  # atomic operations, the compiler's own

    def everywhere(self) -> dict[str, set[str]]:
        shared = {name: self.wanted("-D", str(BUILD / name)) for name in ("libhakmem.so", "libhakmem-dl.so")}
        archives = {name: self.wanted("-g", str(BUILD / name)) for name in ("libhakmem.a", "libhakmem-override.a")}
        return shared | archives

    def test_no_name_is_without_a_reason(self) -> None:
        for library, names in self.everywhere().items():
            self.assertEqual(names - self.allowed(), set(), f"{library}: tests/names/allowed.txt says how to mend it")

    def test_no_reason_is_without_a_name(self) -> None:
        self.assertEqual(self.allowed() - set().union(*self.everywhere().values()), set())

    def test_libc_copies_nothing_but_blocks(self) -> None:
        """A source without base/bytes.h would have the compiler's own calls go to libc, inside a door as well."""
        blocks = {"hakmem.c.o", "image.c.o", "malloc.c.o", "new.cpp.o", "resize.c.o"}
        for archive in ("libhakmem.a", "libhakmem-override.a"):
            listed = subprocess.run(["nm", "-A", BUILD / archive], capture_output=True, text=True, check=True).stdout
            asking = {row.split(":")[1] for row in listed.splitlines() if re.search(r" U mem(cpy|set|move|cmp)$", row)}
            self.assertEqual(asking - blocks, set(), archive)

    def test_every_name_has_a_reason(self) -> None:
        for row in (HERE / "allowed.txt").read_text().splitlines():
            self.assertRegex(row, r"^(#.*|\w+ {2,}\S.{8,})?$")


class Exported(unittest.TestCase):
    """A library's own dynamic symbol table has the names that abi/ lists, and no other: no local one either."""

    @staticmethod
    def defined(library: str) -> list[tuple[str, str]]:
        """Names, and how far each binds."""
        listed = subprocess.run(["readelf", "-W", "--dyn-syms", str(BUILD / library)], capture_output=True, text=True, check=True)
        rows = [row.split() for row in listed.stdout.splitlines() if re.match(r" *\d+:", row)]
        found = [(row[7], row[4]) for row in rows if len(row) > 7 and row[6] not in ("UND", "ABS")]
        return [row for row in found if machine() == "x86_64" or row[0] not in (".text", ".data", "_end")]  # the linker's

    @staticmethod
    def listed(library: str) -> set[str]:
        rows = (HERE.parents[1] / "abi" / f"{library}.symbols").read_text().splitlines()
        return {row.split()[0] for row in rows if not row.startswith("#")}

    def test_the_libraries(self) -> None:
        for library in ("libhakmem.so", "libhakmem-secure.so", "libhakmem-dl.so"):
            names = self.defined(library)
            self.assertEqual([name for name, binding in names if binding == "LOCAL"], [], library)
            self.assertEqual({name.replace("@@", "@") for name, _ in names}, self.listed(library), library)


class Data(unittest.TestCase):
    """What a library's data cost each process."""

    def test_a_garbage_collector_has_little_to_look_through(self) -> None:
        """libgc takes all writable data of all libraries for its roots: as much more garbage it lets gather."""
        self.assertLessEqual(writable_bytes(LIBRARY), 320 << 10)

    def test_calls_of_own_functions_read_no_address(self) -> None:
        """The table of addresses has libc's names, and what is exported or thread-local."""
        for name in ("libhakmem.so", "libhakmem-secure.so", "libhakmem-dl.so"):
            listed = subprocess.run(["readelf", "-WS", BUILD / name], capture_output=True, text=True, check=True).stdout
            size = re.search(r" \.got +PROGBITS +\w+ \w+ (\w+) ", listed)
            assert size, listed
            self.assertLessEqual(int(size[1], 16), MOST_ADDRESSES * 8, name)


class Own(NamesCase):
    """A program has functions of libc's names."""

    def test_it_runs(self) -> None:
        for mode in ("baseline", "evolving"):
            self.expect_done(run(PROGRAMS / "names_own", HAKMEM_MODE=mode, **LEARNERS))

    def test_calls_of_the_process_go_on(self) -> None:
        self.expect_done(run(PROGRAMS / "names_own", "vfork"))

    def test_it_finds_nothing(self) -> None:
        self.expect_done(run(PROGRAMS / "names_own_lookup", "alone"))

    def test_it_has_all_keys(self) -> None:
        self.expect_done(run(PROGRAMS / "names_host", "keys"))

    def test_it_runs_with_every_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            files = {f"HAKMEM_{name.upper()}": f"{folder}/{name}"
                     for name in ("counters_file", "stats_file", "decisions_file", "lab_learn_log", "policy_file")}
            self.expect_done(run(PROGRAMS / "names_own", HAKMEM_MODE="evolving", **LEARNERS, **files))

    def test_it_is_sampled(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            files = {"HAKMEM_PROFILE_FILE": f"{folder}/p", "HAKMEM_PROFILE_TABLE": f"{folder}/k"}
            self.expect_done(run(PROGRAMS / "names_own", HAKMEM_PROFILE_BYTES="4096", **files))

    def test_it_is_traced(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.expect_done(run(PROGRAMS / "names_own", HAKMEM_TRACE_FILE=f"{folder}/t"))

    def test_it_ends_by_a_double_free(self) -> None:
        result = run(PROGRAMS / "names_own", "twice")
        self.assertEqual((result.returncode, result.stdout), (-6, ""))
        self.assertRegex(result.stderr, r"\Ahakmem: double free: .*\n\Z")

    def test_it_crashes_and_is_told_why(self) -> None:
        result = run(PROGRAMS / "names_own", "crash", HAKMEM_CRASH_REPORT="on")
        self.assertEqual(result.returncode, -11)
        self.assertIn("hakmem: ", result.stderr)
        self.assertNotIn("own_names", result.stderr)

    def test_the_archive(self) -> None:
        self.expect_done(run(PROGRAMS / "names_own_archive", "archive", preload=()))


class Interposed(NamesCase):
    """Another library stands before or behind this one."""

    def both_orders(self, other: Path, *command: str | Path, output: str = "done\n", **settings: str) -> None:
        for preload in ((LIBRARY, other), (other, LIBRARY)):
            for mode in ("baseline", "evolving"):
                self.expect_done(run(*command, preload=preload, HAKMEM_MODE=mode, **LEARNERS, **settings), output)

    def test_one_that_needs_memory_and_a_thread_of_libcs(self) -> None:
        self.both_orders(INTERPOSER, PROGRAMS / "names_host")

    def test_one_that_looks_names_up(self) -> None:
        self.both_orders(INTERPOSER_LOOKUP, PROGRAMS / "names_host", "vfork")

    def test_calls_of_the_process_reach_it(self) -> None:
        result = run(PROGRAMS / "names_host", "vfork", preload=(LIBRARY, INTERPOSER), INTERPOSER_SAYS="1")
        self.expect_done(result, "done\nprctl 1 unshare 1 setns 1\n")

    def test_those_of_the_distribution(self) -> None:
        python = "import threading; t = [threading.Thread(target=bytearray, args=(9000000,)) for _ in range(4)]; " \
            "[x.start() for x in t]; [x.join() for x in t]; print('done')"
        for other in FOUND:
            with self.subTest(other.name):
                if not other.exists():
                    self.skipTest(f"{other} is not installed")
                self.both_orders(other, PROGRAMS / "names_host")
                self.both_orders(other, "/usr/bin/python3", "-c", python)


class Vfork(NamesCase):
    """A child of vfork that prepares itself for exec takes nothing from its parent."""

    def written(self, how: str, setting: str, **settings: str) -> dict[str, int]:
        """The files of the host: what follows upon its number in their names, and their sizes."""
        with tempfile.TemporaryDirectory() as folder:
            names = {"PATH": os.environ["PATH"], "LD_PRELOAD": str(LIBRARY), setting: f"{folder}/file"}
            host = subprocess.Popen([PROGRAMS / "names_host", how], env=names | settings, stdout=subprocess.DEVNULL)
            self.assertEqual(host.wait(60), 0)
            own = Path(folder).glob(f"file.{host.pid}*")
            return {file.name.removeprefix(f"file.{host.pid}"): file.stat().st_size for file in own}

    def expect_as_much(self, setting: str, **settings: str) -> None:
        with_child, without = self.written("vfork", setting, **settings), self.written("plain", setting, **settings)
        self.assertEqual(set(with_child), set(without))
        self.assertNotEqual(without, {})
        for name, size in without.items():
            self.assertGreater(2 * with_child[name], size, name)

    def test_the_helper_stays(self) -> None:
        self.expect_done(run(PROGRAMS / "names_host", "vfork"))

    def test_the_profile_is_written_at_exit(self) -> None:
        self.expect_as_much("HAKMEM_PROFILE_FILE", HAKMEM_PROFILE_BYTES="4096")

    def test_the_trace_goes_on(self) -> None:
        self.expect_as_much("HAKMEM_TRACE_FILE")

    def test_a_crash_is_told(self) -> None:
        result = run(PROGRAMS / "names_host", "vfork_crash", HAKMEM_CRASH_REPORT="on")
        self.assertEqual(result.returncode, -11)
        self.assertIn("hakmem: ", result.stderr)


if __name__ == "__main__":
    unittest.main()
