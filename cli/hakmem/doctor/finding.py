# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a question came to."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class State(IntEnum):
    """The worst of all is the exit status; a note asks for nothing."""

    WELL = -2
    NOTE = -1
    CHANGE = 1
    UNSERVED = 2

    @property
    def word(self) -> str:
        return {State.WELL: "ok", State.NOTE: "note", State.CHANGE: "change", State.UNSERVED: "not served"}[self]


class Finding(NamedTuple):
    about: str
    state: State
    found: str
    means: str
    change: str = ""


def status_of(findings: list[Finding]) -> int:
    return max(0, *(each.state for each in findings), 0)
