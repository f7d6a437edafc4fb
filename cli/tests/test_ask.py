# SPDX-License-Identifier: MIT OR Apache-2.0
"""Processes that were started without a setting: their statistics, read from their memory."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any
from unittest import mock

from asked import PYTHON, READY, Asked
from rich.console import Console
from support import COMMAND, ROOT, clean_environment, end, hakmem, line_of

from hakmem.base.errors import Refusal
from hakmem.profiling.columns import fitting
from hakmem.reading import living, memory_page, tables
from hakmem.reading.find_page import page_of_process
from hakmem.reading.memory_page import LEFT_OUT, THRESHOLD_STEP, THRESHOLDS, page_in_memory
from hakmem.reading.stats_page import COUNTER, METADATA, STATE, Page, Row, is_sound
from hakmem.reading.tables import Changed, Memory
from hakmem.watching import processes
from hakmem.watching.layout import Section, drawn
from hakmem.watching.once import print_table

NOBODY = 65534
# Of a process that sleeps: states whose value may differ by what its own page was not yet written with.
ROUGH = ("metadata", "mapped", "cached")


class FromMemory(Asked):
    def both(self, **settings: str) -> tuple[Page, Page]:
        """Of one process that sleeps: its page, and what its memory says."""
        pid = self.ready(stats_file=str(self.folder / "s"), **settings)
        time.sleep(0.3)
        kept, read = page_of_process(pid), page_in_memory(pid)
        self.assertEqual((kept.in_memory, read.in_memory), (False, True))
        return kept, read

    def test_it_is_what_the_page_says(self) -> None:
        kept, read = self.both(count_calls="on", huge_pages="off")
        self.assertEqual(read.version, kept.version)
        self.assertEqual([row.name for row in read.rows], [row.name for row in kept.rows if row.name not in LEFT_OUT])
        for one in read.rows:
            other = next(row for row in kept.rows if row.name == one.name)
            self.assertEqual((one.kind, one.unit, one.help), (other.kind, other.unit, other.help))
            near = max(1 << 16, other.value // 50) if one.name in ROUGH or one.kind == COUNTER else 1 << 15
            self.assertLess(abs(one.value - other.value), near, one.name)
        for kind in range(METADATA):
            sums = [sum(each.bytes for each in page.extents if each.kind == kind) for page in (kept, read)]
            self.assertLess(abs(sums[0] - sums[1]), max(1 << 20, sums[0] // 50), kind)

    def test_sums_of_a_process_that_works(self) -> None:
        code = (
            "import threading\n"
            "def work():\n"
            "    while True: [bytes(n * 100) for n in range(999)]\n"
            f"for _ in range(3): threading.Thread(target=work, daemon=True).start()\n{READY}"
        )
        pid = self.ready(code)
        for _ in range(20):
            page = page_of_process(pid)
            self.assertTrue(is_sound(page))
            live = sum(page.value(name) for name in ("slab_live", "large_live", "big_live")) - page.value("cached")
            self.assertEqual(page.value("in_use"), live)

    def test_top_and_stats(self) -> None:
        pid = self.ready()
        told = json.loads(hakmem("top", "--once", str(pid), "--json").stdout)
        self.assertGreater(told["state"]["big_live"], 9 << 20)
        self.assertGreater(told["counters"]["kernel_map"], 0)
        memory = told["memory"]
        sum_ = sum(memory["parts"].values()) - memory["untouched_bytes"]
        self.assertLess(abs(sum_ - memory["hakmem_bytes"]), memory["hakmem_bytes"] // 50)
        self.assertLess(abs(memory["error"]), 0.01)
        table = " ".join(hakmem("stats", str(pid)).stdout.split())
        self.assertIn("blocks that the program has", table)
        self.assertIn("not known from outside: start it with hakmem exec --set stats_file=FILE", table)
        self.assertRegex(hakmem("top", "--once", str(pid), "--prometheus").stdout, r"(?m)^hakmem_in_use_bytes\{pid=.* \d+$")

    def test_a_forks_child_and_its_parent(self) -> None:
        """Both have the blocks from before; the child's own come on top."""
        code = (
            "import os\nkept = bytearray(8 << 20)\nif os.fork() == 0:\n    more = bytearray(32 << 20)\n"
            "    print(os.getpid(), flush=True); input()\nos.wait()"
        )
        process = self.started(code)
        child = int(line_of(process))
        self.assertGreater(page_of_process(child).value("big_live"), 40 << 20)
        self.assertLess(page_of_process(process.pid).value("big_live"), 16 << 20)

    def test_learnt_thresholds_are_those_of_the_library(self) -> None:
        text = re.search(r"units\[HAK_ARM_THRESHOLDS\] = \{([^}]*)\}", (ROOT / "src/base/arms.c").read_text())
        assert text is not None
        units = [int(word) or 1.5 for word in text[1].split(",")]
        self.assertEqual((tuple(units), THRESHOLD_STEP), (THRESHOLDS, 512 << 10))


class Refusals(Asked):
    def test_whose_memory_is_not_to_be_read(self) -> None:
        other = subprocess.Popen(["/bin/sleep", "60"])
        self.addCleanup(end, other)
        self.assertIn("does not run on HAKMEM", self.refused("top", "--once", str(other.pid)))
        pid = self.ready()
        self.assertIn("another user's: only that user and root may", self.refused("top", "--once", str(pid), user=NOBODY))

    def test_yama(self) -> None:
        """Of the same user: one line, and what to do."""
        scope = self.folder / "scope"
        pid = self.ready()
        for value, advice in (("1\n", "sudo hakmem"), ("2\n", "sudo hakmem"), ("3\n", "before the next boot")):
            scope.write_text(value)
            with mock.patch.object(living, "SCOPE", scope), mock.patch.object(os, "geteuid", return_value=os.getuid() or 1), \
                    mock.patch.object(living, "is_mine", return_value=True):
                said = living.why_forbidden(pid)
                self.assertIn(f"ptrace_scope is {value.strip()}: ", said)
                self.assertIn(advice, said)
                self.assertIn("protected", living.why_forbidden(pid, attached=False))
        with mock.patch.object(os, "open", side_effect=PermissionError), self.assertRaises(Refusal):
            Memory(pid)

    def test_root_of_a_container(self) -> None:
        """It has no debugger's rights: what is missing is told, and not that root may."""
        with mock.patch.object(os, "geteuid", return_value=0), mock.patch.object(living, "may_trace", return_value=False):
            for attached in (True, False):
                said = living.why_forbidden(os.getpid(), attached)
                self.assertIn("this root lacks CAP_SYS_PTRACE", said)
                self.assertNotIn("only root", said)
        with mock.patch.object(os, "geteuid", return_value=0), mock.patch.object(living, "may_trace", return_value=True), \
                mock.patch.object(living, "SCOPE", self.folder / "none"):
            self.assertNotIn("only root", living.why_forbidden(os.getpid()))

    @contextmanager
    def before_reading(self, what: str, times: int = 1) -> Iterator[list[int]]:
        """The process does something after its maps were read and before its tables are."""
        left, true = [times], memory_page.heap_of

        def then(tables):  # type: ignore[no-untyped-def]
            if left[0]:
                left[0] -= 1
                assert self.process.stdin is not None
                self.process.stdin.write(what + "\n")
                self.process.stdin.flush()
                line_of(self.process) if what != "end" else self.process.wait()
            return true(tables)

        with mock.patch.object(memory_page, "heap_of", then):
            yield left

    def test_one_that_ends_execs_or_forks_meanwhile(self) -> None:
        code = (
            "import os, sys\nprint('ready', flush=True)\n"
            "while (word := input()) != 'end':\n"
            "    if word == 'exec': os.execv('/bin/sh', ['sh', '-c', 'echo there; read x'])\n"
            "    if word == 'fork':\n"
            "        if os.fork() == 0: os._exit(0)\n"
            "        os.wait(); print('forked', flush=True)\n"
        )
        self.ready(code)
        with self.before_reading("fork"):
            self.assertGreater(page_in_memory(self.process.pid).value("in_use"), 0)
        with self.before_reading("end"), self.assertRaisesRegex(Refusal, "no process|has ended"):
            page_in_memory(self.process.pid)
        self.ready(code)
        with self.before_reading("exec"):
            page = page_in_memory(self.process.pid)
        self.assertLess(page.value("in_use"), 1 << 20, "the shell's, which runs on HAKMEM, too")

    def test_hostile_memory(self) -> None:
        """Whatever is in it, there is one line, soon: here each word of the tables' numbers is another."""
        pid = self.ready()
        true = Memory.read
        for number, value in ((0, 0), (7, 1 << 63), (1, (1 << 64) - 1), (3, 1 << 40)):
            count = [0]

            def lying(memory: Memory, address: int, size: int) -> bytes:
                data = true(memory, address, size)
                count[0] += 1
                return value.to_bytes(8, "little") if size == 8 and count[0] % 8 == number else data

            start = time.monotonic()
            with mock.patch.object(Memory, "read", lying):
                try:
                    self.assertTrue(is_sound(page_in_memory(pid)))
                except Refusal as refusal:
                    self.assert_one_line(f"hakmem: {refusal}\n")
            self.assertLess(time.monotonic() - start, 60)

    def test_tables_without_end(self) -> None:
        pid = self.ready()
        with mock.patch.object(tables, "READS_MOST", 10), self.assertRaisesRegex(Refusal, "its tables have no end"):
            page_in_memory(pid)
        with self.assertRaises(Changed):
            list(tables.linked(1, lambda at: at + 1))

    def test_names_that_a_terminal_should_not_get(self) -> None:
        pid = self.ready()
        true = Memory.read

        def lying(memory: Memory, address: int, size: int) -> bytes:
            return true(memory, address, size).replace(b"calls of mmap", b"\x1b[31m of mm\x07p")

        with mock.patch.object(Memory, "read", lying), self.assertRaisesRegex(Refusal, "tables are damaged"):
            page_in_memory(pid)

    def test_one_that_changes_all_the_time(self) -> None:
        pid = self.ready()
        with mock.patch.object(memory_page, "heap_of", side_effect=Changed), self.assertRaisesRegex(Refusal, "faster than"):
            page_in_memory(pid)


class Narrow(unittest.TestCase):
    def test_names_stay(self) -> None:
        heads, row = ("itself", "range", "share", "share", "function"), ("1.0 MiB", "0.5 to 2.0 MiB", "99.0 %", "1.0 %", "f")
        leave = ("share", "range")
        for width, shown in ((200, [0, 1, 2, 3, 4]), (60, [0, 1, 4]), (40, [0, 4]), (1, [0, 4])):
            self.assertEqual(fitting(heads, [row], leave, width), shown)
        self.assertEqual(fitting(heads, [], leave, 200), [0, 1, 2, 3, 4])


    def test_figures_stay(self) -> None:
        section = Section("rates", [("pages of runs given back", "12,345", "123,456,789")], ("rates", "a second", "in all"), "lrr")
        console = Console(width=40, file=io.StringIO())
        console.print(drawn(section))
        shown = console.file.getvalue()
        for figure in ("12,345", "123,456,789", "in all", "a second"):
            self.assertIn(figure, shown)

    def test_words_stay(self) -> None:
        rows = [Row("slab_live", STATE, "bytes", 1, "bytes of live blocks in libhakmem.so's slabs, of which block/slot")]
        said = io.StringIO()
        with mock.patch.dict(os.environ, COLUMNS="40"), redirect_stdout(said):
            print_table(Page("1", 0, tuple(rows), None, (), 0, True))
        self.assertIn("libhakmem.so's", said.getvalue())
        self.assertLessEqual(max(map(len, said.getvalue().splitlines())), 40)


class Listed(Asked):
    def listed(self) -> dict[int, dict[str, Any]]:
        return {each["pid"]: each for each in json.loads(hakmem("top", "--once", "--json").stdout)}

    def test_watched_or_not(self) -> None:
        other = subprocess.Popen(["/bin/sleep", "60"])
        self.addCleanup(end, other)
        plain = self.ready("kept = bytearray(30 << 20); " + READY)
        watched = self.ready(stats_file=str(self.folder / "s"), profile_table=str(self.folder / "t"))
        found = self.listed()
        self.assertNotIn(other.pid, found)
        self.assertIsNone(found[plain]["keeps"])
        self.assertEqual(found[watched]["keeps"], "statistics, profile")
        self.assertGreater(found[plain]["hakmem_bytes"], 30 << 20)
        self.assertIn("bytearray(30 << 20)", str(found[plain]["command"]))
        table = hakmem("top").stdout
        self.assertRegex(table, rf"(?m)^ *{plain} +[\d.]+ MiB +[\d.]+ MiB +- +{PYTHON}")
        self.assertRegex(table, r"one of them: hakmem top \d+\n$")
        self.assertIn(f"{plain} ", hakmem("stats").stdout)

    def test_what_was_never_touched_is_not_resident(self) -> None:
        pid = self.ready("import ctypes; libc = ctypes.CDLL(None); libc.calloc(300 << 20, 1); kept = bytearray(20 << 20); " + READY)
        found = self.listed()[pid]
        self.assertLess(found["hakmem_bytes"], found["resident_bytes"])
        told = json.loads(hakmem("top", "--once", "--json", str(pid)).stdout)["memory"]["hakmem_bytes"]
        self.assertLess(abs(found["hakmem_bytes"] - told), 1 << 20)

    def test_only_those_of_this_user(self) -> None:
        pid = self.ready()
        ended = subprocess.run([COMMAND, "top"], env=clean_environment(), user=NOBODY, capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertNotIn(str(pid), ended.stdout)

    def test_one_that_cannot_be_read(self) -> None:
        """As where Yama refuses: what the kernel says of it is listed all the same."""
        pid = self.ready()
        with mock.patch.object(processes, "Memory", side_effect=Refusal("no")):
            found = processes.process_of(pid)
        assert found is not None
        self.assertIsNone(found.heap)
        self.assertGreater(found.resident, 0)


if __name__ == "__main__":
    unittest.main()
