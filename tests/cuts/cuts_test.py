# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a fork may cut, and other corners of a process's life that luck seldom reaches.

Run with HAK_TEST_LIBRARY (libhakmem.so) and HAK_TEST_PROGRAMS (the folder of this folder's programs) set. Each case
of Cuts is one ctest test, Corners is another. HAK_TEST_SCALE above 1: every instruction is cut at, and those that
change memory many times over.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import unittest
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LIBRARY = Path(os.environ["HAK_TEST_LIBRARY"])
PROGRAMS = Path(os.environ["HAK_TEST_PROGRAMS"])
THOROUGH = int(os.environ.get("HAK_TEST_SCALE", "1")) > 1
SHOWN_FAILURES = 8

FUNCTION = re.compile(r"^0*([0-9a-f]+) <(.+)>:$")
INSTRUCTION = re.compile(r"^\s+([0-9a-f]+):\t(.*?)\s*(?:[#<].*)?$")
WRITES_NOTHING = re.compile(r"^(?:cs |data16 |addr32 )*(?:cmp|test|nop|lea|prefetch|j|push|ret)")
MEMORY_LAST = re.compile(r"\((?!%rsp)[^()]*\)$")
CALL_OUTSIDE = re.compile(r"^call\s+\*.*\(%rip\)$|^call.*@plt")
EXCHANGE = re.compile(r"^(?:lock |xchg|cmpxchg|xadd).*\(")
REPEATED = re.compile(r"^rep\w* (?:stos|movs)")

CUT = re.compile(r"^cut ([0-9a-f]+) status (0x[0-9a-f]+|0)$", re.MULTILINE)

REENTRY = "hakmem: malloc or free called again inside itself"
GIVEN_BACK = "hakmem: free of a block already released"

Result = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Instruction:
    offset: int
    text: str
    function: str


def tool(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def listing() -> Iterator[Instruction]:
    """The library's instructions, in order."""
    function = ""
    for line in tool("objdump", "-d", "--no-show-raw-insn", str(LIBRARY)).splitlines():
        if head := FUNCTION.match(line):
            function = head[2]
        elif match := INSTRUCTION.match(line):
            yield Instruction(int(match[1], 16), match[2], function)


def changes_memory(text: str) -> bool:
    """May other threads see what it did? (Its own stack nobody looks at.)"""
    if EXCHANGE.match(text) or CALL_OUTSIDE.match(text):
        return True
    return not WRITES_NOTHING.match(text) and MEMORY_LAST.search(text) is not None


def points(instructions: list[Instruction]) -> Iterator[tuple[int, int]]:
    """Offsets, and up to which time each is a point: after each change of memory, and each step of a repeated one."""
    seldom, often = (2, 1024) if THOROUGH else (0, 2)
    changed = False
    for instruction in instructions:
        repeated = REPEATED.match(instruction.text) is not None
        yield instruction.offset, often if changed or repeated else seldom
        changed = repeated or changes_memory(instruction.text)


def place(instructions: list[Instruction], offset: int) -> str:
    """Where an offset is, as a debugger names it."""
    at = next(i for i in instructions if i.offset == offset)
    first = next(i.offset for i in instructions if i.function == at.function)
    return f"{at.function}+{offset - first:#x}"


def offset_of_symbol(name: str) -> str:
    for line in tool("nm", str(LIBRARY)).splitlines():
        if line.endswith(f" {name}"):
            return line.split()[0]
    raise LookupError(f"{LIBRARY} has no symbol {name}: it is stripped, or the count has another name")


def run(name: str, *arguments: str, **settings: str) -> Result:
    """One of the programs with HAKMEM preloaded, and nothing of the caller's environment but the path."""
    environment = {"PATH": os.environ["PATH"], "LANG": "C", "LD_PRELOAD": str(LIBRARY)} | settings
    command = (str(PROGRAMS / f"cuts_{name}"), *arguments)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


class Cuts(unittest.TestCase):
    """Another thread forks while one is anywhere inside the allocator: the child lacks a thread, never a block."""

    instructions: list[Instruction]
    counts: list[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.instructions = list(listing())
        cls.counts = [offset_of_symbol(name) for name in ("g_budget", "g_slabs")]

    def write_points(self, path: Path) -> None:
        chosen = [(offset, most) for offset, most in points(self.instructions) if most > 0]
        self.assertGreater(len(chosen), 300, "objdump's listing is not what this test reads")
        path.write_text("".join(f"{offset:x} {most}\n" for offset, most in chosen), encoding="ascii")

    def explain(self, result: Result) -> str:
        """The first failed cuts, by name, and what their children said."""
        failed = [(at, status) for at, status in CUT.findall(result.stdout) if int(status, 16) != 0]
        lines = [f"{place(self.instructions, int(at, 16))}: status {status}" for at, status in failed]
        said = sorted(set(re.sub("0x[0-9a-f]+", "0x...", result.stderr).splitlines()))
        closing = result.stdout.splitlines()[-1:]
        return "\n".join(["", *closing, *lines[:SHOWN_FAILURES], *said[:SHOWN_FAILURES]])

    def expect_cuts_in(self, functions: tuple[str, ...], result: Result) -> None:
        """A scenario reaches what it is for. (The compiler gives parts of functions names of their own.)"""
        of_offset = {i.offset: i.function.split(".")[0] for i in self.instructions}
        reached = {of_offset[int(at, 16)] for at, _ in CUT.findall(result.stdout)}
        self.assertLessEqual(set(functions), reached)

    def cut(self, scenario: str, *functions: str, **settings: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "points")
            self.write_points(path)
            settings = {"HAKMEM_LAB_BIG_CACHE_BLOCKS": "8", "HAKMEM_BACKGROUND_THREAD": "off"} | settings
            result = run("cuts", scenario, str(path), *self.counts, **settings)
        self.assertEqual((result.returncode, result.stderr), (0, ""), self.explain(result))
        self.expect_cuts_in(functions, result)
        print(result.stdout.splitlines()[-1], end=" ... ", flush=True)

    def test_small(self) -> None:
        self.cut("small")

    def test_mid(self) -> None:
        self.cut("mid")

    def test_large(self) -> None:
        self.cut("large")

    def test_runs(self) -> None:
        self.cut("runs", "hak_large_fill", "hak_large_put")

    def test_runs_trim(self) -> None:
        self.cut("runs_trim")

    def test_runs_exit(self) -> None:
        self.cut("runs_exit")

    def test_big(self) -> None:
        self.cut("big")

    def test_table(self) -> None:
        self.cut("table")

    def test_hand(self) -> None:
        tight = {"LAB_THREAD_SMALL_BYTES": "16K", "LAB_THREAD_CACHE_BYTES": "32K", "LAB_CACHE_HEAP_PERCENT": "0"}
        self.cut("hand", **{f"HAKMEM_{name}": value for name, value in tight.items()})

    def test_trim(self) -> None:
        self.cut("trim")

    def test_drain(self) -> None:
        """The trim empties the magazines of the thread that forks and of another. At no price nothing begins a helper."""
        functions = ("hak_magazine_close", "hak_os_has_barrier", "hak_magazine_empty")
        self.cut("drain", *functions, HAKMEM_BACKGROUND_THREAD="on", HAKMEM_PRICE="0")

    def test_drained(self) -> None:
        self.cut("drained", "open_emptied", "end_class", HAKMEM_BACKGROUND_THREAD="on", HAKMEM_PRICE="0")

    def test_moved(self) -> None:
        self.cut("moved", "hak_os_remap", "hak_os_move", "count_move", "hak_big_resize", HAKMEM_PRICE="2000001")

    def test_exit(self) -> None:
        self.cut("exit")

    def test_age(self) -> None:
        """The slow paths give memory back, as a helper would inherit the trap flag that steps through its maker."""
        self.cut("age", HAKMEM_PRICE="1000000000000")


class Corners(unittest.TestCase):
    def expect_done(self, result: Result) -> None:
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "done\n", ""), str(result.args))

    def test_keys_before_ours(self) -> None:
        self.expect_done(run("late_key"))

    def test_thread_in_a_fork_handler_before_ours(self) -> None:
        self.expect_done(run("thread_first", "atfork"))

    def test_thread_first_after_a_bare_fork(self) -> None:
        self.expect_done(run("thread_first", "bare"))

    def test_abort_handler_that_allocates(self) -> None:
        """Each of its calls is one more re-entry: the second ends the process."""
        result = run("abort_handler")
        self.assertEqual((result.returncode, result.stdout), (-signal.SIGABRT, "handler\n"))
        self.assertEqual([line.startswith(REENTRY) for line in result.stderr.splitlines()], [True, True])

    def test_double_free_of_a_run_that_merged(self) -> None:
        result = run("merged_run")
        self.assertEqual((result.returncode, result.stdout), (-signal.SIGABRT, "freed\n"))
        self.assertRegex(result.stderr, rf"\A{GIVEN_BACK}: pointer 0x[0-9a-f]+, class none, caller 0x[0-9a-f]+\n\Z")


if __name__ == "__main__":
    unittest.main()
