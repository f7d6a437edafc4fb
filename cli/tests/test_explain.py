# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem explain`: programs that hold memory for a known reason, which the first row has to name, with its bytes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import unittest
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Optional
from unittest import mock

from support import BUILD, COMMAND, Scratch, clean_environment, end, hakmem, line_of, program
from test_policy import sealed

from hakmem.base.errors import Refusal
from hakmem.explaining.cause import TRIM, size_of
from hakmem.explaining.causes import CAUSES, ordered
from hakmem.explaining.free import slabs_text
from hakmem.explaining.growth import Growth, growth_lines
from hakmem.explaining.holders import SAMPLES_LEAST, by_stack, estimate_of
from hakmem.explaining.live import best_class, copied_bytes, rounding_bound
from hakmem.explaining.look import Look, look_at
from hakmem.explaining.outside import pieces_of
from hakmem.explaining.pages import GAP_MOST, joined, near
from hakmem.explaining.parts import ClassUse, page_masks
from hakmem.explaining.show import lines_of, rest_of
from hakmem.explaining.unused import PAGES_READ, drawn, wilson
from hakmem.reading.heap import Class, Span, apart, rows_of_ones
from hakmem.reading.memory import waterfall_of
from hakmem.reading.resident import PAGE, Mapping
from hakmem.reading.samples import Sample
from hakmem.reading.tables import Memory, Tables

LIBRARY = str(BUILD / "libhakmem.so")
MIB = 1 << 20
ELSEWHERE = 2 * MIB  # what the parts of a process may be off by that runs on while it is looked at
BESIDE = 0.15  # of what caches hold: free slots of slabs on the same pages, which are counted as whole pages
NOBODY = 65534


class Explained(Scratch):
    def started(self, *command: str, library: str = LIBRARY, **settings: str) -> subprocess.Popen[str]:
        variables = {f"HAKMEM_{name.upper()}": value for name, value in settings.items()}
        process = subprocess.Popen(
            command, env=clean_environment(LD_PRELOAD=library, **variables),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        self.addCleanup(end, process)
        return process

    def ready(self, cause: str, *arguments: str, **settings: str) -> tuple[int, int]:
        """Of the program, or its child: pid, and the bytes that the cause holds."""
        process = self.process = self.started(program("causes"), cause, *arguments, **settings)
        word, size, pid = line_of(process).split()
        self.assertEqual(word, "ready")
        self.addCleanup(self.end_child, int(pid), process.pid)
        return int(pid), int(size)

    def end_child(self, pid: int, parent: int) -> None:
        if pid != parent:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def assert_trim_brings(self, look: Look) -> None:
        """What the rows promise, of it and of all of it."""
        changes = [change for each in ordered(look) for change in each.changes(look)]
        promised = sum(change.bytes for change in changes if TRIM in change.text)
        assert self.process.stdin is not None
        self.process.stdin.write("t\n")
        self.process.stdin.flush()
        self.assertEqual(line_of(self.process), "trimmed")
        brought = look.rss - look_at(look.pid).rss
        self.assertLess(abs(brought - promised), MIB + promised // 10)

    def assert_first(self, look: Look, part: str, size: int, tolerance: float = 0.05) -> None:
        first = ordered(look)[0]
        self.assertEqual(first.part, part, "\n".join(lines_of(look, None)))
        self.assertLess(abs(size_of(look, part) - size), tolerance * size)
        self.assertLess(abs(rest_of(look)), ELSEWHERE)
        for each in CAUSES:
            self.assertGreaterEqual(size_of(look, each.part), 0, each.part)


class KnownCauses(Explained):
    def look(self, cause: str, *arguments: str, **settings: str) -> tuple[Look, int]:
        pid, size = self.ready(cause, *arguments, **settings)
        return look_at(pid), size

    def test_a_leak(self) -> None:
        pid, size = self.ready("leak")
        before = look_at(pid)
        time.sleep(0.2)
        growth = Growth(before, look_at(pid))
        self.assertEqual(ordered(before)[0].part, "live")
        self.assertGreater(size_of(before, "live"), size)
        lines = list(growth_lines(growth, "live"))
        self.assertIn("a leak, if it goes on", lines[0])
        self.assertRegex(lines[1], r"class 112 B: \+[\d,]+ blocks, \+")

    def test_rounding(self) -> None:
        """Of blocks of one byte, which take 16; without samples a bound is told, and the command that measures it."""
        look, size = self.look("rounding", profile="on", profile_bytes="16k")
        self.assertGreater(look.rounding.samples, 1000)
        self.assert_first(look, "rounding", size, 0.15)
        self.assertRegex(" ".join(lines_of(look, None)), r"≈ \S+ MiB \(\S+ to \S+ MiB\),\s+from [\d,]+\s+samples")
        look, size = self.look("rounding")
        text = " ".join(lines_of(look, None))
        self.assertRegex(text, r"not known: what sizes were rounded up by: .* hakmem exec\s+--watch")
        self.assertGreaterEqual(rounding_bound(look), size)

    def test_a_size_class_that_would_save(self) -> None:
        """Of blocks of 5,136 bytes in a class of 5,632 it is told what a class of their own would save."""
        asked = [Sample(0, 5632, 5136, 10.0, 0, 0)] * 90 + [Sample(0, 5632, 5600, 10.0, 0, 0)] * 10
        self.assertEqual(best_class(asked), (5248, 90 * 10.0 * (5632 - 5248), 90))  # classes lie 128 B apart there
        self.assertIsNone(best_class([Sample(0, 64, 64, 1.0, 0, 0)]))
        look, _ = self.look("rounding", profile="on", profile_bytes="16k")
        self.assertNotIn("a size class of", " ".join(lines_of(look, None)))  # of one byte: none lies below 16
        between = [each._replace(bytes=176, asked=161) for each in look.samples]
        text = " ".join(" ".join(lines_of(replace(look, samples=between), None)).split())
        self.assertNotIn("a size class of", text)  # 161 rounded up to 16 is 176
        between = [each._replace(bytes=5632, asked=5130) for each in look.samples]
        text = " ".join(" ".join(lines_of(replace(look, samples=between), None)).split())
        self.assertRegex(text, r"a size class of 5,248 B would save ≈ [\d.]+ \w+, \d+% of it, from [\d,]+ samples; mode=evolving")

    def test_lines_fit_a_narrow_terminal(self) -> None:
        look, _ = self.look("burst", price="speed")
        for columns in (40, 54):
            with mock.patch.dict(os.environ, COLUMNS=str(columns)):
                for line in lines_of(replace(look, modules=[]), None):
                    self.assertLessEqual(len(line), columns, line)

    def test_rounding_that_is_sampled_in_part(self) -> None:
        """As after `hakmem profile PID`: the bound stays for the blocks from before."""
        look, size = self.look("rounding", profile="on", profile_bytes="16k")
        few = look.samples[:20]
        part = replace(look, samples=few, holders=by_stack(few, 16 << 10), rounding=estimate_of(few, lambda each: 15, 16 << 10))
        text = " ".join(" ".join(lines_of(part, None)).split())
        bound = re.search(r"not known: what sizes were rounded up by: of blocks in slabs at most ([\d.]+) MiB, .* of the sampled ", text)
        assert bound is not None, text
        self.assertGreaterEqual(float(bound[1]) * MIB, 0.9 * size)
        self.assertNotIn("what sizes were rounded up by", " ".join(lines_of(look, None)))

    def test_a_burst(self) -> None:
        look, size = self.look("burst", price="speed")
        self.assert_first(look, "kept", size, 0.2)
        self.assert_trim_brings(look)

    def test_a_mode_that_learns(self) -> None:
        """It says where the times come from, and which file."""
        file = str(self.folder / "policy")
        look, _ = self.look("burst", price="speed", mode="evolving", policy_file=file)
        text = "\n".join(lines_of(look, None))
        self.assertIn("mode=evolving: learnt times of", text)
        self.assertRegex(text, rf"(?s)settings: .*mode=evolving,\s+policy_file={file}")
        look, _ = self.look("burst", price="speed")
        self.assertEqual((look.policy_file, look.keeps_s), ("", 0.0))
        self.assertNotIn("mode=", "\n".join(lines_of(look, None)))

    def test_earlier_runs_make_it_keep(self) -> None:
        """Runs of a minute, which paid a second for memory that cost nothing to keep."""
        file = self.folder / "policy"
        file.write_text(sealed(["hakmem-policy 2", "past 1 60000 70000 1000000 0"]))
        look, size = self.look("burst", mode="frozen", policy_file=str(file))
        self.assert_first(look, "kept", size, 0.2)
        self.assertGreater(look.keeps_s, 30)
        text = " ".join(" ".join(lines_of(look, None)).split())
        self.assertRegex(text, r"more than it saved, so it stays as at price=speed for [\d.]+ s more")
        self.assertIn("HAKMEM_MODE=baseline lets the price rule", text)
        self.assertNotIn("HAKMEM_PRICE=lean", text)

    def test_fragments(self) -> None:
        look, size = self.look("fragments")
        self.assert_first(look, "holes", size, 0.1)
        self.assertRegex("\n".join(lines_of(look, None)), r"class 64 B: [\d,]+ slabs, 1\.\d% of the slots in use")

    def test_a_fragmenting_site_and_its_neighbour(self) -> None:
        look, size = self.look("fragments", profile="on", profile_bytes="16k")
        self.assert_first(look, "holes", size, 0.1)
        text = " ".join(" ".join(lines_of(look, None)).split())
        self.assertRegex(text, r"held for [\d.]+ s by for_long\+\S+ \(tools_causes\) <")
        beside = r"freed beside them since sampling began, of for_a_moment\+\S+ \(tools_causes\) < .*: ≈ 6\d\.\d MiB \("
        self.assertRegex(text, beside)
        self.assertNotIn("by for_a_moment", text)

    def test_big_blocks(self) -> None:
        look, size = self.look("big", price="speed")
        self.assert_first(look, "big_kept", size)
        self.assert_trim_brings(look)

    def test_magazines(self) -> None:
        look, size = self.look("magazines", price="speed")
        self.assert_first(look, "caches", size, BESIDE)
        self.assert_trim_brings(look)

    def test_magazines_that_no_thread_empties(self) -> None:
        look, size = self.look("magazines", background_thread="off")
        self.assert_first(look, "caches", size, BESIDE)
        self.assert_trim_brings(look)
        self.assertIn("background_thread=off", "\n".join(lines_of(look, None)))

    def test_huge_pages(self) -> None:
        look, size = self.look("huge", huge_pages="on")
        if look.unused.of < 0.95 * size:
            self.skipTest("the kernel had too few huge pages")
        self.assert_first(look, "unused", size, 0.1)
        self.assertLessEqual(look.unused.low, look.unused.bytes)

    def test_settings_bring_what_is_promised(self) -> None:
        for cause, part, name, before, after in (
            ("burst", "kept", "price", "speed", "lean"), ("huge", "unused", "huge_pages", "on", "off"),
        ):
            look, _ = self.look(cause, **{name: before})
            if size_of(look, part) < MIB:
                self.skipTest("the kernel had no huge pages")
            changes = [change for each in ordered(look) if each.part == part for change in each.changes(look)]
            promised = next(change for change in changes if f"HAKMEM_{name.upper()}={after}" in change.text)
            self.assertTrue(promised.at_most)
            brought = look.rss - self.look(cause, **{name: after})[0].rss
            self.assertLess(brought, promised.bytes + MIB)
            self.assertGreater(brought, 0.9 * promised.bytes - MIB)

    def test_stacks(self) -> None:
        look, size = self.look("stacks")
        self.assert_first(look, "stacks", size, 0.1)
        self.assertIn("9 threads", "\n".join(lines_of(look, None)))

    def test_a_mapped_file(self) -> None:
        file = self.folder / "mapped"
        file.write_bytes(b"1" * (24 * MIB))
        look, size = self.look("file", str(file))
        self.assert_first(look, "files", size)
        self.assertIn(str(file), [piece.name for piece in look.parts.pieces])

    def test_other_mappings(self) -> None:
        look, size = self.look("anonymous")
        self.assert_first(look, "other", size)

    def test_shared_memory(self) -> None:
        look, size = self.look("shared")
        self.assert_first(look, "shared_memory", size)

    def test_a_forks_child(self) -> None:
        look, size = self.look("child")
        self.assert_first(look, "copy", size, 0.2)
        self.assertNotEqual(look.parent, 0)
        parent = look_at(look.parent)
        self.assertEqual((ordered(parent)[0].part, parent.parent), ("live", 0))
        text = " ".join(lines_of(parent, None))
        self.assertIn("shared with processes forked", text)
        self.assertRegex(text, r"long blocks of child\+\S+ \(tools_causes\): 400 blocks")
        self.assertNotIn("are copies", " ".join(lines_of(look, None)))

    def test_a_forks_child_with_a_child(self) -> None:
        """What it took itself is its own, although its child shares it."""
        code = ("import os, time\nold = [bytes(3000) for _ in range(8000)]\nif os.fork():\n os.wait()\nelse:\n"
                " kept = [bytes(2000) for _ in range(8000)]\n child = os.fork()\n"
                " if child: print(os.getpid(), child, flush=True)\n time.sleep(60)")
        process = self.started("/usr/bin/python3", "-c", code)
        pids = [int(word) for word in line_of(process).split()]
        for pid in pids:
            self.addCleanup(os.kill, pid, signal.SIGKILL)
        look, last = look_at(pids[0]), look_at(pids[1])
        self.assertLess(abs(size_of(look, "live") - 16 * MIB), 3 * MIB, look.parts.bytes)
        self.assertLess(abs(size_of(look, "copy") - 24 * MIB), 5 * MIB, look.parts.bytes)
        self.assertGreater(size_of(last, "copy"), 37 * MIB, last.parts.bytes)

    def test_a_forks_child_that_writes(self) -> None:
        """Its pages are its own then: it is told that they are copies, and that freeing is not the only remedy."""
        look, size = self.look("copies")
        self.assert_first(look, "live", size)
        self.assertLess(abs(copied_bytes(look) - size), 0.05 * size)
        text = " ".join(lines_of(look, None))
        self.assertRegex(text, rf"up to [\d.]+ MiB\s+of it are copies: process {look.parent}, the parent")
        self.assertRegex(text, r"-> at most [\d.]+ MiB: write less to memory from before the fork")
        self.assertEqual(copied_bytes(look_at(look.parent)), 0)


class OtherPrograms(Explained):
    def test_it_agrees_with_the_counters(self) -> None:
        """Of a program with blocks of every kind: those of the statistics page, which are counted apart."""
        process = self.started(program("holding"), stats_file=str(self.folder / "s"))
        line_of(process)
        look, told = look_at(process.pid), waterfall_of(process.pid)
        mine = sum(size_of(look, part) for part in ("live", "holes", "caches", "kept", "big_kept", "own", "unused"))
        self.assertLess(abs(mine - told.mine), 0.01 * told.mine)
        by_name = {part.name: part.bytes for part in told.parts}
        self.assertLess(abs(look.heap.depot_bytes() + sum(look.heap.threads) - by_name["caches"]), PAGE)
        live = sum(use.live * look.heap.classes[number].bytes for number, use in look.parts.classes.items())
        long = sum(span.end - span.start for span in look.heap.spans if span.use == "live")
        self.assertLess(abs(live + long - told.live), MIB)

    def test_python_while_it_works(self) -> None:
        code = (
            "import threading\n"
            "def work(kept=[]):\n"
            "    while True: kept[:] = kept[-99:] + [[bytes(n * 7) for n in range(999)], bytearray(3 << 20)]\n"
            "for _ in range(2): threading.Thread(target=work, daemon=True).start()\n"
            "print('ready', flush=True); input()"
        )
        process = self.started("/usr/bin/python3", "-c", code)
        line_of(process)
        for _ in range(5):
            look = look_at(process.pid)
            self.assertLess(abs(rest_of(look)), max(ELSEWHERE, look.rss // 4))

    def test_stopped(self) -> None:
        pid, _ = self.ready("burst", price="speed")
        os.kill(pid, signal.SIGSTOP)
        self.assertEqual(ordered(look_at(pid))[0].part, "kept")

    def test_text_and_json(self) -> None:
        pid, _ = self.ready("anonymous")
        text = hakmem("explain", str(pid), COLUMNS="80")
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        self.assertRegex(text.stdout, rf"\Aprocess {pid}: 49\.\d MiB resident .*\n\S+causes anonymous\n")
        self.assertRegex(text.stdout, r"\n +48\.\d MiB +\d\d%  other mappings, not HAKMEM's\n")
        self.assertLessEqual(max(map(len, text.stdout.splitlines())), 80)
        ended = hakmem("explain", str(pid), "--json", "--seconds", "0.1")
        facts = json.loads(ended.stdout)
        self.assertEqual((ended.returncode, facts["pid"], facts["rows"][0]["cause"]), (0, pid, "other"))
        self.assertEqual(facts["rows"][0]["grew_bytes"], 0)
        sums = sum(row["bytes"] for row in facts["rows"]) + facts["rest_bytes"]
        self.assertEqual(sums, facts["resident_bytes"])


class Refused(Explained):
    def refused(self, *arguments: str, user: Optional[int] = None) -> str:
        ended = subprocess.run(
            [COMMAND, "explain", *arguments], env=clean_environment(), user=user, capture_output=True, text=True,
            check=False,
        )
        self.assert_one_line(ended.stderr)
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))
        return ended.stderr

    def test_an_address_has_a_command_of_its_own(self) -> None:
        for words in (("0x7f0000001040",), ("0x7f0000001040", "--pid", "1"), ("12345", "-p1"), ("--pid=1", "7f00")):
            self.assertIn("hakmem address PTR --pid PID", self.refused(*words))

    def test_processes_that_cannot_be_explained(self) -> None:
        process = subprocess.Popen(["true"])
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        self.assertIn("has ended", self.refused(str(process.pid)))
        process.wait()
        self.assertIn("no process", self.refused(str(process.pid)))
        self.assertIn("does not run on HAKMEM", self.refused(str(self.started("sleep", "60", library="").pid)))

    @unittest.skipUnless(os.geteuid() == 0, "only root becomes another user")
    def test_another_users_process(self) -> None:
        pid, _ = self.ready("anonymous")
        self.assertIn("another user's", self.refused(str(pid), user=NOBODY))

    @unittest.skipUnless(os.geteuid() == 0, "only root writes into other processes")
    def test_damaged_tables(self) -> None:
        """The process may write into its tables what it likes: nothing loops, and nothing takes all memory."""
        places = (("range", "range_units"), ("big", "big_table"), ("meta", ""), ("depot", ""), ("class", "class_slots"))
        for where, name in places:
            pid, _ = self.ready("anonymous")
            memory = Memory(pid)
            tables = Tables(memory)
            with open(f"/proc/{pid}/mem", "r+b", buffering=0) as its_own:
                its_own.seek(tables.at[where] + tables.n.get(name, 0))
                its_own.write(b"\x77" * 8)
            memory.close()
            with suppress(Refusal):
                self.assertGreater(look_at(pid).rss, 48 * MIB)

    def test_one_that_ends_or_execs_meanwhile(self) -> None:
        """When it does so in the middle of a look, in which each read fails then."""
        for last, said in ((b"", "there is no process|has ended"), (b"sleep", "does not run on HAKMEM")):
            script = "echo ready; read line; [ -z $line ] || unset LD_PRELOAD; exec ${line:-true} 60"
            process = self.started("sh", "-c", script)
            line_of(process)
            with mock.patch("hakmem.explaining.look.heap_of", side_effect=self.going(process, last.decode())):
                self.assertRaisesRegex(Refusal, said, look_at, process.pid)

    def going(self, process: subprocess.Popen[str], line: str):  # type: ignore[no-untyped-def]
        from hakmem.reading.heap import heap_of

        told: list[str] = []

        def before_reading(tables):  # type: ignore[no-untyped-def]
            assert process.stdin is not None
            if not told:
                told.append(line)
                process.stdin.write(f"{line}\n")
                process.stdin.flush()
                self.wait_for_program(process.pid, line)
            return heap_of(tables)

        return before_reading

    def wait_for_program(self, pid: int, name: str) -> None:
        for _ in range(5000):
            with suppress(OSError):
                is_there = name and name in os.readlink(f"/proc/{pid}/exe")
                if is_there or Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                    return
            time.sleep(0.002)
        self.fail("it went on as it was")


class Threads(Explained):
    def test_a_thread_is_no_process(self) -> None:
        process = self.started(program("causes"), "stacks")
        line_of(process)
        thread = next(name for name in os.listdir(f"/proc/{process.pid}/task") if name != str(process.pid))
        ended = hakmem("explain", thread)
        text = f"hakmem: {thread} is a thread of process {process.pid}, which has the memory: give that number\n"
        self.assertEqual((ended.returncode, ended.stderr), (2, text))


class Figures(unittest.TestCase):
    def test_a_class_of_full_slabs(self) -> None:
        text = slabs_text(ClassUse(slabs=3, live=9, holes=5427))
        self.assertEqual(text, "3 slabs without a free slot, 5.3 KiB behind the last ones")

    def test_rows_of_bits(self) -> None:
        self.assertEqual(list(rows_of_ones(0b1110010000000011)), [(0, 2), (10, 11), (13, 16)])
        self.assertEqual(list(rows_of_ones(0)), [])

    def test_what_was_told_twice_counts_once(self) -> None:
        spans = [Span(4, 8, "live"), Span(0, 6, "big_kept"), Span(5, 6, "live"), Span(8, 9, "live")]
        found = [(span.start, span.end, span.use) for span in apart(spans)]
        self.assertEqual(found, [(0, 6, "big_kept"), (6, 8, "live"), (8, 9, "live")])

    def test_ranges_are_joined(self) -> None:
        self.assertEqual(list(joined([(8, 9), (1, 3), (2, 5), (5, 6), (10, 10)])), [(1, 6), (8, 9)])

    def test_regions_with_little_between_them(self) -> None:
        far = GAP_MOST * 2
        found = near([(PAGE, 2 * PAGE), (4 * PAGE, 5 * PAGE), (far, far + PAGE)])
        self.assertEqual(list(found), [(PAGE, 5 * PAGE), (far, far + PAGE)])
        self.assertEqual(list(near([])), [])

    def test_slots_of_a_page(self) -> None:
        masks = page_masks(Class(3000, 21, 2900), 16)
        self.assertEqual(masks[:2], [0b11, 0b110])
        self.assertEqual(masks[15], 1 << 20)
        self.assertEqual(page_masks(Class(40000, 1, 0), 16)[10:], [0] * 6)

    def test_few_samples_are_a_hint(self) -> None:
        samples = [Sample(n * 64, 64, 64, 100.0, 0, 1) for n in range(SAMPLES_LEAST)]
        few, enough = (estimate_of(some, lambda each: each.bytes, 6400) for some in (samples[1:], samples))
        self.assertEqual((few.is_hint, enough.is_hint, enough.bytes), (True, False, 64000))
        self.assertLess(enough.low, 64000)
        self.assertGreater(enough.high, 64000)

    def test_pages_are_drawn(self) -> None:
        self.assertEqual(drawn([(PAGE, 2), (8 * PAGE, 1)], 10), [PAGE, 2 * PAGE, 8 * PAGE])
        self.assertEqual(len(drawn([(0, 10**6)], PAGES_READ)), PAGES_READ)
        low, high = wilson(500, 1000)
        self.assertTrue(0.46 < low < 0.5 < high < 0.54)
        self.assertEqual(wilson(0, 10)[0], 0.0)

    def test_stacks_have_a_guard(self) -> None:
        mappings = [
            Mapping(0x10000, 0x11000, 0, True, rights="---p"), Mapping(0x11000, 0x91000, 8192, True, rights="rw-p"),
            Mapping(0xA0000, 0xA1000, 4096, False, rights="r-xp", path="/bin/true"),
            Mapping(0xA1000, 0xA2000, 4096, False, rights="rw-p", path="/bin/true"),
            Mapping(0xA2000, 0xA4000, 8192, True, rights="rw-p"), Mapping(0xB0000, 0xB1000, 4096, True, rights="rw-p"),
            Mapping(0xC0000, 0xC1000, 4096, False, rights="rw-s", path="/memfd:x (deleted)"),
        ]
        found = [(piece.owner, piece.bytes) for piece in pieces_of(os.getpid(), mappings, lambda mapping: 0)]
        self.assertEqual(found, [
            ("stacks", 8192), ("program", 4096), ("program", 4096), ("program", 8192), ("other", 4096),
            ("shared_memory", 4096),
        ])


if __name__ == "__main__":
    unittest.main()
