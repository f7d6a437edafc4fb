# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows of learners in a policy: a word and numbers within bounds, as src/learn/rows.c has them, and what they say.

    kind runs|slabs ARM WAITS P0 .. P7         keep times of free runs and of pages of slabs; `level` of the part of the
    level runs|slabs MIB ARM WAITS P0 .. P7    memory in use that begins with this MiB
    class BYTES WEIGHT                         one more size class; blocks refilled, as sampled
    capacity BYTES LOG LOG EIGHTHS WINDOWS S0 .. S7     log2 of the blocks in a magazine and of the depot's bytes per
                                               thread; costs that both controllers remember (src/learn/ace.h)
    arm threshold|slack|place CODE TRIED       the choice, 0: as the settings say; windows that arms were tried in
    rating RUNG RATING MATCHES RETIRED         of a threshold; 1 << 8 is a point
    pulls slack|place ARM PULLS COST DROPPED   1 << 16 is a pull at the full range
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hakmem.base.figures import counted

if TYPE_CHECKING:
    from rich.table import Table

ARMS = ("0", "1/16", "1/8", "1/4", "1/2", "1", "2", "4")  # times break-even
BREAK_EVEN = ARMS.index("1")
WEIGHT_MOST = 32768
WAIT = 128  # a weight's unit
PAID_MOST = 1342177280
FETCH = 1 << 16
POINT, PULL, RATING_START = 1 << 8, 1 << 16, 1500
THRESHOLD_KIB = tuple(512 * units for units in (1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64))  # src/base/arms.c
SLACK = ("as the price says", "0 %", "5 %", "14 %", "28 %", "42 %")
PLACE = ("apart", "off")
TRIED = (0, 1 << 24)
COST = (0, 1 << 40)
FLAG = (0, 1)
ROW = ((0, len(ARMS) - 1), (1, WEIGHT_MOST), *[(0, PAID_MOST)] * len(ARMS))
CLASS_BYTES = (16, 32768)
SUM = (0, (1 << 44) - 1)
Bounds = tuple[tuple[int, int], ...]


def arm_text(arm: int) -> str:
    return "break-even" if arm == BREAK_EVEN else "0" if arm == 0 else f"{ARMS[arm]} ×"


def kib_text(kib: float) -> str:
    return f"{kib / 1024:g} MiB" if kib >= 1024 else f"{kib:g} KiB"


def threshold_of(rung: int) -> str:
    return kib_text(THRESHOLD_KIB[rung])


def keep_text(numbers: tuple[int, ...]) -> str:
    arm, weight, *paid = numbers
    waits = weight / WAIT
    return f"keep time {arm_text(arm)}; {counted(round(waits), 'wait', 'waits')}, {paid[arm] / FETCH / waits:.2f} fetches a wait"


def level_text(numbers: tuple[int, ...]) -> str:
    return f"from {numbers[0]:,} MiB: {keep_text(numbers[1:])}"


def class_text(numbers: tuple[int, ...]) -> str:
    return f"blocks of {numbers[0]:,} B; {numbers[1]:,} blocks refilled for it"


def capacity_text(numbers: tuple[int, ...]) -> str:
    size, magazine, depot, eighths, windows = numbers[:5]
    flush = f", {eighths}/8 of it at a flush" if eighths else ""
    return (f"blocks of {size:,} B: {(1 << magazine) - 1:,} in a magazine{flush}, {kib_text((1 << depot) / 1024)} a thread in "
            f"the depot; {windows:,} windows")


def arm_of(names: tuple[str, ...]) -> Callable[[tuple[int, ...]], str]:
    return lambda numbers: f"{names[numbers[0]]}; tried in {numbers[1]:,} windows"


def rating_text(numbers: tuple[int, ...]) -> str:
    rung, rating, matches, retired = numbers
    return f"{threshold_of(rung)}: {rating / POINT:.0f} points, {matches:,} matches{', retired' * retired}"


def pulls_of(names: tuple[str, ...]) -> Callable[[tuple[int, ...]], str]:
    def text(numbers: tuple[int, ...]) -> str:
        arm, pulls, cost, dropped = numbers
        mean = f", mean cost {cost / PULL / pulls:.3f} of the range" if pulls else ""
        return f"{names[arm]}: {pulls:,} pulls{mean}{', dropped' * dropped}"

    return text


@dataclass(frozen=True)
class Kind:
    title: str
    bounds: Bounds
    text: Callable[[tuple[int, ...]], str]


THRESHOLDS = ("as set", *(threshold_of(rung) for rung in range(len(THRESHOLD_KIB))))
KINDS: dict[str, Kind] = {
    "kind runs": Kind("free runs", ROW, keep_text),
    "kind slabs": Kind("pages of slabs", ROW, keep_text),
    "level runs": Kind("free runs", ((0, (64 << 20) - 1), *ROW), level_text),
    "level slabs": Kind("pages of slabs", ((0, (64 << 20) - 1), *ROW), level_text),
    "class": Kind("size class", (CLASS_BYTES, (1, 1 << 30)), class_text),
    "capacity": Kind("capacity", (CLASS_BYTES, (3, 10), (13, 20), (0, 6), (1, (1 << 16) - 1), *[SUM] * 8), capacity_text),
    "arm threshold": Kind("threshold of big blocks", ((0, len(THRESHOLD_KIB)), TRIED), arm_of(THRESHOLDS)),
    "arm slack": Kind("misfit share", ((0, len(SLACK) - 1), TRIED), arm_of(SLACK)),
    "arm place": Kind("place of lasting runs", (FLAG, TRIED), arm_of(PLACE)),
    "rating": Kind("threshold's rating", ((0, len(THRESHOLD_KIB) - 1), (0, 2 * RATING_START * POINT), TRIED, FLAG), rating_text),
    "pulls slack": Kind("misfit share's pulls", ((0, len(SLACK) - 1), TRIED, COST, FLAG), pulls_of(SLACK)),
    "pulls place": Kind("place's pulls", (FLAG, TRIED, COST, FLAG), pulls_of(PLACE)),
}


@dataclass(frozen=True)
class Learnt:
    """A row of a learner."""

    kind: str
    numbers: tuple[int, ...]

    @property
    def text(self) -> str:
        return KINDS[self.kind].text(self.numbers)


def kind_of(line: str) -> str | None:
    """The word or words that begin the line; None: no learner's."""
    return next((kind for kind in KINDS if line.startswith(f"{kind} ")), None)


def lines_of(rows: list[Learnt]) -> Iterator[tuple[str, str]]:
    for row in rows:
        yield KINDS[row.kind].title, row.text


def table_of_learners(rows: list[Learnt]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("learner", no_wrap=True)
    table.add_column("learnt", overflow="fold")
    for title, text in lines_of(rows):
        table.add_row(title, text)
    return table
