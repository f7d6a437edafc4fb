"""`hakmem sites`: what is known of small traces and small programs, and one line for everything wrong."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from support import BUILD, ROOT, Scratch, hakmem, preloadable, program

from hakmem.names import mappings_of, name_of

sys.path.insert(0, str(ROOT / "tests" / "trace"))
from writer import Trace  # noqa: E402

ASKS = program("asks")
LARGE = 100000
MAPS = "400000-500000 r-xp 00001000 08:01 77   /nowhere/a program\n7f0000000000-7f0000001000 r-xp 00000000 00:00 0 \n"
Rows = dict[str, dict[str, str]]


class Sites(Scratch):
    def sites(self, *arguments: Path | str, status: int = 0) -> subprocess.CompletedProcess[str]:
        ended = hakmem("sites", "--build", str(BUILD), *map(str, arguments))
        self.assertEqual(ended.returncode, status, ended.stderr)
        return ended

    def rows(self, *arguments: Path | str, status: int = 0) -> Rows:
        """By the site's name without its offset."""
        out = self.folder / "out.csv"
        self.sites("--csv", out, *arguments, status=status)
        with out.open(encoding="utf-8") as file:
            return {re.sub(r"\+0x[0-9a-f]+", "", row["site"]): row for row in csv.DictReader(file)}

    def written(self, trace: Trace, name: str = "a.hakt") -> Path:
        path = self.folder / name
        path.write_bytes(trace.packed())
        return path


class Programs(Sites):
    def test_each_function_has_its_blocks(self) -> None:
        rows = self.rows("--", ASKS)
        self.assertEqual(list(rows), ["ask_for_large (tools_asks)"])
        row = rows["ask_for_large (tools_asks)"]
        found = {name: int(row[name]) for name in ("count", "live", "live_bytes", "peak_bytes", "freed", "gaps", "least", "most")}
        self.assertEqual(found, {"count": 11, "live": 1, "live_bytes": LARGE, "peak_bytes": LARGE, "freed": 10, "gaps": 10,
                                 "least": LARGE, "most": LARGE})

    def test_smaller_blocks_are_counted_where_asked_for(self) -> None:
        rows = self.rows("--least", "100", "--rows", "0", "--", ASKS)
        self.assertEqual(rows["ask_for_small (tools_asks)"]["count"], "1000")

    def test_a_library_that_was_closed_has_its_name(self) -> None:
        rows = self.rows("--", ASKS, str(preloadable("asks_library")))
        self.assertEqual(rows["ask_from_library (libtools_asks_library.so)"]["count"], "1")

    def test_the_table_names_what_it_counts(self) -> None:
        said = self.sites("--", ASKS).stdout
        self.assertRegex(said, r"tools_asks *\n +ask_for_large\+0x[0-9a-f]+ \(tools_asks\) +11 +97\.7 KiB +97\.7 KiB +97\.7 KiB ")
        self.assertIn("1 call site, 1 with the depth of the stack\n", said)

    def test_the_exit_status_is_the_programs(self) -> None:
        self.assertIn("ask_for_large", self.sites("--", "sh", "-c", f"{ASKS}; exit 7", status=7).stdout)

    def test_what_a_killed_program_asked_for_is_told(self) -> None:
        said = self.sites("--", "sh", "-c", f"{ASKS}; kill -9 $$", status=128 + signal.SIGKILL).stdout
        self.assertIn("ask_for_large", said)


class Traces(Sites):
    def trace(self) -> Trace:
        trace = Trace()
        process = trace.process(7, ["/usr/bin/prog"])
        process.modules(MAPS)
        thread = process.thread(0)
        for n, depth in enumerate((3, 3, 4)):
            thread.allocate(100 * n, 0x10000 * (n + 1), LARGE + n, (0x400010, depth))
        thread.free(1000, 0x10000)
        thread.resize(2000, 0x20000, 0x90000, 3 * LARGE, 5, (0x400020, 3))
        thread.allocate(3000, 0xA0000, LARGE, (0x500010, 1))
        return trace

    def test_by_hand(self) -> None:
        rows = self.rows("--trace", self.written(self.trace()))
        first = rows["a program"]
        self.assertEqual(set(rows), {"a program", "0x500010"})
        self.assertEqual(first["module"], "/nowhere/a program")
        self.assertEqual(int(first["count"]), 1)

    def test_depths_are_told_apart(self) -> None:
        file = self.written(self.trace())
        whole = self.sites("--trace", file).stdout
        apart = self.sites("--trace", file, "--by-depth").stdout
        self.assertIn("a program+0x1010 ", whole)
        self.assertNotIn("deep", whole)
        for depth in (3, 4):
            self.assertIn(f"a program+0x1010, {depth} deep", apart)

    def test_nothing_of_that_size(self) -> None:
        said = self.sites("--trace", self.written(self.trace()), "--least", "1000000").stdout
        self.assertEqual(said, "no block of 977 KiB or more was asked for\n")

    def test_a_torn_end_is_told(self) -> None:
        path = self.written(self.trace())
        whole = path.read_bytes()
        path.write_bytes(whole[:-20])
        ended = self.sites("--trace", path)
        self.assertRegex(ended.stderr, r"the end is torn")


class Wrong(Sites):
    def test_one_line(self) -> None:
        text = self.folder / "text"
        text.write_text("no trace")
        for arguments in ((), ("--trace", text), ("--trace", self.folder / "none"), ("--trace", text, "--", ASKS),
                          ("--", "/nowhere/prog"), ("--least", "0", "--", ASKS)):
            with self.subTest(arguments):
                ended = hakmem("sites", "--build", str(BUILD), *map(str, arguments))
                self.assert_one_line(ended.stderr)
                self.assertIn(ended.returncode, (2, 127))

    def test_a_file_that_cannot_be_written(self) -> None:
        ended = self.sites("--csv", self.folder / "none" / "a.csv", "--", ASKS, status=1)
        self.assert_one_line(ended.stderr)

    def test_hostile_module_lines(self) -> None:
        for text in ("", "x", "zz-yy r-xp", "1-2", "ffffffffffffffffffff-1 r-xp 0 0 0 /x\n"):
            self.assertEqual(str(name_of(5, mappings_of(text))), "0x5")


class Names(unittest.TestCase):
    def test_own_interpreter(self) -> None:
        """A place inside of every mapping of this process has a name, and those of programs their modules."""
        mappings = [m for m in mappings_of(Path("/proc/self/maps").read_text("utf-8")) if os.path.exists(m.path)]
        self.assertTrue(mappings)
        for mapping in mappings:
            self.assertEqual(name_of(mapping.first + 1, mappings).module, mapping.path)


if __name__ == "__main__":
    unittest.main()
