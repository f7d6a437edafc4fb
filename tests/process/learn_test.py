# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is learnt in whole processes, of big blocks, of runs and slabs, and of what the controller tries.

Run with the variables of process_case.py set. Costs are told, so that break-even is shorter than any rest: then nothing
that waits is worth keeping, and the learner says so. No test asserts a time.
"""

import os
import random
import struct
import unittest

from learn_case import CHEAP, DEAR, HEADER, LearnCase, LITTLE_MIB, PERIODS, UNPROVED_MIB
from process_case import program, Result, run

CHANGES_AT = 94232
CHANGE = struct.Struct("<QQQIIBBBB4x")
WHAT = ("threshold", "slack", "place", "all")
KINDS = ("dropped", "candidate", "promoted", "rolled_back", "frozen", "alarm")
THRESHOLD_ALONE = {"HAKMEM_LAB_LEARN_THRESHOLD": "on", "HAKMEM_LAB_LEARN_SLACK": "off"}
NO_OTHERS = {f"HAKMEM_LAB_LEARN_{name}": "off" for name in ("CACHES", "CLASS", "KINDS")}
# Buffers that go, beside some that stay; in between all stay.
STAYING = """
import random
random.seed(1)
kept, lasting = [None] * 8, []
def turn(n):
    for i in range(n):
        kept[random.randrange(8)] = bytearray(random.randrange(540_000, 800_000))
        if i % 50 == 0: lasting.append(bytes(600_000))
turn(180_000)
for n in range(12):
    lasting.clear()
    for i in range(2_000): lasting.append(bytes(600_000))
turn(30_000)
"""


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
        self.assertRegex(result.stderr, r"^hakmem: decisions_file: cannot make .*; the data stays in memory only\n$")


class Kinds(LearnCase):
    """Runs of 256 KiB, and slabs of 500 B, of a program with a helper."""

    BYTES = ("262144", "500")
    KEPT_MIB = 40  # of 64
    LITTLE_MIB = 12

    def kinds(self, *arguments: str, costs: dict[str, str] = CHEAP, **settings: str) -> tuple[int, ...]:
        result = run(program("kinds"), *arguments, **(costs | settings))
        self.expect_quiet_success(result)
        return tuple(int(word) for word in result.stdout.split())

    def test_what_is_worth_keeping_stays_and_goes_when_the_program_stops(self) -> None:
        for block in self.BYTES:
            rest, left, waits, _ = self.kinds(block, PERIODS, costs=DEAR, HAKMEM_MODE="evolving")
            self.assertGreater(rest, self.KEPT_MIB)
            self.assertLessEqual(left, self.LITTLE_MIB)
            self.assertGreater(waits, 0)

    def test_what_is_not_goes_at_once(self) -> None:
        for block in self.BYTES:
            rest, left, waits, decisions = self.kinds(block, "30", HAKMEM_MODE="evolving")
            self.assertLessEqual(rest, self.LITTLE_MIB)
            self.assertLessEqual(left, self.LITTLE_MIB)
            self.assertGreater(waits, 0)
            self.assertGreater(decisions, 0)

    def test_the_baseline_learns_nothing_and_no_kind_does_where_it_is_off(self) -> None:
        for settings in ({"HAKMEM_MODE": "baseline"}, {"HAKMEM_MODE": "evolving", "HAKMEM_LAB_LEARN_KINDS": "off"}):
            _, left, waits, _ = self.kinds(self.BYTES[0], PERIODS, costs=CHEAP, **settings)
            self.assertEqual(waits, 0)
            self.assertLessEqual(left, self.LITTLE_MIB)

    def test_the_mode_changes_while_it_runs(self) -> None:
        for mode, first in (("evolving", "baseline"), ("baseline", "evolving"), ("shadow", "evolving")):
            _, left, waits, _ = self.kinds(self.BYTES[0], PERIODS, mode, "4", HAKMEM_MODE=first)
            self.assertGreater(waits, 0)
            self.assertLessEqual(left, self.LITTLE_MIB)

    def test_a_child_goes_on(self) -> None:
        for block in self.BYTES:
            rest, left, waits, _ = self.kinds(block, "30", "fork", HAKMEM_MODE="evolving")
            self.assertLessEqual(left, self.LITTLE_MIB)
            self.assertGreater(waits, 0)

    def test_what_may_stay_goes_beside_a_thread_that_came_late(self) -> None:
        """All of it may stay while the program is at work, so that no call sees too much; then no call follows."""
        for mode in ("baseline", "evolving"):
            rest, left, _, _ = self.kinds(self.BYTES[0], PERIODS, "late", costs=DEAR, HAKMEM_MODE=mode)
            self.assertGreater(rest, self.KEPT_MIB)
            self.assertLessEqual(left, self.LITTLE_MIB)

    def test_any_price(self) -> None:
        self.kinds(self.BYTES[1], "4", HAKMEM_MODE="evolving", HAKMEM_PRICE="1000000000000")


class Tuning(LearnCase):
    """What is learnt for the whole process: decided, tried, frozen, learnt anew, rolled back, and decided anew."""

    def settings(self, mode: str = "evolving") -> dict[str, str]:
        return {
            "HAKMEM_MODE": mode, "HAKMEM_DECISIONS_FILE": str(self.folder / "d"),
            "HAKMEM_LAB_LEARN_LOG": str(self.folder / "w"),
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
        (log,) = self.folder.glob("w.*.windows")
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

    def test_what_is_switched_off_does_not_last(self) -> None:
        settings = CHEAP | THRESHOLD_ALONE | NO_OTHERS | self.settings()
        self.expect_quiet_success(run(program("tuned"), "off", HAKMEM_PRICE="0", **settings))

    def test_a_learner_sleeps_where_it_could_save_nothing(self) -> None:
        """A page that costs 1 ns: the bill is below 1 % of the time, and no window is judged, of many."""
        settings = CHEAP | THRESHOLD_ALONE | self.settings() | {"HAKMEM_LAB_COST_PAGE": "1", "HAKMEM_PRICE": "0"}
        result = run(program("tuned"), "computes", **settings)
        self.expect_quiet_success(result)
        self.assertGreater(int(result.stdout), 20)
        (log,) = self.folder.glob("w.*.windows")
        self.assertLess(struct.unpack_from("<Q", log.read_bytes(), 16)[0], int(result.stdout) / 4)

    def test_the_next_run_begins_with_the_arm(self) -> None:
        common = CHEAP | NO_OTHERS | {"HAKMEM_PRICE": "0", "HAKMEM_POLICY_FILE": str(self.policy)}
        settings = common | THRESHOLD_ALONE | self.settings()
        self.expect_quiet_success(run(program("tuned"), **settings))
        rows = [line.split() for line in self.policy.read_text().splitlines()]
        (code,) = [int(row[2]) for row in rows if row[:2] == ["arm", "threshold"]]
        self.assertGreaterEqual(code, 4, "1.5 MiB or more")
        self.assertEqual(sum(row[0] == "rating" for row in rows), 12)
        for mode, learnt in (("evolving", THRESHOLD_ALONE), ("frozen", {})):
            self.expect_quiet_success(run(program("tuned"), "begins", **(common | learnt | {"HAKMEM_MODE": mode})), "1\n")
        for mode in ("evolving", "baseline"):
            self.expect_quiet_success(run(program("tuned"), "begins", **(common | {"HAKMEM_MODE": mode})), "0\n")

    def kinds_of_python(self) -> list[str]:
        """Pages are dear, so that no learner sleeps, however busy the machine is; rent would be of how busy it is."""
        alone = {"HAKMEM_LAB_LEARN_PLACE": "on", "HAKMEM_PRICE": "0"}
        settings = DEAR | self.settings() | {"PYTHONMALLOC": "malloc"} | alone
        for old in self.folder.iterdir():
            old.unlink()
        self.expect_quiet_success(run("/usr/bin/python3", "-c", STAYING, **settings))
        self.assertEqual(self.changes(), self.decided_anew())
        return self.kinds()

    def test_python_is_frozen_and_learns_anew(self) -> None:
        """How many doors a window has is of how busy the machine is, too: one run of four."""
        for _ in range(4):
            kinds = self.kinds_of_python()
            if "frozen" in kinds and "alarm" in kinds[kinds.index("frozen") :]:
                return
        self.fail(f"not frozen and then alarmed: {kinds}")

    def test_a_log_that_is_none(self) -> None:
        for text in (b"", b"HAKWIN02", b"HAKWIN01" + bytes([64]) + bytes(119), b"x" * 200):
            (self.folder / "x").write_bytes(text)
            for options in ((), ("--series",), ("--series", "--series")):
                result = run(os.environ["HAK_TEST_RETUNE"], *options, str(self.folder / "x"), preload=False)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertRegex(result.stderr, r"^hak_retune: .*\n$")


if __name__ == "__main__":
    unittest.main()
