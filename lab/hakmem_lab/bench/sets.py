# SPDX-License-Identifier: MIT OR Apache-2.0
"""The passes by name, and what `--set` stands for beside its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

QUICK_PASSES = ("twin", "time", "latency")
ALL_PASSES = (*QUICK_PASSES, "syscalls", "instructions", "timeline", "limit", "worst")


@dataclass(frozen=True)
class Set:
    seconds: float  # for the repetitions of one process
    passes: tuple[str, ...]
    minutes: Optional[float] = None  # of all


SETS = {
    "quick": Set(0.04, QUICK_PASSES, minutes=5),
    "full": Set(0.2, ALL_PASSES),
    "scaling": Set(0.2, ("twin", "time")),
}
