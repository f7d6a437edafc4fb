# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem report`: what it refuses, what goes into the page, and what a reader sees of it in a real browser.

HAK_TEST_LIBRARY names libhakmem.so, HAK_TEST_PROGRAM tests/process/profiled.cpp, built, HAK_TEST_SOURCE its source.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from browser import Browser

from hakmem import cli
from hakmem.base.errors import Refusal
from hakmem.profiling.difference import Read
from hakmem.report.page import difference_data, page_data, page_text
from hakmem.reading.pprof import Profile, read
from hakmem.reading.scale import scaled
from hakmem.profiling.profile import environment_of
from hakmem.base.exit import carry_out
from hakmem.reading.symbols import Names

LIBRARY, PROGRAM = os.environ["HAK_TEST_LIBRARY"], os.environ["HAK_TEST_PROGRAM"]
SOURCE = Path(os.environ["HAK_TEST_SOURCE"])
COMMAND = Path(sys.executable).with_name("hakmem")
NAMES = ("inuse_space", "inuse_objects", "alloc_space", "alloc_objects")
PHONE, DESK = (390, 844), (1280, 900)
NASTY = ("</script><script>alert(1)</script>", '"quotes" \\ and &amp; <b>', "naïve 函数 \u2028 \U0001f600", "<!--")
NOBODY = 65534


class Done(NamedTuple):
    status: int
    output: str
    errors: str


def report(*words: str | int | Path) -> Done:
    """The command, without a process of its own."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        status = carry_out(lambda: cli.carry_out(["report", *map(str, words)]))
    return Done(status, output.getvalue(), errors.getvalue())


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "LANG": "C", "LD_PRELOAD": LIBRARY, "HAKMEM_PROFILE_FILE": str(folder / "heap"),
            "HAKMEM_PROFILE_BYTES": "4096", **more}


def made(stacks: list[tuple[list[str], tuple[int, int, int, int]]]) -> Any:
    """A profile with these stacks, the innermost function first, and their values."""
    profile, texts, places = Profile(), {"": 0}, {}

    def text(word: str) -> int:
        return texts.setdefault(word, len(texts))

    for name in NAMES:
        profile.sample_type.add(type=text(name), unit=text("bytes"))
    for names, values in stacks:
        for name in names:
            if name not in places:
                number = places[name] = len(places) + 1
                profile.function.add(id=number, name=text(name), filename=text(f"/src/{len(name)}.c"))
                profile.location.add(id=number).line.add(function_id=number, line=number)
        profile.sample.add(location_id=[places[name] for name in names], value=values)
    profile.string_table.extend(texts)
    return profile


def data_of(profile: Any) -> dict[str, Any]:
    return page_data(profile, Names(profile), Path("made"))


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def profile(self) -> Path:
        done = subprocess.run([PROGRAM, "leak"], env=environment(self.folder), capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        (file,) = self.folder.iterdir()
        return file

    def process(self, *words: str, **more: str) -> int:
        started = subprocess.Popen([PROGRAM, *words], env=environment(self.folder, **more), stdout=subprocess.PIPE)
        self.addCleanup(started.stdout.close)
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        self.assertEqual(started.stdout.readline(), b"ready\n")
        return started.pid


class Command(Folder):
    def refused(self, *words: str | Path, says: str, status: int = 2) -> None:
        done = report(*words)
        self.assertEqual((done.status, done.output), (status, ""), done.errors)
        self.assertRegex(done.errors, rf"\Ahakmem: {says}\n\Z")

    def test_wrong_input_is_one_line(self) -> None:
        text = self.folder / "text"
        text.write_text("no profile")
        self.refused(self.folder / "none", says=".*/none: no such file or directory")
        self.refused(self.folder, says=".*: is a directory")
        self.refused(text, says=".*/text: no profile in pprof's format, or damaged")
        self.refused("999999999", says="there is no process 999999999")
        self.refused(str(os.getpid()), says=r"process \d+ does not run on HAKMEM: .*")
        self.refused(text, "--file", text, says="--file goes with a PID.*")
        self.refused(says="FILE\\|PID is missing .*")

    def test_a_process_of_another_user_is_one_line(self) -> None:
        """Asked for by nobody, when this is root."""
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                if os.geteuid() == 0:
                    os.setuid(NOBODY)
                environment_of(1)
            except Refusal as refusal:
                os.write(writes, str(refusal).encode())
            finally:
                os._exit(0)
        os.close(writes)
        os.waitpid(child, 0)
        said = os.read(reads, 1000).decode()
        os.close(reads)
        self.assertEqual(said, "process 1 is another user's: only that user and root may look into it (sudo hakmem ...)")

    def test_a_page_that_cannot_be_written_leaves_what_was_there(self) -> None:
        file = self.profile()
        there = self.folder / "page.html"
        there.write_text("as it was")
        self.refused(file, "-o", self.folder / "none/page.html", status=1, says=".*none/page.html: no such file or directory")
        self.refused(file, "-o", "/dev/full", status=1, says="/dev/full: no space left on device")
        self.assertEqual(there.read_text(), "as it was")
        self.assertEqual(report(file, "-o", there).status, 0)
        self.assertIn("<!doctype html>", there.read_text("ascii"))
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), sorted([file.name, "page.html"]))

    def test_the_page_lies_where_it_is_asked_for_in(self) -> None:
        file = self.profile()
        done = subprocess.run([COMMAND, "report", file], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"\A{file.name}.html: .* in use in .*\n\Z")
        self.assertTrue((self.folder / f"{file.name}.html").is_file())

    def test_two_profiles_are_one_page(self) -> None:
        file, page = self.profile(), self.folder / "page.html"
        done = report(file, file, "-o", page)
        self.assertEqual((done.status, done.errors), (0, ""))
        self.assertRegex(done.output, r"page.html: change  \+0 B in use\n\Z", "both are scaled to one count")
        self.assertIn("leak_nodes", page.read_text("ascii"))
        self.refused(file, file, file, says="3 profiles: give one, or two of which the difference is wanted")
        self.refused(file, self.folder / "none", says=".*/none: no such file or directory")

    def test_a_process_that_ends_meanwhile_is_one_line(self) -> None:
        pid = self.process("waits")
        asked = subprocess.Popen([COMMAND, "report", str(pid), "--seconds", "300"], stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        os.kill(pid, 9)
        said = asked.communicate(timeout=200)[1]
        self.assertEqual(asked.returncode, 2)
        self.assertRegex(said, rf"\Ahakmem: (process {pid} ended while it was watched|there is no process {pid}|process {pid} has ended.*)\n\Z")

    def test_a_process_whose_environment_says_nothing(self) -> None:
        pid = self.process("waits")
        page = self.folder / "page.html"
        self.assertEqual(report(pid, "--seconds", "0", "--file", self.folder / f"heap.{pid}", "-o", page).errors, "")
        self.assertIn("leak_nodes", page.read_text("ascii"))


class Data(Folder):
    def test_sums_of_the_tree_and_of_places(self) -> None:
        profile = read(self.profile())
        data = data_of(profile)
        totals, rows = data["facts"]["totals"], data["sites"]["rows"]
        self.assertEqual([values[0] for values in data["flame"]["values"]], [totals[name] for name in (
            "inuse_space", "alloc_space", "peak_space", "inuse_objects", "alloc_objects", "peak_objects")])
        self.assertEqual(sum(row[2][0] for row in rows), totals["inuse_space"])
        function, line = data["functions"][rows[0][0]], rows[0][1]
        self.assertIn("leak_nodes", function[0])
        self.assertIn("the leaking line", SOURCE.read_text().splitlines()[line - 1])

    def test_sizes_and_ages_are_those_of_the_sums(self) -> None:
        data = data_of(read(self.profile()))
        totals, sizes, ages = data["facts"]["totals"], data["ages"]["sizes"], data["ages"]["ages"]
        for rows, column, name in ((sizes, 1, "alloc_objects"), (sizes, 2, "alloc_space"), (sizes, 3, "inuse_objects"),
                                   (sizes, 4, "inuse_space"), (ages, 3, "inuse_objects"), (ages, 4, "inuse_space")):
            found = sum(row[column] for row in rows)
            self.assertAlmostEqual(found / totals[name], 1, delta=0.001, msg=name)
        freed = sum(row[1] for row in ages)
        self.assertAlmostEqual((freed + totals["inuse_objects"]) / totals["alloc_objects"], 1, delta=0.001)
        nodes = max(sizes, key=lambda row: row[4])
        self.assertEqual(nodes[0], 256, "of 208 bytes")

    def test_who_asks_for_others_is_passed_over(self) -> None:
        stack = ["std::__new_allocator<int>::allocate(unsigned long)", "xmalloc", "mine(char)", "main"]
        data = data_of(made([(stack, (10, 1, 10, 1)), (["operator new(unsigned long)"], (5, 1, 5, 1))]))
        self.assertEqual([data["functions"][row[0]][0] for row in data["sites"]["rows"]],
                         ["mine(char)", "operator new(unsigned long)"])

    def test_a_damaged_line_of_sizes_is_refused(self) -> None:
        profile = made([(["f"], (1, 1, 1, 1))])
        profile.string_table.append("hakmem sizes: 64 1 2 3; x")
        profile.comment.append(len(profile.string_table) - 1)
        with self.assertRaisesRegex(Refusal, "damaged, or of another version: 64 1 2 3"):
            data_of(profile)

    def test_names_stay_inside_of_their_strings(self) -> None:
        data = data_of(made([([name], (1, 1, 1, 1)) for name in NASTY]))
        text = page_text(data)
        self.assertTrue(text.isascii())
        self.assertEqual(len(re.findall(r"</?script\b", text)), 2)
        self.assertNotIn("<b>", text)
        held = re.search(r"const data = (\{.*\});", text)
        self.assertEqual(sorted(name for name, _, _ in json.loads(held[1])["functions"]), sorted(NASTY))

    def test_nothing_is_loaded_from_elsewhere(self) -> None:
        text = page_text(data_of(made([(["f"], (1, 1, 1, 1))])))
        self.assertNotRegex(text, r"(?:src|href)=|url\(|@import|fetch\(|XMLHttp")
        self.assertEqual(set(re.findall(r"https?://[^\s\"']+", text)), {"http://www.w3.org/2000/svg"})


BAR_BYTES = "[...document.querySelectorAll('.fall .row')].map(e => +e.dataset.bytes)"
# What each text has behind it, and how far the two differ (WCAG 2.2, contrast ratio).
CONTRASTS = """(() => {
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
    .reduce((sum, c, n) => sum + c * [.2126, .7152, .0722][n], 0);
  const behind = e => { const b = parts(getComputedStyle(e).backgroundColor); return b[3] === 0 ? behind(e.parentElement) : b; };
  const ratio = e => {
    const [a, b] = [light(parts(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    return (a + .05) / (b + .05);
  };
  return [...document.querySelectorAll("h1, h2, h3, p, small, td, th button, .box, .cards strong, a, label, .bars span, input")]
    .map(e => [ratio(e), e.tagName + "." + e.className + " " + e.textContent.slice(0, 30)]).filter(([r]) => r < 4.5);
})()"""


class Reading(Folder):
    """One browser for all."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def tearDown(self) -> None:
        self.assertEqual(self.browser.complaints, [])

    def text(self, selector: str) -> str:
        return str(self.browser.value(f"document.querySelector({json.dumps(selector)}).textContent"))

    def texts(self, selector: str) -> list[str]:
        return list(self.browser.value(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)"))

    def page_of(self, data: dict[str, Any], size: tuple[int, int] = DESK, dark: bool = False) -> None:
        file = self.folder / "page.html"
        file.write_text(page_text(data))
        self.browser.open(file, *size, dark=dark)

    def leak_page(self) -> dict[str, Any]:
        data = data_of(read(self.profile()))
        self.page_of(data)
        return data

    def test_the_leaking_function_has_a_box_and_a_row(self) -> None:
        self.leak_page()
        self.assertTrue(any("leak_nodes(int)" in text for text in self.texts(".box")))
        self.assertIn("leak_nodes(int)", self.text("#sites tbody tr"))
        self.browser.click("#sites tbody button")
        self.assertIn("profiled.cpp:", self.text(".stack"))
        self.assertIn("main", self.text(".stack"))

    def test_the_switch_changes_what_is_shown(self) -> None:
        self.leak_page()
        self.assertIn("at the peak", self.text('[data-node="0"]'))
        self.browser.click("[name=mode][value='0']")
        in_use, sizes, first = self.text('[data-node="0"]'), self.text("#sizes"), self.text("#sites tbody button")
        self.browser.click("[name=mode][value='1']")
        ever = self.text('[data-node="0"]')
        self.assertIn(self.text("#total-0"), in_use)
        self.assertIn(self.text("#total-1"), ever)
        self.assertNotEqual(in_use, ever)
        self.assertNotEqual(sizes, self.text("#sizes"))
        self.assertIn("leak_nodes", first)
        self.assertIn("use_for_a_while", self.text("#sites tbody button"))

    def test_what_is_sampled_says_how_far_off_it_is(self) -> None:
        profile = made([(["a", "main"], (600 << 10, 60, 1 << 20, 100)), (["b", "main"], (0, 0, 400, 4))])
        profile.period = 1 << 16
        data = data_of(profile)
        low, high = data["facts"]["range"]["low"], data["facts"]["range"]["high"]
        self.assertTrue(low < 600 << 10 < high)
        for size in (PHONE, DESK):
            self.page_of(data, size)
            self.assertEqual(self.text("#total-0"), "\u2248 600 KiB")
            self.assertRegex(self.text("#cards"), r"as sampled: \d+ KiB to [\d.]+ [KM]iB, from 9 samples")
            self.assertIn("\u2248 600 KiB in use", self.text('[data-node="0"]'))
            in_use, samples, ever, more, *_ = self.texts("#sites tbody tr:first-child .range")
            self.assertRegex(in_use, r"^\d+( KiB)? to [\d.]+ [KM]iB$")
            self.assertEqual((samples, ever, more), ("9 samples: a hint", "600 KiB to 1.6 MiB", "15 samples"))
            self.assertRegex(self.text("#sampling"), "^At least one byte in 64.0 KiB is sampled: .* less than 192 KiB may go unseen")
            self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), size[0])
        profile.sample[0].value[:2] = [0, 0]
        self.page_of(data_of(profile))
        self.assertIn("nothing sampled is, so it is likely less than 192 KiB", self.text("#cards"))

    def test_it_opens_on_the_peak(self) -> None:
        """What was freed since; without a peak there is no switch for it."""
        done = subprocess.run([PROGRAM, "peaks", "16"], env=environment(self.folder), capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        (file,) = self.folder.iterdir()
        for size in (PHONE, DESK):
            data = data_of(scaled(read(file)))
            self.page_of(data, size)
            self.assertIn(f"{self.text('#total-2')} at the peak", self.text('[data-node="0"]'))
            self.assertIn("pile_up", self.text("#sites tbody tr"))
            self.assertRegex(self.text("#cards"), r"1\d\.\d MiBat the peak, by the counters of HAKMEM, \S+ m?s after the first")
            said = r"MiBat the peak, in ≈ [\d,]+ blocks, scaled to what the counters know, from [\d,]+ samples"
            self.assertRegex(self.text("#cards"), said)
            said = r"What is at the peak is scaled by [01]\.\d\d to the 1\d\.\d MiB \([\d,]+ B\) that the counters know\. Sizes"
            self.assertRegex(self.text("#sampling"), said)
            self.assertEqual(len(self.texts("#sites tbody tr:first-child .range")), 4, "at the peak, and allocated")
            self.assertTrue(any("pile_up" in text for text in self.texts(".box")))
            self.assertFalse(any("second_pile" in text for text in self.texts(".box")))
            self.assertIn("as those of the peak are not kept", self.text("#sizes"))
            self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), size[0])
            self.browser.click("[name=mode][value='0']")
            self.assertTrue(any("second_pile" in text for text in self.texts(".box")))
            self.assertIn("second_pile", self.text("#sites tbody tr"))
        self.page_of(data_of(made([(["a", "main"], (600, 6, 1, 1))])))
        self.assertEqual(self.texts("label:not([hidden])"), [" In use", " Allocated"])

    def test_what_is_not_known_has_no_section(self) -> None:
        """One line says what that is; a page without samples does not speak of a search."""
        self.page_of(data_of(made([(["a", "main"], (600, 6, 1, 1))])))
        self.assertEqual(self.texts("nav a"), ["Stacks that hold it", "Places that ask for memory"])
        self.assertEqual(self.texts("section:not([hidden]) h2"), ["Stacks that hold it", "Places that ask for memory"])
        self.assertRegex(self.text("#absent"), r"\ASizes, Lifetimes: Not in .* What RSS is made of, Timeline: Only of a process")
        self.page_of(data_of(made([])))
        self.assertEqual(self.text("#rest"), "No block was sampled.")

    def difference(self, one: Any, other: Any) -> dict[str, Any]:
        return difference_data(*(Read(Path(name), each, Names(each)) for name, each in (("one", one), ("other", other))))

    def test_a_difference_is_red_and_blue(self) -> None:
        """A box is as wide as the larger of its two sides; what did not change has no colour."""
        one = made([(["a", "main"], (600 << 10, 60, 1, 1)), (["b", "main"], (300 << 10, 30, 1, 1)), (["c", "main"], (9000, 1, 1, 1))])
        other = made([(["a", "main"], (200 << 10, 20, 1, 1)), (["d", "main"], (900 << 10, 9, 1, 1)), (["c", "main"], (9000, 1, 1, 1))])
        for dark in (False, True):
            for size in (PHONE, DESK):
                self.page_of(self.difference(one, other), size, dark)
                self.assertEqual(self.text('[data-node="0"]'), "all \u2013 +200 KiB in use")
                self.assertIn("in use, from 909 KiB to 1.1 MiB", self.text("#cards"))
                self.assertEqual(self.text("#modules"), "grownshrunk")
                self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), size[0])
                self.assertEqual(self.browser.value(CONTRASTS), [])
            hue = "Object.fromEntries([...document.querySelectorAll('.box[data-node]')].map(e => [e.getAttribute('aria-label').split(',')"
            hue += ".slice(0, 2).join(), [e.style.getPropertyValue('--hue'), e.style.getPropertyValue('--part')]]))"
            boxes = self.browser.value(hue)
            self.assertEqual([boxes[name] for name in ("d, +900 KiB", "b, \u2212300 KiB", "a, \u2212400 KiB")],
                             [["4", "100%"], ["214", "100%"], ["214", "67%"]])
            self.assertEqual(boxes["c, +0 B"][1], "0%")
        rows = self.texts("#sites tbody tr")
        self.assertRegex(rows[0], r"^d.*\+900 KiB")
        self.assertRegex(rows[1], r"^a.*\u2212400 KiB")
        self.assertRegex(rows[2], r"^b.*\u2212300 KiB")
        self.assertEqual(len(rows), 3, "c did not change")
        self.browser.click('[aria-label^="a,"]')
        self.assertIn("\u2212400 KiB in use, from 600 KiB to 200 KiB", self.text("#detail"))
        self.assertEqual(self.texts("section h2"), ["What grew and what shrank", "Places that ask for memory"])

    def test_sizes_without_blocks_have_no_row(self) -> None:
        profile = made([(["f"], (1, 1, 1, 1))])
        profile.string_table.append("hakmem sizes: 64 1 64 1 64; 128 0 0 0 0; 256 4 1024 0 0; 512 2 1024 2 1024;")
        profile.comment.append(len(profile.string_table) - 1)
        self.page_of(data_of(profile))
        self.assertEqual(self.texts("#sizes .row > :first-child"), ["\u2264 64 B", "\u2264 512 B"])
        self.browser.click("[name=mode][value='1']")
        self.assertEqual(self.texts("#sizes .row > :first-child"), ["\u2264 64 B", "\u2264 256 B", "\u2264 512 B"])

    def test_a_difference_of_samples_has_ranges(self) -> None:
        profiles = [made([(["a", "main"], (size << 10, 60, 1, 1))]) for size in (600, 700)]
        for profile in profiles:
            profile.period = 1 << 16
        self.page_of(self.difference(*profiles))
        said = r"\u2212\d+ to \+\d+ KiB, from \d+ samples in both; it may be chance"
        self.assertRegex(self.text("#cards"), said)
        self.assertRegex(self.text("#sites tbody tr"), r"\u2248 \+100 KiB\u2212\d+ to \+\d+ KiB\d+ samples; may be chance")

    def test_a_click_zooms_and_the_top_box_zooms_out(self) -> None:
        stacks = [(["a", "main"], (600, 6, 1, 1)), (["b", "main"], (400, 4, 1, 1))]
        self.page_of(data_of(made(stacks)))
        self.assertEqual(self.texts(".box"), ["all – 1000 B in use", "main", "a", "b"])
        self.browser.click('[aria-label^="b,"]')
        self.assertEqual(self.texts(".box"), ["all – 1000 B in use", "main", "b"])
        self.assertIn("400 B in use, 40 %, in 4 blocks", self.text("#detail"))
        self.browser.click('[data-node="0"]')
        self.assertEqual(self.texts(".box"), ["all – 1000 B in use", "main", "a", "b"])

    def test_keys_go_from_box_to_box(self) -> None:
        stacks = [(["a", "main"], (600, 6, 1, 1)), (["b", "main"], (400, 4, 1, 1))]
        self.page_of(data_of(made(stacks)))
        self.browser.value("document.querySelector('#search').focus()")
        self.browser.press("Tab")
        seen = []
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Enter", "Escape"):
            self.browser.press(key)
            seen.append(self.browser.value("document.activeElement.textContent"))
        self.assertEqual(seen, ["main", "a", "b", "a", "main", "a", "a", "all – 1000 B in use"])

    def test_the_search_marks_and_filters(self) -> None:
        stacks = [(["Alpha", "main"], (600, 6, 1, 1)), (["beta", "Alpha"], (100, 1, 1, 1)), (["beta", "main"], (300, 4, 1, 1))]
        self.page_of(data_of(made(stacks)))
        self.browser.click("#search")
        self.browser.type("alpha")
        self.assertEqual(sorted(self.texts(".box.hit")), ["Alpha", "Alpha"])
        self.assertEqual(self.text("#found"), "in 70 % of the bytes")
        self.assertEqual(self.texts("#sites tbody button"), ["Alpha"])
        self.browser.type(" is nowhere")
        self.assertEqual(self.texts(".box.hit"), [])
        self.assertIn("No place", self.text("#rest"))

    def test_the_table_sorts(self) -> None:
        stacks = [(["b"], (3, 30, 300, 30)), (["c"], (2, 50, 900, 50)), (["a"], (1, 40, 500, 40))]
        self.page_of(data_of(made(stacks)))
        self.assertEqual(self.texts("#sites tbody button"), ["b", "c", "a"])
        for column, order in (("blocks", "cab"), ("allocated", "cab"), ("place", "abc"), ("in use", "bca")):
            number = next(n for n, text in enumerate(self.texts("#sites thead button")) if text == column)
            selector = f'[data-column="{number}"]'
            self.browser.click(selector)
            self.assertEqual("".join(self.texts("#sites tbody button")), order, column)
            self.browser.press("Enter")
            self.assertEqual("".join(self.texts("#sites tbody button")), order[::-1], column)
            self.assertEqual(len(self.texts("[aria-sort]")), 1)

    def test_names_are_text(self) -> None:
        self.page_of(data_of(made([([name], (1000, 1, 1000, 1)) for name in NASTY])))
        self.assertEqual(sorted(self.texts(".box")[1:]), sorted(NASTY))
        self.assertEqual(sorted(self.texts("#sites tbody button")), sorted(NASTY))
        self.assertEqual(self.browser.value("document.scripts.length"), 1)

    def test_it_fits_a_phone(self) -> None:
        data = self.leak_page() | {"waterfall": waterfall(), "timeline": timeline()}
        data["functions"].append(["a" * 300, "/src/" + "b" * 300, ""])
        data["sites"]["rows"].append([len(data["functions"]) - 1, 1, [1 << 40] * 8, [], 0, [None, None]])
        for size in (PHONE, DESK, (320, 600)):
            self.page_of(data, size)
            self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), size[0])
            self.assertGreater(self.browser.value("document.querySelector('.box').offsetWidth"), size[0] * 0.8)

    def test_it_can_be_read_light_and_dark(self) -> None:
        data = self.leak_page() | {"waterfall": waterfall(), "timeline": timeline()}
        papers = []
        for dark in (False, True):
            self.page_of(data, dark=dark)
            self.assertEqual(self.browser.value(CONTRASTS), [])
            papers.append(self.browser.value("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(papers[0], "rgb(255, 255, 255)")
        self.assertNotEqual(*papers)

    def test_the_parts_add_up(self) -> None:
        data = data_of(made([(["f"], (1, 1, 1, 1))]))
        self.page_of(data | {"waterfall": waterfall()})
        *parts, mine, outside, rss = self.browser.value(BAR_BYTES)
        self.assertEqual((sum(parts), mine + outside), (mine, rss))
        ends = self.browser.value("[...document.querySelectorAll('.fall .rail')].map(e => [e.getBoundingClientRect().left, "
                                  "...[...e.children].map(i => [i.getBoundingClientRect().left, i.getBoundingClientRect().right])])")
        self.assertAlmostEqual(ends[1][1][0], ends[0][1][1], delta=2, msg="each begins where the one before ends")

    def test_a_large_profile_stays_usable(self) -> None:
        """10 GiB in 100,000 places: what it takes to open is bounded by bytes and nodes, not by places."""
        stacks = [([f"leaf_{n}", f"middle_{n % 700}", f"upper_{n % 30}", "main"], (102_400 + n % 9000, 1, 200_000, 2))
                  for n in range(100_000)]
        data = data_of(made(stacks))
        self.assertLessEqual(len(data["flame"]["depth"]), 20_000)
        for size in (PHONE, DESK):
            self.page_of(data, size)
            self.assertRegex(self.text("#pruned"), r"^[\d,]+ branches with less than .* of the bytes each, [\d.]+ GiB together, are not")
            self.assertRegex(self.text("#rest"), r"^99,[\d,]+ smaller places, 9\.\d GiB together, are left out of this page\.$")
            self.assertLess(self.browser.value("document.querySelectorAll('*').length"), 2_000)
        self.assertLess((self.folder / "page.html").stat().st_size, 1 << 20)
        self.browser.click('[aria-label^="upper_7,"]')
        self.assertIn("upper_7", self.text("#detail"))

    def test_a_process_is_watched(self) -> None:
        pid = self.process("waits", HAKMEM_STATS_FILE=str(self.folder / "stats"))
        page = self.folder / "live.html"
        done = report(pid, "--seconds", "0.3", "-o", page)
        self.assertEqual((done.status, done.errors), (0, ""))
        self.browser.open(page, *DESK)
        self.assertEqual(self.texts("nav a")[:3], ["What RSS is made of", "Timeline", "Stacks that hold it"])
        self.assertEqual(len(self.texts("#timeline polyline")), 3)
        self.assertRegex(self.text("#resident"), r"^\d+\.\d MiB$")
        self.assertTrue(self.browser.value("document.querySelector('.tools').nextElementSibling.id === 'flame'"))
        live = self.text("#counted")  # exactly, and once more as parts and as the curve's end
        self.assertIn(f"live blocks: {live} (", self.text("#timeline"))
        self.assertIn(f"({self.browser.value(f'{BAR_BYTES}.slice(0, 2).reduce((a, b) => a + b)'):,} B) in use by", done.output)
        self.assertNotIn("\u2248", self.text("#total-0"))
        self.assertIn("in use, scaled to what the counters know", self.text("#cards"))
        self.assertIn("leak_nodes", self.text("#sites tbody"))
        *parts, mine, outside, rss = self.browser.value(BAR_BYTES)
        self.assertGreaterEqual(len(parts), 6)
        self.assertAlmostEqual(sum(parts) / mine, 1, delta=0.02)
        self.assertEqual(mine + outside, rss)
        self.assertIn("smaps has", self.text("#memory"))


def waterfall() -> dict[str, Any]:
    parts = [["live blocks", 700 << 20, "asked for"], ["rounding", 100 << 20, ""], ["holes", 50 << 20, ""], ["never touched", -(150 << 20), ""]]
    return {"parts": parts, "mine": 700 << 20, "outside": 33 << 20, "rss": 733 << 20, "note": "by pagemap"}


def timeline() -> dict[str, Any]:
    return {"points": [[0, 5 << 20, 3 << 20, 1 << 20], [1, 9 << 20, 4 << 20, 2 << 20]], "note": ""}


if __name__ == "__main__":
    unittest.main()
