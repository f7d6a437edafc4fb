# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem top --once`: what a process shows of itself as it runs and after; one line where that fails."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import unittest

from prometheus_client.parser import text_string_to_metric_families
from support import BUILD, COMMAND, ROOT, Scratch, clean_environment, end, hakmem, line_of

from hakmem.base.errors import Refusal
from hakmem.reading.find_page import find_page
from hakmem.reading.stats_page import COUNTER, EXTENT, HEADER, MAGIC, ROW, Extent, Row, page_of, read_page
from hakmem.watching.once import metric_name

PYTHON = "/usr/bin/python3"
READY = "print('ready', flush=True); input()"
IN_USE = "import ctypes; own = ctypes.CDLL(None).hak_bytes_in_use; own.restype = ctypes.c_size_t"


class Shown(Scratch):
    def started(self, code: str, **settings: str) -> subprocess.Popen[str]:
        """A program that keeps its page here, once it has printed a line."""
        variables = {f"HAKMEM_{name.upper()}": value for name, value in settings.items()}
        process = subprocess.Popen(
            [COMMAND, "exec", "--build", str(BUILD), "--set", f"stats_file={self.folder / 's'}", PYTHON, "-c", code],
            env=clean_environment(**variables), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        self.addCleanup(end, process)
        return process


class Live(Shown):
    def test_it_is_what_the_process_says_itself(self) -> None:
        """Without huge pages: beside other programs the first touch of a refused one may be taken for a whole."""
        code = f"{IN_USE}; kept = [bytes(3000) for _ in range(9999)]; print(own(), flush=True); input()"
        process = self.started(code, count_calls="on", huge_pages="off")
        own = int(line_of(process))
        told = json.loads(hakmem("top", "--once", str(process.pid), "--json").stdout)
        self.assertEqual((told["version"], told["pid"]), ("0.1.0", process.pid))
        self.assertLess(abs(told["state"]["in_use"] - own), own // 100)
        self.assertGreater(told["resident_bytes"], own)
        self.assertGreater(told["counters"]["alloc_magazine"], 9999)
        self.assertEqual((self.folder / f"s.{process.pid}").stat().st_mode & 0o777, 0o600)
        memory = told["memory"]
        self.assertEqual(memory["hakmem_bytes"] + memory["outside_bytes"], memory["resident_bytes"])
        self.assertGreaterEqual(min(memory["untouched_bytes"], *memory["parts"].values()), 0)
        sum_ = sum(memory["parts"].values()) - memory["untouched_bytes"]
        self.assertLess(abs(sum_ - memory["hakmem_bytes"]), memory["hakmem_bytes"] // 50)
        table = hakmem("top", "--once", str(process.pid)).stdout
        for label in ("less never touched", "HAKMEM", "outside"):
            self.assertRegex(table, rf"(?m)^ *{label} +[\d,]+ ")
        self.assertEqual(re.findall(r"(?m)^ *holes +.*", table)[1:], [], "one thing has that name")

    def test_one_block_before_it_sleeps(self) -> None:
        """No slow path comes after the last one: what it took, or gave, is seen all the same."""
        libc = "import ctypes, time; c = ctypes.CDLL(None); c.malloc.restype = ctypes.c_void_p; time.sleep(0.3)\n"
        libc += "p = c.malloc(1 << 30)"
        freed = f"time.sleep(0.3); c.free(ctypes.c_void_p(p)); {READY}"
        for then, least, most in ((READY, 1 << 30, 1 << 31), (freed, 0, 1 << 24)):
            process = self.started(f"{libc}; {then}")
            line_of(process)
            told = json.loads(hakmem("top", "--once", str(process.pid), "--json").stdout)
            self.assertLess(least, 1 + told["state"]["big_live"])
            self.assertLess(told["state"]["big_live"], most)

    def test_pages_that_are_read_while_threads_write_them_are_whole(self) -> None:
        code = (
            "import threading, time\n"
            "def work():\n"
            "    while True: [bytes(n * 100) for n in range(999)]\n"
            "for _ in range(3): threading.Thread(target=work, daemon=True).start()\n"
            f"{READY}"
        )
        process = self.started(code)
        line_of(process)
        pages = [find_page(str(process.pid)) for _ in range(300)]
        self.assertGreater(len({page.when for page in pages}), 1)
        for page in pages:
            self.assertLessEqual(page.value("in_use"), page.value("mapped"))
            live = sum(page.value(name) for name in ("slab_live", "large_live", "big_live")) - page.value("cached")
            self.assertEqual(page.value("in_use"), live)

    def test_after_its_end(self) -> None:
        process = self.started("kept = bytes(1 << 22)")
        process.communicate()
        file = self.folder / f"s.{process.pid}"
        told = json.loads(hakmem("top", "--once", str(file), "--json").stdout)
        self.assertIsNone(told["pid"])
        self.assertNotIn("resident_bytes", told)
        self.assertNotIn("memory", told)
        self.assertGreater(told["counters"]["kernel_map"], 0)
        self.assertIn("calls of mmap", hakmem("top", "--once", str(file)).stdout)

    def test_the_earlier_name_prints_the_same(self) -> None:
        process = self.started("kept = bytes(1 << 22)")
        process.communicate()
        file = str(self.folder / f"s.{process.pid}")
        for options in ((), ("--json",), ("--prometheus",)):
            printed = hakmem("stats", file, *options).stdout
            self.assertEqual(printed, hakmem("top", "--once", file, *options).stdout)
            self.assertIn("kernel_map", printed)

    def test_a_forks_child_writes_nothing(self) -> None:
        """What is shown of it is from its memory."""
        process = self.started("import os\nif os.fork() == 0:\n    print(os.getpid(), flush=True); input()\nos.wait()")
        child = line_of(process)
        self.assertTrue(find_page(child).in_memory)
        self.assertEqual([file.name for file in self.folder.iterdir()], [f"s.{process.pid}"])

    def test_rows_are_those_of_the_tables(self) -> None:
        process = self.started(READY)
        line_of(process)
        rows = {row.name: row for row in find_page(str(process.pid)).rows}
        tables = "".join((ROOT / "src" / "tables" / name).read_text() for name in ("counters.def", "stats.def"))
        told = re.findall(r'^(?:COUNTER|STAT|STATE)\((\w+),.*"([^"]*)"\)', tables, re.MULTILINE)
        self.assertEqual({name: row.help for name, row in rows.items()}, dict(told))


class Prometheus(Shown):
    def text(self) -> str:
        process = self.started(READY, count_calls="on", mode="evolving")
        line_of(process)
        return hakmem("top", "--once", str(process.pid), "--prometheus").stdout

    def test_the_official_parser_takes_it(self) -> None:
        families = {each.name: each for each in text_string_to_metric_families(self.text())}
        magazine = families["hakmem_alloc_magazine"]
        self.assertEqual(magazine.type, "counter")
        self.assertEqual(magazine.documentation, "allocations served by the thread's magazine")
        self.assertEqual(magazine.samples[0].name, "hakmem_alloc_magazine_total")
        self.assertGreater(magazine.samples[0].value, 0)
        self.assertEqual(families["hakmem_in_use_bytes"].type, "gauge")
        self.assertLess(families["hakmem_cost_page_seconds"].samples[0].value, 1)
        memory = {each.labels["part"]: each.value for each in families["hakmem_memory_bytes"].samples}
        self.assertGreater(memory["live"], 0)
        self.assertNotIn("untouched", memory)
        self.assertGreaterEqual(families["hakmem_untouched_bytes"].samples[0].value, 0)
        self.assertEqual([each.name for family in families.values() for each in family.samples if each.value < 0], [])
        self.assertGreater(memory["outside"], 0)
        self.assertEqual(families["hakmem_info"].samples[0].labels["version"], "0.1.0")
        self.assertTrue(all(each.documentation for each in families.values()))

    def test_what_is_not_counted_is_not_told(self) -> None:
        for count, mode, told in (("off", "baseline", False), ("on", "evolving", True)):
            with self.subTest(count_calls=count, mode=mode):
                process = self.started(READY, count_calls=count, mode=mode)
                line_of(process)
                text = hakmem("top", "--once", str(process.pid), "--prometheus").stdout
                families = {each.name for each in text_string_to_metric_families(text)}
                names = ("alloc_magazine", "alloc_failed", "free_null", "free_local", "asked_long", "fetched_bytes")
                self.assertEqual([f"hakmem_{name}" in families for name in names], [told] * len(names))
                self.assertIn("hakmem_kernel_map", families)
                counters = json.loads(hakmem("top", "--once", str(process.pid), "--json").stdout)["counters"]
                self.assertEqual([name in counters for name in names], [told] * len(names))
                self.assertIn(f"hakmem_counted{{pid=\"{process.pid}\"}} {int(told)}\n", text)

    @unittest.skipIf(shutil.which("promtool") is None, "no promtool")
    def test_promtool_takes_it(self) -> None:
        check = ["promtool", "check", "metrics"]
        ended = subprocess.run(check, input=self.text(), capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stdout + ended.stderr), (0, ""))

    def test_names(self) -> None:
        for name, kind, unit, wanted in (
            ("in_use", 1, "bytes", "in_use_bytes"), ("slab_bytes", 1, "bytes", "slab_bytes"),
            ("threads", 1, "", "threads"), ("release_bytes", 0, "bytes", "release_bytes_total"),
            ("learn_paid_ns", 0, "ns", "learn_paid_seconds_total"),
        ):
            self.assertEqual(metric_name(Row(name, kind, unit, 0, "")), f"hakmem_{wanted}")


def made_page(
    rows: int = 1, row_bytes: int = ROW.size, sequence: int = 2, magic: bytes = MAGIC, extents: int = 1, extent_bytes: int = 24,
    name: bytes = b"sites", help_: bytes = b"help", version: bytes = b"9.9.9",
) -> bytes:
    row = ROW.pack(COUNTER, 0, 7, name, help_)
    return HEADER.pack(magic, rows, row_bytes, sequence, 1, version, extents, extent_bytes, 5) + row + EXTENT.pack(1, 2, 3)


class Refused(Shown):
    def test_no_such_process_and_one_that_shows_nothing(self) -> None:
        ended = subprocess.Popen(["true"])
        ended.wait()
        other = subprocess.Popen(["sleep", "60"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        self.assertIn(f"no process {ended.pid}", self.refused("top", "--once", str(ended.pid)))
        self.assertIn("does not run on HAKMEM", self.refused("top", "--once", str(other.pid)))
        self.assertIn("no process", self.refused("top", "--once", "999999999"))
        self.assertIn("top needs a terminal", self.refused("top", "999999999"))

    def test_what_cannot_be_read_is_named(self) -> None:
        refusal = self.refused("top", "--once", "/proc/self/mem")
        self.assertEqual(refusal, "hakmem: /proc/self/mem: input/output error\n")

    def test_a_word_that_is_no_number(self) -> None:
        for words, of in ((("top", "abc"), "PID"), (("address", "0x10", "--pid", "abc"), "--pid"), (("explain", "abc"), "PID"), (("top", "9" * 5000), "PID")):
            file = ", or a file with --once" if words[0] == "top" else ""
            said = f"{of} {words[-1]}: allowed: the number of a process{file} (see hakmem {words[0]} --help)"
            self.assertEqual(self.refused(*words), f"hakmem: {said}\n")

    def test_one_sentence_for_a_process_that_is_gone(self) -> None:
        ended = subprocess.Popen(["true"])
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        number = str(ended.pid)
        asked = (("top", "--once", number), ("decisions", number), ("address", "0x10", "--pid", number),
                 ("explain", number), ("profile", number), ("report", number))
        for words in asked:
            said = f"hakmem: process {number} has ended (its parent has not asked for its status)\n"
            self.assertEqual(self.refused(*words), said)
        ended.wait()
        for words in asked:
            self.assertEqual(self.refused(*words), f"hakmem: there is no process {number}\n")

    @unittest.skipIf(os.geteuid() != 0, "only root has other users' processes")
    def test_another_users(self) -> None:
        process = self.started(READY)
        line_of(process)
        if subprocess.run([COMMAND, "--version"], user=65534, capture_output=True, check=False).returncode:
            self.skipTest("other users cannot run what is built here")
        self.assertIn("another user's", self.refused("top", "--once", str(process.pid), user=65534))
        file = str(self.folder / f"s.{process.pid}")
        self.assertIn("permission denied", self.refused("top", "--once", file, user=65534))

    def test_files(self) -> None:
        file = self.folder / "page"
        cases = {
            b"": "not a statistics file", b"HAKCNT01" + bytes(99): "not a statistics file",
            made_page(magic=b"HAKSTA01"): "another version", made_page(row_bytes=8): "another version",
            made_page(rows=1 << 31): "another version", made_page(rows=2): "cut short",
            made_page(extents=2): "cut short", made_page(extents=1 << 20): "another version",
            made_page(extent_bytes=8): "another version", made_page()[:40]: "another version",
            made_page(sequence=3): "ended, or was stopped", made_page(name=b'a 1\nup{job="b"'): "damaged",
            made_page(name=b"[/red]"): "damaged", made_page(help_=b"\x1b[31m"): "damaged", made_page(version=b'"'): "damaged",
        }
        for data, text in cases.items():
            with self.subTest(text=text, data=data[:16]):
                file.write_bytes(data)
                with self.assertRaisesRegex(Refusal, text):
                    read_page(file, "page")
        file.write_bytes(b"nothing")
        self.assertIn(f"{file}: not a statistics file", self.refused("top", "--once", str(file)))
        for name in ("missing", "."):
            self.refused("top", "--once", str(self.folder / name))
        file.write_bytes(made_page(help_=b"[/red]"))
        self.assertIn("[/red]", hakmem("top", "--once", str(file)).stdout)
        page = page_of(made_page(), "page")
        self.assertEqual(page.rows, (Row("sites", COUNTER, "", 7, "help"),))
        self.assertEqual((page.extents, page.left_out), ((Extent(1, 2, 3),), 5))

    def test_wrong_use(self) -> None:
        for wrong in (("stats", "1", "--json", "--prometheus"), ("top", "x"), ("top", "0"),
                      ("top", "--prometheus"), ("top", "--json"), ("top", "--once", "--json", "--prometheus", "1"), ("top", "--json", "1"),
                      ("top", "--prometheus", "1")):
            self.refused(*wrong)


if __name__ == "__main__":
    unittest.main()
