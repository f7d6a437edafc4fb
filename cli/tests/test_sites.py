# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem sites`: what is known of small traces and small programs, and one line for everything wrong."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import unittest
from pathlib import Path
from unittest.mock import patch

from support import BUILD, ROOT, Scratch, clean_environment, hakmem, preloadable, program

from hakmem.reading.names import mappings_of, name_of
from hakmem.tracing.sites import BY_MODEL, COUNTS, Found, Wishes, read_sites
from hakmem.tracing.sites_table import all_of

sys.path.insert(0, str(ROOT / "tests" / "trace"))
from writer import Trace  # noqa: E402

ASKS, TURNS = program("asks"), program("turns")
EXCERPT = ROOT / "tests" / "trace" / "corpus" / "ghostscript.hakt"
LARGE = 100000
MAPS = "400000-500000 r-xp 00001000 08:01 77   /nowhere/a program\n7f0000000000-7f0000001000 r-xp 00000000 00:00 0 \n"
Rows = dict[str, dict[str, str]]


class Sites(Scratch):
    build = BUILD

    def sites(self, *arguments: Path | str, status: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        ended = hakmem("sites", "--build", str(self.build), *map(str, arguments), **{"COLUMNS": "", **variables})
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
        path.write_bytes(whole + whole[:20])
        ended = self.sites("--trace", path)
        self.assertRegex(ended.stderr, r"the end is torn")
        path.write_bytes(whole[:-20])
        self.assertRegex(self.sites("--trace", path, status=2).stderr, r"its end is torn, and no call comes before it\n\Z")


class HitsAndFaults(Sites):
    def test_are_what_the_program_counted(self) -> None:
        """Two processes; a price at which nothing goes back, however late the machine is."""
        out = self.folder / "out.csv"
        said = self.sites("--csv", out, "--", "sh", "-c", f"{TURNS} && {TURNS}", HAKMEM_PRICE="speed").stdout
        counted = re.findall(r"^counted: (.+): (\d+) (\d+) (\d+)$", said, re.MULTILINE)
        self.assertEqual([row[1:] for row in counted], [("4", "0", "2048"), ("10", "9", "512")] * 2)
        with out.open(encoding="utf-8") as file:
            rows = {row["site"]: tuple(int(row[name]) for name in ("count", "hits", "pages")) for row in csv.DictReader(file)}
        self.assertEqual(rows, {name: tuple(2 * int(number) for number in numbers) for name, *numbers in counted})
        self.assertRegex(said, r"ask_and_keep\+\S+ \(tools_turns\) +8 .* 0 % +4,096 *\n")
        self.assertRegex(said, r"ask_in_turn\+\S+ \(tools_turns\) +20 .* 90 % +1,024 *\n")

    def test_sums_are_the_models(self) -> None:
        """At a price at which no edge is near: the model's clock has another phase in each run."""
        records, settings = gzip.decompress(EXCERPT.read_bytes()), clean_environment(HAKMEM_PRICE="speed")
        ended = subprocess.run([BUILD / "hak_model"], input=records, stdout=subprocess.PIPE, env=settings, check=True)
        whole = json.loads(ended.stdout)
        out = self.folder / "out.csv"
        said = self.sites("--least", "1", "--rows", "3", "--csv", out, "--trace", EXCERPT, HAKMEM_PRICE="speed").stdout
        with out.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        faults = whole["minflt"] - whole["own_minflt"]
        self.assertGreater(faults, 0)
        self.assertEqual(sum(int(row["faults"]) for row in rows), faults)
        blocks = sum(int(row["count"]) for row in rows)
        self.assertRegex(said, rf"all call sites +{blocks:,} .* {faults:,} *\n")

    def test_what_gives_way_in_a_narrow_terminal_is_told(self) -> None:
        for columns, gone in ((80, "sizes, "), (120, "")):
            lines = self.sites("--trace", EXCERPT, COLUMNS=str(columns)).stdout.splitlines()
            self.assertLessEqual(max(map(len, lines)), columns)
            self.assertRegex("\n".join(lines), r" hits +faults *\n")
            self.assertEqual([line for line in lines if line.startswith("Too narrow for: ")][:1] != [], bool(gone), lines)

    def test_without_a_model_the_rest_is_told(self) -> None:
        self.build = self.folder / "build"
        self.build.mkdir()
        (self.build / "hak_sites").symlink_to(BUILD / "hak_sites")
        out = self.folder / "out.csv"
        for tool, why in ((None, "hak_model is missing"), ("/bin/false", "hak_model ended with status 1")):
            if tool:
                (self.build / "hak_model").symlink_to(tool)
            ended = self.sites("--csv", out, "--trace", EXCERPT)
            self.assertRegex(ended.stderr, f"^note: no hits and faults: .*{why}.*\n$")
            self.assertIn("most", ended.stdout)
            self.assertNotRegex(ended.stdout, "(?i)hits|faults")
            self.assertRegex(out.read_text().splitlines()[1], ",,,$")


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

    def test_the_models_options(self) -> None:
        for wrong in ("0", "-1", "x", ""):
            ended = subprocess.run([BUILD / "hak_model", "--by-site", wrong], input="", capture_output=True, text=True)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))
            self.assertRegex(ended.stderr, r"\Ahak_model: [^\n]+\n\Z")

    def test_hostile_module_lines(self) -> None:
        for text in ("", "x", "zz-yy r-xp", "1-2", "ffffffffffffffffffff-1 r-xp 0 0 0 /x\n"):
            self.assertEqual(str(name_of(5, mappings_of(text))), "0x5")


class Many(Sites):
    """More sites than are told apart."""

    def many(self, sites: int) -> Path:
        trace = Trace()
        thread = trace.process(7, ["prog"]).thread(0)
        for n in range(sites):
            thread.allocate(10 * n, block=0x100000 * (n + 1), size=LARGE + 16 * (n * 7 % sites), site=(0x400000 + 16 * n, 2))
            if n % 2:
                thread.free(10 * n + 5, block=0x100000 * (n + 1))
        return self.written(trace)

    def found(self, file: Path, most: int) -> Found:
        with patch("hakmem.tracing.sites.MOST", most):
            return read_sites(self.build / "hak_sites", file, Wishes(1, 0, False, None))

    def test_the_largest_are_told_apart_and_the_others_are_summed_up(self) -> None:
        file = self.many(60)
        whole, some = self.found(file, 1000), self.found(file, 10)
        self.assertEqual((len(whole.sites), whole.rest), (60, None))
        self.assertEqual(some.sites, whole.sites[:10])
        self.assertEqual(some.rest_labels, 50)
        one, other = all_of(whole.all_sites), all_of(some.all_sites)
        for name in (*COUNTS, *BY_MODEL, "least", "most"):
            if name != "peak_bytes":
                self.assertEqual(getattr(one, name), getattr(other, name), name)

    def test_what_is_kept_of_a_site_does_not_grow_with_the_trace(self) -> None:
        """Of 5,000 no more lines come than of 100."""
        lines = subprocess.run([self.build / "hak_sites", "--least", "1", "--most", "100"], check=True, capture_output=True,
                               input=gzip.decompress(self.many(5_000).read_bytes())).stdout.splitlines()
        self.assertEqual([json.loads(line)["kind"] for line in lines], ["process", *["site"] * 100, "rest", "trace"])
        self.assertEqual(json.loads(lines[-2])["sites"], 4_900)

    def test_the_table_says_so(self) -> None:
        out = self.folder / "out.csv"
        said = self.sites("--trace", self.many(10_050), "--least", "1", "--rows", "1", "--csv", out).stdout
        self.assertIn("10,000 call sites, 10,000 with the depth of the stack; 9,999 not shown\n", said)
        self.assertIn("50 more are only in the sums", said)
        self.assertRegex(said, r"all call sites +10,050 ")
        self.assertRegex(out.read_text().splitlines()[-1], r"\A,all others,,0,\d+,\d+,50,")
        self.assertNotIn(b"\r", out.read_bytes())


class Names(unittest.TestCase):
    def test_own_interpreter(self) -> None:
        """A place inside of every mapping of this process has a name, and those of programs their modules."""
        mappings = [m for m in mappings_of(Path("/proc/self/maps").read_text("utf-8")) if os.path.exists(m.path)]
        self.assertTrue(mappings)
        for mapping in mappings:
            self.assertEqual(name_of(mapping.first + 1, mappings).module, mapping.path)


if __name__ == "__main__":
    unittest.main()
