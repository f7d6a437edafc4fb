# SPDX-License-Identifier: MIT OR Apache-2.0
"""All runs of a program that are shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from hakmem.process.peers import Allocator
from hakmem.running.service import Manner
from hakmem.running.trial import Trial


@dataclass
class Trials:
    """By allocator, in their order; and why there are none of one."""

    program: str
    manner: Manner
    allocators: list[Allocator]
    runs: dict[str, list[Trial]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def typical(self, name: str) -> Trial:
        """The one whose memory over time is in the middle."""
        ordered = sorted(self.runs[name], key=lambda trial: trial.curve.mean)
        return ordered[(len(ordered) - 1) // 2]

    def drop_failed(self) -> None:
        """What ran well before is dropped, too."""
        self.allocators = [one for one in self.allocators if one.name not in self.failed]
        self.runs = {one.name: self.runs[one.name] for one in self.allocators}
