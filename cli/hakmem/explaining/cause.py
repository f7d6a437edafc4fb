# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a row of `hakmem explain` is made of, and what its reasons and changes are told with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from hakmem.base.figures import bytes_text
from hakmem.explaining.holders import Estimate
from hakmem.explaining.limits import value_text
from hakmem.explaining.look import Look
from hakmem.reading.estimate import range_text, samples_text
from hakmem.reading.start_line import start_line

ROWS = 3  # of a list that could be long
TRIM = "malloc_trim(0) in the program (or hak_trim(0))"


class Change(NamedTuple):
    text: str
    bytes: int  # that it would bring
    at_most: bool = False


class Cause(NamedTuple):
    part: str
    title: str
    reasons: Callable[[Look], Iterator[str]]
    changes: Callable[[Look], Iterator[Change]]


def size_of(look: Look, part: str) -> int:
    return look.parts.bytes.get(part, 0)


def setting_text(look: Look, name: str) -> str:
    return f"{name}={value_text(name, look.settings[name])}"


def estimate_text(look: Look, size: Estimate) -> str:
    if look.period <= 1:  # each block is in it
        return bytes_text(size.bytes)
    text = f"≈ {bytes_text(size.bytes)} ({range_text(size.low, size.high)}), from {samples_text(size.samples)}"
    return f"{text}: a hint, no more" if size.is_hint else text


def stacks_command(look: Look) -> str:
    """What starts it again with stacks of its blocks."""
    return start_line(look.pid)


def age_text(seconds: float) -> str:
    return f"{seconds:,.1f} s" if seconds < 10 else f"{seconds:,.0f} s"


def class_text(look: Look, number: int) -> str:
    return f"class {look.heap.classes[number].bytes:,} B"
