"""What is learnt in whole processes, written down, kept for the next run, and refused where it is damaged.

Run with the variables of process_case.py set. Costs are told, so that break-even is shorter than any rest: then nothing
that waits is worth keeping, and the learner says so. No test asserts a time.
"""

import os
import random
import re
import resource
import struct
import tempfile
import unittest
from pathlib import Path

from process_case import ProcessCase, Result, limit, program, run

# 40 ms for 2 MiB at the price of 640,000: (300 + 512 * 100) ns * 1000 * 256 / 512 / 640000.
CHEAP = {"HAKMEM_COST_CALL": "300", "HAKMEM_COST_PAGE": "100", "HAKMEM_COST_MOVE": "40"}
# And 4 s.
DEAR = {"HAKMEM_COST_CALL": "300", "HAKMEM_COST_PAGE": "10000", "HAKMEM_COST_MOVE": "40"}
PERIODS = "12"
# What the baseline keeps unproved; what a process grows by besides.
UNPROVED_MIB = 8
LITTLE_MIB = 2
HEADER = struct.Struct("<8sIIQ")


def sum_of(text: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def sealed(lines: list[str]) -> str:
    """The lines of a policy, with the end line that belongs to them."""
    body = "".join(line + "\n" for line in lines)
    return f"{body}end {len(lines)} {sum_of(body.encode()):016x}\n"


class LearnCase(ProcessCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.policy = self.folder / "policy"

    def learner(self, *arguments: str, costs: dict[str, str] = CHEAP, **settings: str) -> tuple[int, int, int]:
        result = run(program("learner"), *arguments, **(costs | settings))
        self.expect_quiet_success(result)
        left, waits, decisions = (int(word) for word in result.stdout.split())
        return left, waits, decisions

    def learn(self) -> list[str]:
        """The policy of a run, without its end."""
        self.learner(PERIODS, HAKMEM_MODE="evolving", HAKMEM_POLICY_FILE=str(self.policy))
        return self.policy.read_text().splitlines()[:-1]

    def frozen(self, periods: str = "1", mode: str = "frozen") -> Result:
        return run(program("learner"), periods, HAKMEM_MODE=mode, HAKMEM_POLICY_FILE=str(self.policy), **CHEAP)


class Learning(LearnCase):
    def test_the_baseline_learns_nothing(self) -> None:
        for mode in ("off", "baseline"):
            left, waits, _ = self.learner(PERIODS, HAKMEM_MODE=mode)
            self.assertEqual(waits, 0)
            self.assertGreaterEqual(left, UNPROVED_MIB - LITTLE_MIB)

    def test_what_is_not_worth_keeping_goes(self) -> None:
        left, waits, decisions = self.learner(PERIODS, HAKMEM_MODE="evolving")
        self.assertLessEqual(left, LITTLE_MIB)
        self.assertGreater(waits, 10)
        self.assertGreater(decisions, 0)

    def test_what_is_worth_keeping_stays(self) -> None:
        left, waits, _ = self.learner(PERIODS, costs=DEAR, HAKMEM_MODE="evolving")
        self.assertGreater(left, UNPROVED_MIB)
        self.assertGreater(waits, 10)

    def test_a_shadow_decides_and_does_nothing(self) -> None:
        left, _, decisions = self.learner(PERIODS, HAKMEM_MODE="shadow")
        self.assertGreaterEqual(left, UNPROVED_MIB - LITTLE_MIB)
        self.assertGreater(decisions, 0)

    def test_the_mode_changes_while_it_runs(self) -> None:
        left, _, decisions = self.learner(PERIODS, "evolving", "3", HAKMEM_MODE="baseline")
        self.assertLessEqual(left, LITTLE_MIB)
        self.assertGreater(decisions, 0)
        left, _, _ = self.learner(PERIODS, "baseline", "10", HAKMEM_MODE="evolving")
        self.assertGreaterEqual(left, UNPROVED_MIB - LITTLE_MIB)
        left, _, _ = self.learner(PERIODS, "frozen", "8", HAKMEM_MODE="evolving")
        self.assertLessEqual(left, LITTLE_MIB)

    def test_any_price(self) -> None:
        for price in ("0", "1000000000000"):
            self.learner("4", HAKMEM_MODE="evolving", HAKMEM_PRICE=price)

    def test_decisions_are_in_the_file(self) -> None:
        _, _, decisions = self.learner(PERIODS, HAKMEM_MODE="shadow", HAKMEM_DECISIONS_FILE=str(self.folder / "d"))
        (file,) = self.folder.glob("d.*")
        data = file.read_bytes()
        magic, rows, row_bytes, count = HEADER.unpack_from(data)
        self.assertEqual((magic, rows, count), (b"HAKDEC01", 512, decisions))
        self.assertIn(b"process_learner", data[HEADER.size + rows * row_bytes :])

    def test_a_child_writes_into_no_file_of_its_parent(self) -> None:
        settings = {"HAKMEM_DECISIONS_FILE": str(self.folder / "d"), "HAKMEM_POLICY_FILE": str(self.policy)}
        left, _, _ = self.learner(PERIODS, "fork", HAKMEM_MODE="evolving", **settings)
        self.assertLessEqual(left, LITTLE_MIB, "a child knows what its parent learnt")
        self.assertTrue(self.policy.exists())
        (file,) = self.folder.glob("d.*")
        self.assertLess(HEADER.unpack_from(file.read_bytes())[3], 10)

    def test_a_folder_that_is_not_there(self) -> None:
        gone = str(self.folder / "no" / "x")
        result = run(program("learner"), "1", HAKMEM_MODE="shadow", HAKMEM_DECISIONS_FILE=gone, **CHEAP)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"^hakmem: decisions_file: cannot make .*; what it is for stays in memory\n$")


CHANGES_AT = 94232
CHANGE = struct.Struct("<QQQIIBBBB4x")
WHAT = ("threshold", "slack", "huge", "place", "all")
KINDS = ("dropped", "candidate", "promoted", "rolled_back", "frozen", "alarm")
THRESHOLD_ALONE = {"HAKMEM_LEARN_THRESHOLD": "on", "HAKMEM_LEARN_SLACK": "off"}
# Buffers that go, beside some that stay; in between all stay.
BUFFERS = """
import random
random.seed(1)
kept, lasting = [None] * 8, []
def turn(n):
    for i in range(n):
        kept[random.randrange(8)] = bytearray(random.randrange(270_000, 400_000))
        if i % 50 == 0: lasting.append(bytes(70_000))
turn(180_000)
for i in range(10_000): lasting.append(bytes(70_000))
turn(30_000)
"""


class Tuning(LearnCase):
    """What is learnt for the whole process: decided, tried, frozen, learnt anew, rolled back, and decided anew."""

    def settings(self, mode: str = "evolving") -> dict[str, str]:
        return {
            "HAKMEM_MODE": mode, "HAKMEM_DECISIONS_FILE": str(self.folder / "d"),
            "HAKMEM_WINDOWS_LOG": str(self.folder / "w"),
        }

    def changes(self) -> list[str]:
        """Of the process that wrote, as hak_retune says them."""
        (file,) = self.folder.glob("d.*")
        data = file.read_bytes()
        magic, rows, row_bytes, count = HEADER.unpack_from(data, CHANGES_AT)
        self.assertEqual((magic, rows, row_bytes), (b"HAKCHG01", 512, CHANGE.size))
        self.assertLess(count, rows, "the test reads all of them")
        lines = []
        for n in range(count):
            row = CHANGE.unpack_from(data, CHANGES_AT + HEADER.size + n * row_bytes)
            number, when, window, cost, before, what, kind, old, new = row
            lines.append(f"{number} {when} {window} {WHAT[what]} {KINDS[kind]} {old} {new} {cost} {before}")
        return lines

    def decided_anew(self) -> list[str]:
        (log,) = self.folder.glob("w.*")
        result = run(os.environ["HAK_TEST_RETUNE"], str(log), preload=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.splitlines()

    def kinds(self) -> list[str]:
        return [line.split()[4] for line in self.changes()]

    def tuned(self, *arguments: str) -> Result:
        settings = CHEAP | THRESHOLD_ALONE | self.settings()
        result = run(program("tuned"), *arguments, HAKMEM_PRICE="0", **settings)
        self.expect_quiet_success(result)
        return result

    def test_it_is_frozen_learnt_anew_and_rolled_back(self) -> None:
        promoted, rolled_back, frozen, alarms, windows, changes = map(int, self.tuned().stdout.split())
        self.assertGreaterEqual(min(promoted, rolled_back, frozen, alarms), 1)
        self.assertGreater(windows, 500)
        self.assertEqual(changes, promoted)
        kinds = self.kinds()
        self.assertLess(kinds.index("promoted"), kinds.index("frozen"))
        self.assertLess(kinds.index("frozen"), kinds.index("alarm"))
        self.assertLess(kinds.index("alarm"), kinds.index("rolled_back"))
        self.assertEqual(self.changes(), self.decided_anew())

    def test_a_child_goes_on_with_what_was_learnt(self) -> None:
        self.tuned("fork")
        self.assertEqual(self.changes(), self.decided_anew(), "and writes into no file of its parent")

    def test_a_shadow_changes_nothing(self) -> None:
        settings = CHEAP | THRESHOLD_ALONE | self.settings("shadow")
        self.expect_quiet_success(run(program("tuned"), "shadow", HAKMEM_PRICE="0", **settings))

    def test_python_is_frozen_and_learns_anew(self) -> None:
        alone = {"HAKMEM_LEARN_PLACE": "on"}
        settings = CHEAP | self.settings() | {"PYTHONMALLOC": "malloc"} | alone
        self.expect_quiet_success(run("/usr/bin/python3", "-c", BUFFERS, **settings))
        kinds = self.kinds()
        self.assertIn("frozen", kinds)
        self.assertIn("alarm", kinds[kinds.index("frozen") :])
        self.assertEqual(self.changes(), self.decided_anew())

    def test_a_log_that_is_none(self) -> None:
        for text in (b"", b"HAKWIN01", b"HAKWIN01" + bytes([64]) + bytes(119), b"x" * 200):
            (self.folder / "x").write_bytes(text)
            result = run(os.environ["HAK_TEST_RETUNE"], str(self.folder / "x"), preload=False)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertRegex(result.stderr, r"^hak_retune: .*\n$")


class Policy(LearnCase):
    def expect_complaint(self, pattern: str) -> None:
        result = self.frozen()
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, rf"^hakmem: policy_file: {re.escape(str(self.policy))}{pattern}\n$")

    def test_it_is_known_from_the_beginning(self) -> None:
        self.learn()
        result = self.frozen()
        self.expect_quiet_success(result)
        left, waits, _ = (int(word) for word in result.stdout.split())
        self.assertLessEqual(left, LITTLE_MIB)
        self.assertEqual(waits, 0, "what is frozen does not learn")

    def test_who_learns_goes_on_from_it(self) -> None:
        before = self.learn()
        self.expect_quiet_success(self.frozen(periods="3", mode="evolving"))
        process = [int(line.split()[2]) for line in (before[1], self.policy.read_text().splitlines()[1])]
        self.assertGreater(process[1], process[0], "it remembers more waits")

    def test_sites_are_told_by_module_and_offset(self) -> None:
        lines = self.learn()
        (module,) = [line for line in lines if line.startswith("module")]
        self.assertRegex(module, r"^module [0-9a-f]{40} process_learner$")
        self.assertTrue(any(re.match(r"site 0x[0-9a-f]+ \d+ \d+ 0 ", line) for line in lines), lines)

    def test_who_enters_a_sandbox_writes_it_before(self) -> None:
        self.learner("4", "sandbox", HAKMEM_MODE="evolving", HAKMEM_POLICY_FILE=str(self.policy))
        self.expect_quiet_success(self.frozen())

    def test_none(self) -> None:
        self.expect_complaint(r" cannot be read \(error 2\)")
        self.expect_quiet_success(self.frozen(mode="evolving"))

    def test_a_folder(self) -> None:
        self.policy.mkdir()
        self.expect_complaint(r" cannot be read \(error 21\)")

    def test_a_pipe_stays_one(self) -> None:
        os.mkfifo(self.policy)
        result = self.frozen(periods="3", mode="shadow")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"^hakmem: policy_file: .* cannot be written \(error 22\)\n$")
        self.assertTrue(self.policy.is_fifo())

    def test_who_may_write_no_file_goes_on(self) -> None:
        settings = CHEAP | {"HAKMEM_MODE": "shadow", "HAKMEM_POLICY_FILE": str(self.policy)}
        result = run(program("learner"), "3", before=limit(resource.RLIMIT_FSIZE, 0), **settings)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"^hakmem: policy_file: .* cannot be written \(error 27\)\n$")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_stale(self) -> None:
        lines = [re.sub("^module [0-9a-f]{4}", "module 0000", line) for line in self.learn()]
        self.policy.write_text(sealed(lines))
        self.expect_complaint(r": \d+ of its \d+ rows ignored: their modules were built anew")

    def test_foreign(self) -> None:
        lines = [re.sub("^module .*", "module 00ff other", line) for line in self.learn()]
        self.policy.write_text(sealed(lines))
        self.expect_complaint(r": \d+ of its \d+ rows ignored: no module of theirs is loaded")

    def test_no_site_of_a_module_without_build_id_is_taken_for_another(self) -> None:
        lines = [re.sub("^module .*", "module - process_learner", line) for line in self.learn()]
        self.policy.write_text(sealed(lines))
        self.expect_complaint(r": \d+ of its \d+ rows ignored: their modules were built anew")

    def test_damaged(self) -> None:
        good = "\n".join(self.learn()) + "\n"
        whole = sealed(good.splitlines())
        short = ("", "\n", "hakmem-policy 2\n", "\0" * 9)
        for damaged in (*short, good, whole + "\n", whole[:-2], whole[:-1], "x" * 100000):
            self.policy.write_text(damaged)
            self.expect_complaint(r" ignored: line \d+ is not as it was written")

    def test_any_byte_that_changes_is_found(self) -> None:
        self.learn()
        whole = self.policy.read_bytes()
        dice = random.Random(1)
        for _ in range(40):
            at = dice.randrange(len(whole))
            self.policy.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << dice.randrange(8)]) + whole[at + 1 :])
            self.expect_complaint(r" ignored: line \d+ is not as it was written")

    def test_numbers_that_no_row_has(self) -> None:
        first = "hakmem-policy 1"
        row = " 512 1 2 3 4 5 6 7 8"
        paid = "1 2 3 4 5 6 7"
        for line in (
            *(f"process 5 {weight} {paid} 8" for weight in (0, 32769)),
            *(f"process 5 512 {paid} {most}" for most in (83886081, 10**23)),
            *(f"process {fields}" for fields in (f"8{row}", f"5{row} 9", f" 5{row}", f"-5{row}")),
            f"bin 128 5{row}",
            f"site 0x12 0 27 5{row}",
            *(f"module {fields}" for fields in ("0g x", "0 x", "00", "00 ", " x")),
        ):
            self.policy.write_text(sealed([first, line]))
            self.expect_complaint(" ignored: line 2 is not as it was written")

    def test_a_disk_that_takes_nothing_keeps_the_old_one(self) -> None:
        self.policy.write_text("old")
        os.chmod(self.folder, 0o500)
        self.addCleanup(os.chmod, self.folder, 0o700)
        if os.access(self.folder, os.W_OK):
            self.policy = Path("/proc/self/policy")
        result = self.frozen(periods="3", mode="shadow")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"^hakmem: policy_file: .* cannot be written \(error \d+\)\n$")


if __name__ == "__main__":
    unittest.main()
