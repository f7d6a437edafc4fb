# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a row of `hakmem explain` is made of, and what its reasons and changes are told with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hakmem.base.figures import bytes_text
from hakmem.explaining.holders import Estimate
from hakmem.explaining.limits import value_text
from hakmem.explaining.look import Look
from hakmem.process.executable import MUSL
from hakmem.reading.estimate import range_text, samples_text

ROWS = 3  # of a list that could be long
STACKS_COMMAND = "hakmem exec --profile -- PROGRAM"
STACKS_OF_MUSL = "hakmem exec --set profile=on -- PROGRAM"  # --profile watches by programs of glibc
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
    if look.settings["profile_bytes"] <= 1:  # each block is in it
        return bytes_text(size.bytes)
    text = f"≈ {bytes_text(size.bytes)} ({range_text(size.low, size.high)}), from {samples_text(size.samples)}"
    return f"{text}: a hint, no more" if size.is_hint else text


def is_of_musl(look: Look) -> bool:
    """By the file of its libc, which is its dynamic linker, too."""
    names = {os.path.basename(each.path) for each in look.modules}
    return any(name == "libc.so" or name.startswith(MUSL) for name in names)


def stacks_command(look: Look) -> str:
    """What starts such a program with stacks of its blocks."""
    return STACKS_OF_MUSL if is_of_musl(look) else STACKS_COMMAND


def age_text(seconds: float) -> str:
    return f"{seconds:,.1f} s" if seconds < 10 else f"{seconds:,.0f} s"


def class_text(look: Look, number: int) -> str:
    return f"class {look.heap.classes[number].bytes:,} B"
