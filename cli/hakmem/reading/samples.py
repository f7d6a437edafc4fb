# SPDX-License-Identifier: MIT OR Apache-2.0
"""The live sampled blocks of another process, as its tables have them while the setting `profile` is on.

A sample stands for `weight` blocks like it (src/record/profile_samples.h).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from hakmem.reading.table_file import PLACE_FRAME, Place, shown
from hakmem.reading.tables import Changed, Tables, linked

FRAMES_MOST = 32  # of a stack, innermost first
AT_ONCE = 1 << 12  # rows
ROWS_MOST = 1 << 22  # what says more is no table
DENSE_STEPS, DENSE_SAMPLES, DENSE_LEAST = 8, 64, 2048  # src/record/profile_samples.h


class Sample(NamedTuple):
    address: int
    bytes: int  # usable
    asked: int
    weight: float
    taken_ns: int  # of CLOCK_MONOTONIC
    stack: int  # its address: equal stacks have one


def rows(tables: Tables) -> Iterator[bytes]:
    table = tables.field(tables.at["table"], "table_rows")
    if not table:
        return
    stride, count = tables.n["sample_stride"], tables.field(table, "rows_mask") + 1
    if count > ROWS_MOST:
        raise Changed
    for first in range(0, count, AT_ONCE):
        data = tables.memory.read(table + tables.n["rows_row"] + first * stride, min(AT_ONCE, count - first) * stride)
        yield from (data[at:at + stride] for at in range(0, len(data), stride))


def samples_of(tables: Tables) -> list[Sample]:
    names = ("sample_address", "sample_bytes", "sample_asked", "sample_taken_ns", "sample_stack")
    found = []
    for row in rows(tables):
        address, size, asked, taken_ns, stack = (struct.unpack_from("<Q", row, tables.n[name])[0] for name in names)
        weight = struct.unpack_from("<d", row, tables.n["sample_weight"])[0]
        if address and stack and weight >= 1:
            found.append(Sample(address, size, asked, weight, taken_ns, stack))
    return found


def thinned(period: int, taken: int) -> int:
    """Bytes between two samples after so many, if `period` is set: the first ones are dense."""
    return max(min(period, DENSE_LEAST), period >> max(0, DENSE_STEPS - taken // DENSE_SAMPLES))


def period_of(tables: Tables) -> int:
    """Bytes between two samples, at present: no sample has more, unless the setting had."""
    return thinned(tables.setting("profile_bytes"), tables.field(tables.at["table"], "table_taken"))


class Taken(NamedTuple):
    """All blocks that a stack asked for while it was sampled, live or not; estimates."""

    stack: int
    blocks: float
    bytes: float  # usable


def stacks_of(tables: Tables) -> Iterator[Taken]:
    table = tables.field(tables.at["table"], "table_head")
    for first in tables.memory.words(table, tables.n["heads"]) if table else ():
        for stack in linked(first, lambda at: tables.field(at, "stack_next")):
            yield Taken(stack, *struct.unpack("<2d", tables.memory.read(stack + tables.n["stack_taken"], 16)))


def place_at(tables: Tables, frame: int) -> Place:
    """Of a frame that is no address."""
    at, n = frame & ~PLACE_FRAME, tables.n
    sizes = [tables.field(at, name, 2) for name in ("place_name", "place_file")]
    text = tables.memory.read(at + n["place_text"], sum(sizes) + 1)
    return Place(shown(text[:sizes[0]]), shown(text[sizes[0] + 1:]), tables.field(at, "place_line", 4))


def frames_of(tables: Tables, stack: int) -> tuple[int | Place, ...]:
    depth = tables.field(stack, "stack_depth", 4)
    frames = tables.memory.words(stack + tables.n["stack_frame"], min(FRAMES_MOST, depth))
    return tuple(place_at(tables, frame) if frame & PLACE_FRAME else frame for frame in frames)
