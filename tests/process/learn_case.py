# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the tests of learning share: costs that make keeping worth nothing or much; a run that says what it learnt."""

import struct
import tempfile
from pathlib import Path

from process_case import ProcessCase, Result, page_cost, program, run

# Off by default, as they pay in no real program.
LEARNERS = {f"HAKMEM_LAB_LEARN_{name}": "on" for name in ("KEEP", "KINDS", "CACHES", "CLASS")}
# 40 ms for 2 MiB at the price of 640,000: (300 + 512 * 100) ns * 1000 * 256 / 512 / 640000.
CHEAP = LEARNERS | {"HAKMEM_LAB_COST_CALL": "300", "HAKMEM_LAB_COST_PAGE": page_cost(100), "HAKMEM_LAB_COST_MOVE": "40"}
# And 4 s.
DEAR = LEARNERS | {"HAKMEM_LAB_COST_CALL": "300", "HAKMEM_LAB_COST_PAGE": page_cost(10000), "HAKMEM_LAB_COST_MOVE": "40"}
PERIODS = "12"
LEARN_CLASS = {"HAKMEM_MODE": "evolving", "HAKMEM_LAB_LEARN_CLASS": "on"}
# What the baseline keeps unproved in a process of one thread; what a process grows by besides.
UNPROVED_MIB = 4
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
