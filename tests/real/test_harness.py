# SPDX-License-Identifier: MIT OR Apache-2.0
"""The harness finds what it is there to find: other output, other files, another exit status, an unserved process."""

from __future__ import annotations

import os
import sys
import tempfile
import unittest
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import psutil  # noqa: E402

from harness import compare, filters, packages, proof, record  # noqa: E402
from harness.runner import REAL, Tools, Usage, Verdict, case_names, load_case, loaded_libc, run_loaded  # noqa: E402
from harness.session import Session  # noqa: E402

LAUNCHER = Path(os.environ.get("HAK_LAUNCHER", REAL.parents[1] / "build/release/hak_launcher"))


@dataclass
class MadeUp:
    """A case from a function."""

    steps: Callable[[Session], None]

    def run(self, session: Session) -> None:
        self.steps(session)


def shell(script: str) -> MadeUp:
    """A case that runs one shell script; $SIDE tells it which of the two runs it is in."""
    def steps(session: Session) -> None:
        session.run("sh", "-c", script, env={"SIDE": session.allocator.name})
        session.result("*.out")
    return MadeUp(steps)


class Harness(unittest.TestCase):
    """Cases run with glibc as the candidate, so that only what is made to differ differs."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve() / "case"

    def verdict(self, case: MadeUp, rules: str = "", library: Path | None = None) -> Verdict:
        tools = Tools(library or loaded_libc().resolve(), LAUNCHER)
        return run_loaded(case, tools, self.root, filters.parse_rules(rules, "rules"))

    def assert_one(self, verdict: Verdict, *parts: str) -> None:
        text = "\n".join(verdict.lines)
        for part in parts:
            self.assertIn(part, text)
        self.assertTrue(self.root.is_dir(), "the outputs are gone")

    def test_equal_runs_pass_and_leave_nothing(self) -> None:
        verdict = self.verdict(shell("echo same; pwd; echo same >a.out"))
        self.assertEqual(verdict.lines, [])
        self.assertEqual(verdict.processes, 1)
        self.assertFalse(self.root.exists())

    def test_other_stdout_is_shown_as_a_diff(self) -> None:
        verdict = self.verdict(shell("echo common; echo by $SIDE; echo x >a.out"))
        self.assert_one(verdict, "-by glibc", "+by candidate", " common")
        self.assertIn("by candidate", (self.root / "candidate.txt").read_text())

    def test_other_stderr_and_exit_status_count(self) -> None:
        verdict = self.verdict(shell("echo $SIDE >&2; echo x >a.out; test $SIDE = glibc"))
        self.assert_one(verdict, "-glibc", "+candidate", "-[exit 0]", "+[exit 1]")

    def test_other_file_is_named_with_the_place(self) -> None:
        verdict = self.verdict(shell("echo abc$SIDE >a.out"))
        self.assert_one(verdict, "file a.out: differs from byte 3 on (9 and 13 bytes)")

    def test_missing_file_is_named(self) -> None:
        verdict = self.verdict(shell("echo x >a.out; test $SIDE = glibc && echo y >b.out; true"))
        self.assert_one(verdict, "file b.out: missing in the candidate's run")

    def test_the_filter_takes_out_what_it_says(self) -> None:
        rules = "# the run's name\nby \\w+  =>  by <name>\n"
        verdict = self.verdict(shell("echo by $SIDE; echo x >a.out"), rules)
        self.assertEqual(verdict.lines, [])

    def test_a_case_that_fails_on_glibc_is_an_error(self) -> None:
        verdict = self.verdict(shell("echo broken; exit 3"))
        self.assert_one(verdict, "exits with 3 on glibc", "broken")

    def test_a_library_that_is_not_the_allocator_is_found(self) -> None:
        verdict = self.verdict(shell("echo x >a.out"), library=loaded_libc().with_name("libm.so.6"))
        self.assert_one(verdict, "malloc lies in")

    def test_a_process_the_preload_does_not_reach_is_found(self) -> None:
        def steps(session: Session) -> None:
            session.run("sh", "-c", "true", env={"LD_PRELOAD": ""})
        self.assert_one(self.verdict(MadeUp(steps)), "left no witness")

    def test_a_library_named_hakmem_must_leave_counters(self) -> None:
        library = self.root.with_name("libhakmem.so")
        library.symlink_to(loaded_libc())
        verdict = self.verdict(shell("echo x >a.out"), library=library)
        self.assert_one(verdict, "left no counters file")

    def test_a_line_of_hakmem_is_found_though_glibc_says_it_too(self) -> None:
        verdict = self.verdict(shell("echo 'hakmem: double free' >&2; echo x >a.out"))
        self.assert_one(verdict, "hakmem: double free")

    def test_a_crash_that_only_a_servers_log_tells_of_is_found(self) -> None:
        def steps(session: Session) -> None:
            server = session.start("sh", "-c", "echo worker 7 exited on signal 11", log="log")
            session.finish(server, "sh")
        self.assert_one(self.verdict(MadeUp(steps)), "worker 7 exited on signal 11")

    def test_a_server_that_ends_too_early_is_told_with_its_last_words(self) -> None:
        def steps(session: Session) -> None:
            server = session.start("sh", "-c", "echo no port; exit 3", log="log")
            session.wait_until(lambda: False, server, "log")
        self.assert_one(self.verdict(MadeUp(steps)), "sh ended with 3", "no port")

    def test_daemons_are_ended(self) -> None:
        def steps(session: Session) -> None:
            session.run("sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo x >a.out")
        self.assertEqual(self.verdict(MadeUp(steps)).lines, [])
        self.assertEqual(psutil.Process().children(recursive=True), [])

    def test_use_is_measured_from_outside(self) -> None:
        verdict = self.verdict(shell("head -c 60000000 /dev/zero | tail -c 50000000 >/dev/null; echo x >a.out"))
        assert verdict.glibc and verdict.candidate
        for usage in (verdict.glibc, verdict.candidate):
            self.assertGreater(usage.rss_kib, 45000)
            self.assertGreater(usage.cpu_us, 0)

    def test_a_program_with_a_malloc_of_its_own_must_have_it(self) -> None:
        def steps(session: Session) -> None:
            session.bring_own_malloc("sh")
            session.run("sh", "-c", "true")
        self.assert_one(self.verdict(MadeUp(steps)), "malloc lies in")

    def test_children_are_witnessed_too(self) -> None:
        verdict = self.verdict(shell("sh -c 'sh -c true; true'; echo x >a.out"))
        self.assertEqual((verdict.lines, verdict.processes), ([], 3))


class Counters(unittest.TestCase):
    """Files of HAKMEM's counters."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "counters.1"

    def test_a_file_is_read_by_name(self) -> None:
        rows = b"".join(proof.ROW.pack(name, value) for name, value in ((b"alloc_slab", 3), (b"kernel_map", 1 << 40)))
        self.path.write_bytes(proof.HEADER.pack(proof.MAGIC, 2, proof.ROW.size) + rows)
        self.assertEqual(proof.read_counters(self.path), {"alloc_slab": 3, "kernel_map": 1 << 40})

    def test_a_torn_file_is_refused(self) -> None:
        for data in (b"", b"HAKCNT01", proof.HEADER.pack(b"HAKCNT99", 1, 32) + bytes(32),
                     proof.HEADER.pack(proof.MAGIC, 2, 32) + bytes(32)):
            self.path.write_bytes(data)
            with self.assertRaises(ValueError):
                proof.read_counters(self.path)


class Records(unittest.TestCase):
    """Data and page."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.record = record.Record(Path(folder.name))

    def test_a_row_replaces_that_of_an_earlier_run_and_no_other(self) -> None:
        used = Usage(2048, 1_500_000)
        self.record.keep(record.row_of("perl", Verdict(["differs"], 3, used, Usage(3072, 1_800_000)), 1))
        self.record.keep(record.skipped_row("nginx", "not installed"))
        self.record.keep(record.row_of("perl", Verdict([], 3, used, used), 1))
        kept = self.record.kept()
        self.assertEqual([(row.name, row.end) for row in kept.values()], [("nginx", "skip"), ("perl", "ok")])
        self.assertEqual(kept["perl"].candidate, used)

    def test_the_page_has_a_row_for_each_with_both_figures(self) -> None:
        self.record.keep(record.row_of("perl", Verdict([], 3, Usage(2048, 10**6), Usage(3072, 10**6)), 1, 5))
        self.record.keep(record.row_of("lua", Verdict(["first", "more"], 3, Usage(2048, 1), Usage(1, 1)), 1))
        page = (self.record.folder / record.PAGE).read_text()
        self.assertIn("| 3 | 5 | 2.0 | 3.0 | **1.50** | 1.00 | 1.00 | 1.00 | yes |", page)
        self.assertIn("| 3 | – | – | – | – | – | – | – | **no** |", page)
        self.assertIn("    first\n", page)


class Pieces(unittest.TestCase):
    """What needs no run."""

    def test_a_long_diff_is_cut(self) -> None:
        lines = compare.text_difference("\n".join(map(str, range(99))), "", ("a", "b"))
        self.assertEqual(len(lines), compare.DIFF_LINES + 1)
        self.assertIn("more lines", lines[-1])

    def test_ends_of_lines_count(self) -> None:
        self.assertEqual(len(compare.text_difference("a\n", "a", ("a", "b"))), 1)

    def test_a_rule_without_a_reason_is_refused(self) -> None:
        for text in ("a  =>  b\n", "# why\n\na  =>  b\n", "# why\na -> b\n", "# why\n(  =>  b\n"):
            with self.assertRaises(filters.FilterError):
                filters.parse_rules(text, "rules")

    def test_rules_below_a_heading_are_for_those_cases(self) -> None:
        rules = filters.parse_rules("# why\na  =>  b\n\n[one two]\n# why\nc  =>  d\n", "rules")
        self.assertEqual([len(filters.rules_for(rules, case)) for case in ("one", "two", "three")], [2, 2, 1])

    def test_packages_are_listed_by_case(self) -> None:
        text = "# comment\ngcc\nphp: php-cli  php-xml # why\n\n"
        self.assertEqual(packages.parse_list(text), {"php": ["php-cli", "php-xml"]})

    def test_every_case_names_its_packages(self) -> None:
        self.assertEqual([name for name in case_names() if name not in packages.wanted_packages()], [])

    def test_a_missing_package_is_said_in_one_line(self) -> None:
        row = record.skipped_row("nginx", "not installed: nginx-light")
        self.assertEqual(row.line(), "skip  nginx        not installed: nginx-light")

    def test_the_checked_in_rules_and_cases_load(self) -> None:
        self.assertTrue(filters.load_rules(REAL / "filter.txt"))
        self.assertEqual([name for name in case_names() if not callable(load_case(name).run)], [])


if __name__ == "__main__":
    unittest.main()
