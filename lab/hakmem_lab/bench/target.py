# SPDX-License-Identifier: MIT OR Apache-2.0
"""One line of what HAKMEM is meant to reach, with what was measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    text: str
    measured: str
    goal: str
    met: bool
    detail: str = ""
