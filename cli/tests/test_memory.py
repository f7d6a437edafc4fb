# SPDX-License-Identifier: MIT OR Apache-2.0
"""The waterfall of a process's memory: real programs, stopped while they are looked at, against the kernel's own sums."""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import signal
import subprocess
import time
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from support import BUILD, COMMAND, Scratch, clean_environment, end, line_of, program

from hakmem.base.errors import Refusal
from hakmem.profiling.profile import written_anew
from hakmem.reading import memory
from hakmem.reading.find_page import find_page
from hakmem.reading.memory import Waterfall, huge_bytes, stretches, waterfall_from, waterfall_of
from hakmem.reading.pprof import Profile, read
from hakmem.reading.resident import PAGE, Mapping, Pagemap, mappings_in, mappings_of
from hakmem.reading.stats_page import BIG, METADATA, RUNS, Extent

MIB = 1 << 20
MOST = 0.02  # what sums may be off
PATIENCE_SECONDS = 60
SOURCE = "#include <regex>\n#include <map>\n#include <iostream>\n" + "\n".join(
    f'int f{n}(const std::string &s) {{ std::map<std::string, int> m; std::smatch found; '
    f'return std::regex_match(s, found, std::regex("a{n}b*")) + m[s]; }}' for n in range(12)
)


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not what():
        if time.monotonic() > deadline:
            raise AssertionError("it did not come to be")
        time.sleep(0.005)


def in_use(pid: int) -> int:
    """As its page has it; a program that begins has none for a moment."""
    try:
        return find_page(str(pid)).value("in_use")
    except Refusal:
        return 0


def states_of(pid: int) -> set[str]:
    """Of its threads, which stop one by one."""
    files = Path(f"/proc/{pid}/task").glob("*/stat")
    return {file.read_text().rpartition(")")[2].split()[0] for file in files}


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: states_of(pid) <= set("TZX"))
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def taken_stopped(pid: int) -> Waterfall:
    """It may be stopped while it writes its page: then it goes on for a moment."""
    for _ in range(20):
        with stopped(pid):
            try:
                return waterfall_of(pid)
            except Refusal as refusal:
                said = str(refusal)
        time.sleep(0.01)
    raise AssertionError(said)


def taken_current(pid: int) -> Waterfall:
    """A block of 3 MiB that was touched after the page was written is not in it: of five moments the last, or the first
    that has none."""
    for _ in range(4):
        found = taken_stopped(pid)
        if found.error < MOST:
            return found
        time.sleep(0.02)
    return taken_stopped(pid)


class Watched(Scratch):
    def started(self, *command: str, **settings: str) -> subprocess.Popen[str]:
        words = [f"--set={name}={value}" for name, value in {"stats_file": str(self.folder / "s"), **settings}.items()]
        process = subprocess.Popen(
            [COMMAND, "exec", "--build", str(BUILD), *words, "--", *command],
            env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        self.addCleanup(end, process)
        return process

    def holding(self, **settings: str) -> subprocess.Popen[str]:
        process = self.started(program("holding"), **settings)
        self.assertEqual(line_of(process), "ready 1")
        return process

    def assert_agrees(self, found: Waterfall) -> None:
        self.assertEqual(found.by, "pagemap")
        self.assertGreater(found.mine, MIB // 4)
        self.assertLess(abs(found.smaps - found.mine), MOST * found.mine)
        self.assertLess(found.error, MOST)
        total = sum(part.bytes for part in found.parts)
        self.assertLess(abs(total - found.mine), MOST * found.mine)
        self.assertEqual(found.mine + found.outside, found.rss)
        for part in found.parts:
            if part.name != "untouched":
                self.assertGreaterEqual(part.bytes, 0, part.name)
        self.assertGreaterEqual(found.untouched, 0)
        self.assertEqual(found.left_out, 0)


class Agrees(Watched):
    def test_python(self) -> None:
        code = (
            "import threading\n"
            "def work(kept=[]):\n"
            "    while True: kept[:] = kept[-99:] + [[bytes(n * 7) for n in range(999)], bytearray(3 << 20)]\n"
            "for _ in range(2): threading.Thread(target=work, daemon=True).start()\n"
            "print('ready', flush=True); input()"
        )
        process = self.started("/usr/bin/python3", "-c", code)
        line_of(process)
        until(lambda: in_use(process.pid) > 32 * MIB)
        for _ in range(3):
            self.assert_agrees(taken_current(process.pid))
            time.sleep(0.05)

    @unittest.skipIf(shutil.which("redis-server") is None, "no redis-server")
    def test_redis(self) -> None:
        socket = self.folder / "redis"
        process = self.started(
            "redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(self.folder)
        )
        until(socket.exists)
        load = ["redis-benchmark", "-s", str(socket), "-q", "-n", "30000", "-r", "20000", "-d", "300", "-t", "set,lpush"]
        with subprocess.Popen(load, stdout=subprocess.DEVNULL) as benchmark:
            until(lambda: in_use(process.pid) > 4 * MIB)
            self.assert_agrees(taken_stopped(process.pid))
            benchmark.wait()
        self.assert_agrees(taken_stopped(process.pid))

    def compiler(self) -> int:
        """The number of what g++ runs, once its page is there."""
        for file in self.folder.glob("s.*"):
            comm = Path("/proc", file.name[2:], "comm")
            if comm.exists() and comm.read_text().strip() == "cc1plus":
                return int(file.name[2:])
        return 0

    @unittest.skipIf(shutil.which("g++") is None, "no g++")
    def test_a_compiler(self) -> None:
        (self.folder / "a.cpp").write_text(SOURCE)
        process = self.started("g++", "-O2", "-c", str(self.folder / "a.cpp"), "-o", str(self.folder / "a.o"))
        until(lambda: self.compiler() != 0)
        pid = self.compiler()
        until(lambda: in_use(pid) > 2 * MIB)
        self.assert_agrees(taken_stopped(pid))
        self.assertEqual(process.wait(), 0)

    def test_what_is_known(self) -> None:
        process = self.holding()
        found = waterfall_of(process.pid)
        self.assert_agrees(found)
        part = {each.name: each.bytes for each in found.parts}
        self.assertEqual(list(part), ["live", "holes", "caches", "dirty", "metadata", "untouched"])
        self.assertGreater(part["live"], 74 * MIB)
        self.assertLess(part["live"], 80 * MIB)
        self.assertGreater(part["holes"] + part["caches"], 8 * MIB)
        self.assertLess(part["untouched"], -47 * MIB)  # the page of zeros is nobody's
        self.assertGreater(part["untouched"], -52 * MIB)
        self.assertGreater(found.outside, 0)

    def test_beside_a_forks_child(self) -> None:
        process = self.holding()
        assert process.stdin is not None
        process.stdin.write("fork\n")
        process.stdin.flush()
        child = int(line_of(process))
        self.addCleanup(os.kill, child, signal.SIGKILL)
        self.assert_agrees(waterfall_of(child))
        self.assert_agrees(waterfall_of(process.pid))


class Split(Watched):
    def profile(self, usable: int, requested: int) -> object:
        made = Profile(string_table=["", "inuse_space", "inuse_requested"])
        made.sample_type.add(type=1)
        made.sample_type.add(type=2)
        made.sample.add(value=[usable, requested])
        return made

    def test_by_a_profile_of_it(self) -> None:
        process = self.holding(profile_file=str(self.folder / "h"), profile_bytes="1000")
        found = waterfall_of(process.pid, read(written_anew(process.pid)))
        self.assert_agrees(found)
        part = {each.name: each.bytes for each in found.parts}
        small = 10 * MIB  # in blocks of 100 B, which have 112; the big one wastes nothing
        self.assertLess(abs(part["waste"] - small * 12 / 100), small / 20)

    def test_by_numbers(self) -> None:
        process = self.holding()
        live = waterfall_of(process.pid).parts[0].bytes
        for usable, requested, share in ((100, 80, 0.2), (100, 120, 0), (0, 0, 0)):
            found = waterfall_of(process.pid, self.profile(usable, requested))
            self.assertEqual([each.name for each in found.parts[:2]], ["live", "waste"])
            self.assertEqual(found.parts[0].bytes + found.parts[1].bytes, live)
            self.assertAlmostEqual(found.parts[1].bytes, live * share, delta=1)
        with self.assertRaisesRegex(Refusal, "does not say how much was asked for"):
            waterfall_of(process.pid, Profile(string_table=[""]))


class Resident(Watched):
    def test_word_by_word_it_is_the_same(self) -> None:
        """But for pages that were only read. Without huge pages: the kernel maps the page of zeros when one is split."""
        process = self.holding(huge_pages="off")
        mappings = mappings_of(process.pid)
        with stopped(process.pid), Pagemap(process.pid) as pagemap:
            for one in stretches(find_page(str(process.pid)).extents, mappings):
                there = pagemap.resident(one.start, one.end)
                read_only = 8 * MIB if one.kind == BIG and pagemap.scans else 0
                self.assertEqual(pagemap.read(one.start, one.end), there + read_only)

    def test_many_regions(self) -> None:
        """Every second page: more regions than are asked for at once, and as many."""
        for regions in (100, 1023, 1024, 1025, 8192):
            memory_ = mmap.mmap(-1, regions * 2 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            memory_.madvise(mmap.MADV_NOHUGEPAGE)
            for at in range(0, len(memory_), 2 * PAGE):
                memory_[at] = 1
            start = ctypes.addressof(ctypes.c_char.from_buffer(memory_))
            with Pagemap(os.getpid()) as pagemap:
                self.assertEqual(pagemap.resident(start, start + len(memory_)), regions * PAGE)
                self.assertEqual(pagemap.read(start, start + len(memory_)), regions * PAGE)

    def test_on_an_older_kernel(self) -> None:
        process = self.holding()
        with mock.patch.object(Pagemap, "scan", side_effect=OSError):
            found = waterfall_of(process.pid)
        self.assert_agrees(found)
        self.assertLess(abs(found.mine - waterfall_of(process.pid).mine), MOST * found.mine)

    def test_without_pagemap(self) -> None:
        process = self.holding()
        true = waterfall_of(process.pid)
        with mock.patch.object(memory, "Pagemap", side_effect=PermissionError):
            found = waterfall_of(process.pid)
        self.assertEqual(found.by, "smaps")
        self.assertLess(abs(found.mine - true.mine), MOST * true.mine)

    def test_overlaps(self) -> None:
        smaps = (
            "1000-5000 rw-p 00000000 00:00 0 \nSize: 16 kB\nRss: 8 kB\nAnonHugePages: 4 kB\n"
            "5000-6000 rw-p 00000000 00:00 0 [anon:hak]\nRss: 4 kB\nVmFlags: rd wr\n"
            "6000-7000 r--p 00000000 08:01 77 /bin/true (deleted)\nRss: 4 kB\n"
            "7000-9000 rw-s 00000000 00:01 78 /dev/zero (deleted)\nRss: 4 kB\n"
            "9000-a000 rw-p 00000000 00:00 0 \nRss: 0 kB\n"
        )
        mappings = list(mappings_in(smaps))
        self.assertEqual(mappings[0], Mapping(0x1000, 0x5000, 8192, True, 4096, rights="rw-p"))
        self.assertEqual([each.anonymous for each in mappings], [True, True, False, False, True])
        extents = (Extent(0x9000, 0x1000, BIG), Extent(0x3000, 0x5000, RUNS), Extent(0, 0x2000, METADATA))
        found = [(one.start, one.end, one.kind) for one in stretches(extents, mappings)]
        self.assertEqual(found, [(0x1000, 0x2000, METADATA), (0x3000, 0x5000, RUNS), (0x5000, 0x6000, RUNS)])
        self.assertEqual(huge_bytes(list(stretches(extents, mappings))), 3 * 1024, "1 KiB of each page of the first")
        all_of_it = [Extent(n, 1 << 63, RUNS) for n in range(1000)]
        self.assertEqual([one.start for one in stretches(all_of_it, mappings)], [0x1000, 0x5000])


class Refused(Watched):
    def test_nobody_and_one_that_shows_nothing(self) -> None:
        ended = subprocess.Popen(["true"])
        ended.wait()
        for pid, text in ((ended.pid, "no process"), (os.getpid(), "does not run on HAKMEM")):
            with self.assertRaisesRegex(Refusal, text):
                waterfall_of(pid)

    def test_ended_meanwhile_and_a_page_without_extents(self) -> None:
        process = self.holding()
        page = find_page(str(process.pid))
        with self.assertRaisesRegex(Refusal, "do not say where"):
            waterfall_from(process.pid, page._replace(extents=()), mappings_of(process.pid))
        process.kill()
        until(lambda: states_of(process.pid) == {"Z"})
        with self.assertRaisesRegex(Refusal, "has ended"):
            mappings_of(process.pid)


if __name__ == "__main__":
    unittest.main()
