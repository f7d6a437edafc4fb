# SPDX-License-Identifier: MIT OR Apache-2.0
"""The allocator, interrupted between two instructions: by a fork, by a handler that allocates, by a kill.

Run with HAK_TEST_LIBRARY (libhakmem.so) and HAK_TEST_PROGRAMS (the folder of this folder's programs) set.
HAK_STEP_EVERY is the distance of two boundaries that are tried: 1 tries all; without it each run tries some SAMPLE.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from hakmem.learning.policy import policy_of
from hakmem.process.counters import parse_counts
from hakmem.reading.stats_page import Torn, page_of
from hakmem.reading.table_file import lost_rows, table_of

LIBRARY = Path(os.environ["HAK_TEST_LIBRARY"])
PROGRAMS = Path(os.environ["HAK_TEST_PROGRAMS"])
EVERY = int(os.environ.get("HAK_STEP_EVERY", "0"))
SECURE = LIBRARY.with_name("libhakmem-secure.so")
SAMPLE = 32  # boundaries of a run in CI, at a prime distance, so that no loop hides its others
LONG = 17000  # boundaries: a run for each of some takes seconds
SHOWN_FAILURES = 8

SUM = re.compile(r"^(\d+) boundaries, (\d+) chosen, (\d+) went on, (\d+) refused, (\d+) failed$", re.MULTILINE)
MET = re.compile(r"^met ([0-9a-f]+) \d+$", re.MULTILINE)
AT = re.compile(r"^at ([0-9a-f]+) boundary (\d+): FAILED$", re.MULTILINE)
REFUSAL = re.compile(r"^hakmem: malloc or free called again inside itself .*\n", re.MULTILINE)
FUNCTION = re.compile(r"^([0-9a-f]+) [tT] (\S+)$", re.MULTILINE)

CALM = {"HAKMEM_BACKGROUND_THREAD": "off", "HAKMEM_LAB_THREAD_SMALL_BYTES": "16K"}
NO_WAIT = {"HAKMEM_PRICE": "1000000000000"}  # free memory does not wait: the slow paths release it
DRAINS = {"HAKMEM_BACKGROUND_THREAD": "on", "HAKMEM_PRICE": "0"}  # magazines may be drained, and no thread begins


@cache
def functions(library: Path) -> tuple[list[int], list[str]]:
    """Addresses and names of a library's functions."""
    listed = subprocess.run(["nm", str(library)], capture_output=True, text=True, check=True).stdout
    found = sorted((int(at, 16), name) for at, name in FUNCTION.findall(listed))
    return [at for at, _ in found], [name for _, name in found]


def function_at(library: Path, offset: int) -> str:
    """The compiler gives parts of functions names of their own."""
    addresses, names = functions(library)
    return names[bisect_right(addresses, offset) - 1].split(".")[0]


@dataclass(frozen=True)
class Outcome:
    """What a run of the stepper says."""

    library: Path
    status: int
    text: str
    errors: str
    boundaries: int = 0
    chosen: int = 0
    went_on: int = 0
    refused: int = 0
    failed: int = 0
    reached: set[str] = field(default_factory=set)

    def told(self) -> str:
        """The failed boundaries, by function, and what their processes said."""
        failed = [f"boundary {n} in {function_at(self.library, int(at, 16))}" for at, n in AT.findall(self.text)]
        said = [line for line in self.text.splitlines() if line.startswith(("status", "the program"))]
        return "\n".join([f"status {self.status}", *failed[:SHOWN_FAILURES], *said[:SHOWN_FAILURES], self.errors])


def outcome_of(library: Path, result: subprocess.CompletedProcess[str]) -> Outcome:
    found = SUM.search(result.stdout)
    if found is None:
        return Outcome(library, result.returncode, result.stdout, result.stderr)
    reached = {function_at(library, int(at, 16)) for at in MET.findall(result.stdout)}
    return Outcome(library, result.returncode, result.stdout, result.stderr, *map(int, found.groups()), reached)


def step(
    how: str, every: int, folder: Path, *words: str, library: Path = LIBRARY, linked: bool = False, **settings: str
) -> Outcome:
    """One run of the stepper. The loader binds all names at start, so that no boundary is its own."""
    environment = {"PATH": os.environ["PATH"], "LANG": "C", "LD_BIND_NOW": "1"} | CALM | settings
    if linked:
        environment["LD_LIBRARY_PATH"] = str(LIBRARY.parent)
    preloaded, program = ("-", "step_linked") if linked else (str(library), "step_subject")
    order = [how, str(every), str(every), str(folder), preloaded, str(PROGRAMS / program), *words]
    command = [str(PROGRAMS / "step_stepper"), *order]
    return outcome_of(library, subprocess.run(command, env=environment, capture_output=True, text=True, check=False))


def prime_from(n: int) -> int:
    while any(n % k == 0 for k in range(2, int(n**0.5) + 1)):
        n += 1
    return n


class StepCase(unittest.TestCase):
    def expect_all_good(self, outcome: Outcome, *reached: str) -> None:
        self.assertEqual((outcome.status, outcome.failed), (0, 0), outcome.told())
        self.assertLessEqual(set(reached), outcome.reached)
        self.assertEqual(outcome.went_on + outcome.refused, outcome.chosen)


# Boundaries of each operation, about: a sample is spread over them.
LENGTHS = {
    "refill": 4900, "flush": 12800, "depot": 15900, "purge": 35000, "drain": 145000, "age": 15000, "advice": 35000,
    "runs": 7200, "big": 10200, "resize": 37000, "shapes": 27000, "birth": 15000, "repair": 20000, "fork": 268, "kinds": 15000,
    "guarded": 80000, "learning": 31000,
}  # fmt: skip


class InterruptedCase(StepCase):
    """By a fork the operation is finished twice; by a handler that allocates it is finished, or the process ends with
    the line of a re-entry. No block has two owners."""

    library = LIBRARY
    length = 1  # of an operation on this library, in lengths of the same on the normal one
    sampled_by: tuple[str, ...] = ("turns",)
    handlers: tuple[str, ...] = ("own", "drop")  # at every boundary
    in_place_by = "own"
    forks = True

    def without_forks(self) -> None:
        """One would wait for ever where libc's lock of fork's hooks is taken."""
        self.sampled_by, self.forks = ("own", "drop"), False

    def copied(self, operation: str, interruption: str, every: int, linked: bool, **settings: str) -> Outcome:
        words = (operation, interruption, "copied")
        outcome = step("copied", every, Path("/"), *words, library=self.library, linked=linked, **settings)
        self.expect_all_good(outcome)
        self.assertEqual(outcome.errors, "")
        print(f"{operation} {interruption}{' linked' * linked}: {outcome.text.splitlines()[-1]}", flush=True)
        return outcome

    def sample(self, operation: str, **settings: str) -> Outcome:
        linked = operation == "refill" and self.library == LIBRARY
        every = prime_from(len(self.sampled_by) * self.length * LENGTHS[operation] // SAMPLE)
        return [self.copied(operation, one, every, linked, **settings) for one in self.sampled_by][-1]

    def whole(self, operation: str, **settings: str) -> Outcome:
        """All boundaries by a fork and by a handler; further handlers, and the linked library, at a part of them."""
        first, *others = ("fork", *self.handlers) if self.forks else self.handlers
        outcome = self.copied(operation, first, EVERY, False, **settings)
        if self.forks:
            self.assertEqual(outcome.refused, 0)
        for interruption in others:
            self.copied(operation, interruption, EVERY, False, **settings)
        if self.library != LIBRARY:
            return outcome
        for interruption, linked in (("other", False), ("all", False), ("fork", True), ("own", True), ("drop", True)):
            if self.forks or interruption != "fork":
                self.copied(operation, interruption, prime_from(11 * EVERY), linked, **settings)
        return outcome

    def interrupt(self, operation: str, *reached: str, **settings: str) -> None:
        outcome = (self.sample if EVERY == 0 else self.whole)(operation, **settings)
        self.assertLessEqual(set(reached), outcome.reached)
        if EVERY != 0 or self.length * LENGTHS[operation] < LONG:
            self.in_place(operation, **settings)

    def in_place(self, operation: str, **settings: str) -> None:
        """The process itself, which no fork has made: a run for each boundary."""
        every = prime_from(self.length * LENGTHS[operation] // (2 if EVERY == 0 else 100))
        outcome = step("itself", every, Path("/"), operation, self.in_place_by, "itself", library=self.library, **settings)
        self.expect_all_good(outcome)
        self.assertEqual(len(REFUSAL.findall(outcome.errors)), outcome.refused)
        self.assertEqual(REFUSAL.sub("", outcome.errors), "")


class Interrupted(InterruptedCase):
    def test_refill(self) -> None:
        self.interrupt("refill", "hak_magazine_take", "hak_slab_fill")

    def test_flush(self) -> None:
        self.interrupt("flush", "hak_magazine_put", "hak_slab_put")

    def test_depot(self) -> None:
        self.interrupt("depot", "hak_depot_put", "hak_depot_take")

    def test_purge(self) -> None:
        self.interrupt("purge", "hak_slab_sweep", "hak_runs_purge", "hak_os_purge", "hak_big_trim")

    @unittest.skipIf(EVERY == 0, "a drain reads a file of /proc, 100,000 boundaries")
    def test_drain(self) -> None:
        self.interrupt("drain", "hak_magazine_close", "hak_magazine_empty", **DRAINS)

    def test_age(self) -> None:
        self.interrupt("age", "hak_release_aged_some", "hak_runs_age", "hak_os_purge", **NO_WAIT)

    def test_advice(self) -> None:
        self.interrupt("advice", "hak_region_cleaned", "hak_region_used", "hak_os_advise_dump")

    def test_runs(self) -> None:
        self.interrupt("runs", "hak_large_alloc", "hak_pages_get", "hak_pages_put")

    def test_big(self) -> None:
        self.interrupt("big", "hak_big_alloc", "hak_big_resize", "hak_os_remap", "hak_big_free")


    def test_resize(self) -> None:
        self.interrupt("resize", "hak_large_resize", "hak_big_resize", "hak_pages_resize")

    def test_shapes(self) -> None:
        self.interrupt("shapes", "hak_slow_calloc", "hak_slow_memalign")

    def test_birth(self) -> None:
        begin, end = ("hak_thread_begin", "hak_registry_claim"), ("thread_exits", "hak_magazine_bury", "hak_registry_retire")
        self.without_forks()
        self.interrupt("birth", *begin, *end)

    def test_repair(self) -> None:
        self.interrupt("repair", "hak_fork_notice", "hak_after_fork_some")

    def test_fork(self) -> None:
        self.interrupt("fork")

    def test_sampled(self) -> None:
        self.interrupt("kinds", "hak_sampled_malloc", "hak_samples_add", HAKMEM_PROFILE="on", HAKMEM_PROFILE_BYTES="1K")

    def test_guarded(self) -> None:
        self.interrupt("guarded", "hak_guarded_take", "hak_guarded_put", HAKMEM_GUARD_BYTES="1")

    def test_learning(self) -> None:
        learning = {"HAKMEM_MODE": "evolving", "HAKMEM_LAB_LEARN_KEEP": "on"}
        self.interrupt("learning", "hak_leaders_choose", "hak_leaders_note", "hak_keeper_freed", **learning)

    def test_checked(self) -> None:
        self.interrupt("kinds", "hak_slab_put", HAKMEM_CHECKS="on")

    def test_traced(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.interrupt("kinds", "hak_traced_malloc", "hak_trace_went", HAKMEM_TRACE_FILE=f"{folder}/trace")


class SecureInterrupted(InterruptedCase):
    """The secure flavour: quarantine, canaries and zeros are between the steps. What a handler frees waits in quarantine, so
    a block of the operation's class is one that the handler keeps, and may get a second owner."""

    library = SECURE
    length = 2
    sampled_by = ("fork", "other", "drop")
    handlers = ("other", "drop")
    in_place_by = "other"

    def test_secure_refill(self) -> None:
        self.interrupt("refill", "hak_slab_fill")

    def test_secure_flush(self) -> None:
        self.interrupt("flush", "hak_slab_put")

    def test_secure_depot(self) -> None:
        self.interrupt("depot", "hak_depot_put", "hak_depot_take")

    def test_secure_age(self) -> None:
        self.interrupt("age", "hak_release_aged_some", **NO_WAIT)

    @unittest.skipIf(EVERY == 0, "it fills blocks byte by byte, 100,000 boundaries")
    def test_secure_birth(self) -> None:
        self.without_forks()
        self.interrupt("birth", "hak_thread_begin", "thread_exits", "hak_secured_empty")

    @unittest.skipIf(EVERY == 0, "60,000 boundaries")
    def test_secure_repair(self) -> None:
        self.interrupt("repair", "hak_fork_notice")


class Killed(StepCase):
    """What a kill at any boundary leaves in the files that outlive the process can be read. The stepper keeps each
    state of these files; a kill leaves one of them, as written bytes are the kernel's."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "states").mkdir()

    def step_files(self, how: str, every: int, operation: str, **settings: str) -> None:
        outcome = step(how, every, self.folder, operation, "fork", "itself", **settings)
        self.assertEqual((outcome.status, outcome.failed, outcome.errors), (0, 0, ""), outcome.told())
        print(f"{operation} {how}: {outcome.text.splitlines()[-1]}", flush=True)

    def states(self, operation: str, length: int, kills: bool = True, **settings: str) -> list[Path]:
        """Contents of the files that the operation, of about this many boundaries, writes into the folder."""
        self.step_files("files", EVERY or prime_from(length // SAMPLE), operation, **settings)
        if kills or EVERY != 0:
            distance = length * 4 // 10 if EVERY == 0 else length // 10  # with samples the length varies by a third
            self.step_files("killed", prime_from(distance), operation, **settings)
        kept = sorted((self.folder / "states").iterdir())
        left = [path for path in self.folder.iterdir() if path.is_file()]
        print(f"{len(kept)} states, {len(left)} files left", flush=True)
        self.assertGreater(len(kept if kills or EVERY != 0 else kept + left), 1, "no file changes")
        return kept + left

    def test_files_statistics(self) -> None:
        """A page in the midst of a write says so: its sequence is odd."""
        torn = 0
        for path in self.states("refill", 57000, False, HAKMEM_STATS_FILE=f"{self.folder}/stats"):
            try:
                self.assertGreater(len(page_of(path.read_bytes(), path.name).rows), 80)
            except Torn:
                torn += 1
        print(f"{torn} in the midst of a write", flush=True)

    def test_files_counters(self) -> None:
        settings = {"HAKMEM_COUNTERS_FILE": f"{self.folder}/counters", "HAKMEM_COUNT_CALLS": "on"}
        seen = [parse_counts(path.read_bytes())["alloc_magazine"] for path in self.states("refill", 13000, **settings)]
        self.assertGreater(min(seen), 0)

    def test_files_table_of_samples(self) -> None:
        settings = {"HAKMEM_PROFILE_TABLE": f"{self.folder}/heap", "HAKMEM_PROFILE_BYTES": "256"}
        for path in self.states("refill", 34000, **settings):
            table = table_of(path.read_bytes())
            self.assertLessEqual(lost_rows(table), 1)

    @unittest.skipIf(EVERY == 0, "130,000 boundaries")
    def test_files_policy(self) -> None:
        """The file is the old or the new policy, whole; beside it there may be a draft."""
        learning = {"HAKMEM_MODE": "evolving", "HAKMEM_LAB_LEARN_KEEP": "on"}
        settings = learning | {"HAKMEM_POLICY_FILE": f"{self.folder}/policy"}
        found = [path for path in self.states("save", 120000, False, **settings) if path.name.endswith("policy")]
        self.assertGreater(len(found), 1)
        for path in found:
            self.assertGreater(len(policy_of(path.read_bytes(), path.name).rows), 0)


if __name__ == "__main__":
    unittest.main()
