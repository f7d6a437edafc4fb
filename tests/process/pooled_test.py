# SPDX-License-Identifier: MIT OR Apache-2.0
"""guard_bytes: the report of each kind of error at a guarded block, and programs without errors as they are."""

from __future__ import annotations

import re
import resource
import signal
import subprocess
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from hakmem.explaining.crash import lines_of, reports_in
from hakmem.process.counters import parse_counts
from process_case import ProcessCase, Result, environment, limit, program, run

ADDRESS = "0x[0-9a-f]+"


def pooled(how: str, guard_bytes: str = "1", **settings: str) -> Result:
    given = {"HAKMEM_GUARD_BYTES": guard_bytes} if guard_bytes else {}
    return run(program("pooled"), how, before=limit(resource.RLIMIT_CORE, 0), **given, **settings)


class Errors(ProcessCase):
    def found(self, how: str, error: str, ends_by: signal.Signals, guard_bytes: str = "1") -> dict[str, list[str]]:
        """The functions of each stack, which lie in this program, by what the stack did."""
        result = pooled(how, guard_bytes)
        self.assertEqual(result.returncode, -ends_by, result.stderr)
        self.assertRegex(result.stderr, f"^hakmem: guard: {error}\n")
        (report,) = reports_in(result.stderr)
        stacks: dict[str, list[str]] = {}
        for line in lines_of(report)[1:]:
            if re.match("  [a-z]", line):
                names = stacks.setdefault(line.strip().rpartition(",")[0], [])
            elif "pooled.c:" in line:
                names.append(line.split()[0])
        return stacks

    def test_overflow(self) -> None:
        for how, event in (("overflow_write", "write to"), ("overflow_read", "read of")):
            error = rf"overflow: {event} {ADDRESS}, 8 B after a block of 24 B"
            stacks = self.found(how, error, signal.SIGSEGV)
            self.assertEqual(stacks, {"faulted": [how], "taken": ["take", "at_end", how, "main"]})

    def test_underflow(self) -> None:
        stacks = self.found("underflow_write", rf"underflow: write to {ADDRESS}, 3 B before a block of 24 B", signal.SIGSEGV)
        self.assertEqual(stacks["taken"], ["take", "at_begin", "underflow_write", "main"])

    def test_found_at_the_free(self) -> None:
        for how, error in (
            ("overflow_found_later", rf"overflow: found at the block's free, write to {ADDRESS}, 2 B after a block of 24 B"),
            ("underflow_found_later", rf"underflow: found at the block's free, write to {ADDRESS}, 2 B before a block of 24 B"),
        ):
            stacks = self.found(how, error, signal.SIGABRT)
            self.assertEqual(stacks["called free"], ["drop", how, "main"])
            self.assertNotIn("freed", stacks)

    def test_use_after_free(self) -> None:
        for how, event in (("use_after_free_write", "write to"), ("use_after_free_read", "read of")):
            stacks = self.found(how, rf"use after free: {event} {ADDRESS}, 3 B into a freed block of 24 B", signal.SIGSEGV)
            self.assertEqual(stacks, {"faulted": [how], "taken": ["take", how, "main"], "freed": ["drop", how, "main"]})

    def test_wrong_frees(self) -> None:
        twice = rf"double free: free of {ADDRESS}, 0 B into a freed block of 24 B"
        stacks = self.found("free_twice", twice, signal.SIGABRT)
        self.assertEqual(stacks["freed"], ["drop", "free_twice", "main"])
        self.assertEqual(stacks["called free"], ["drop", "free_twice", "main"])
        stacks = self.found("free_twice_by_threads", twice, signal.SIGABRT)
        self.assertEqual(stacks["freed"], ["drop", "drop_there"])
        stacks = self.found("resize_freed", twice, signal.SIGABRT)
        self.assertEqual(stacks["freed"], ["drop", "resize_freed", "main"])
        self.assertEqual(stacks["called free"], ["resize_freed", "main"])
        self.found("free_inside", rf"wrong free: free of {ADDRESS}, 8 B into a block of 24 B", signal.SIGABRT)
        self.found("free_between", rf"wrong free: free of {ADDRESS}, 8 B after a block of 24 B", signal.SIGABRT)

    def test_set_at_run_time(self) -> None:
        self.found("at_run_time", rf"overflow: write to {ADDRESS}, 8 B after a block of 24 B", signal.SIGSEGV, "")


class Honest(ProcessCase):
    def test_programs_without_errors(self) -> None:
        for how in ("sizes", "other_calls", "threads", "forks", "off_again"):
            for guard_bytes in ("1", "2000"):
                with self.subTest(how, guard_bytes=guard_bytes), TemporaryDirectory() as folder:
                    result = pooled(how, guard_bytes, HAKMEM_COUNTERS_FILE=f"{folder}/counters")
                    self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "ended\n", ""))
                    counts = [parse_counts(file.read_bytes()) for file in Path(folder).iterdir()]
                    self.assertGreater(sum(each["guarded"] for each in counts), 0)

    def test_profile_and_guards_in_either_order(self) -> None:
        for how in ("one_after_the_other", "profile_after_guards"):
            with self.subTest(how), TemporaryDirectory() as folder:
                profile = Path(folder) / "profile"
                result = pooled(how, "", HAK_PROFILE=str(profile))
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "ended\n", ""))
                found = re.search(rb"(\d+) blocks sampled", profile.read_bytes())
                self.assertIn(int(found[1]) if found else 0, range(15000, 70000))

    def test_first_block_of_the_process(self) -> None:
        result = pooled("names_that_are_not_there", "1")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "ended\n", ""))

    def test_no_further_kernel_call_in_a_sandbox(self) -> None:
        for how in ("set_in_sandbox", "guarded_in_sandbox", "profiled_in_sandbox"):
            with self.subTest(how):
                result = pooled(how, "")
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "ended\n", ""))

    def test_real_programs(self) -> None:
        line = "my %h; $h{$_ % 5000} .= 'x' x ($_ % 90) for 1..200000; print length join('', map { $h{$_} } sort keys %h)"
        for command in (["perl", "-e", line], ["bash", "-c", "for i in {1..3000}; do a[$i]=$i$i; done; echo ${#a[@]}"]):
            with TemporaryDirectory() as folder:
                settings = environment(True, HAKMEM_GUARD_BYTES="20000", HAKMEM_COUNTERS_FILE=f"{folder}/counters")
                plain = subprocess.run(command, capture_output=True, text=True, check=True)
                guarded = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
                self.assertEqual((guarded.returncode, guarded.stdout, guarded.stderr), (0, plain.stdout, ""))
                self.assertGreater(sum(parse_counts(file.read_bytes())["guarded"] for file in Path(folder).iterdir()), 20)


if __name__ == "__main__":
    unittest.main()
