# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which allocator is best for what, in one sentence that claims no difference that the runs do not show.

Two allocators differ where all runs of one need less than each run of the other, their medians lie 2 % apart or more,
and each has 4 runs or more: of the 70 orders of 4 and 4 runs that are alike, 2 keep the allocators apart (3 %).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

RUNS_LEAST = 4
RATIO_LEAST = 1.02
Values = Mapping[str, Sequence[float]]  # of each run, by allocator


class Measure(NamedTuple):
    """A column of the table: less is better."""

    heading: str
    words: str  # in the sentence: "CPU time"
    unit: str
    values: Values
    text: Callable[[float], str]


def differ(less: Sequence[float], more: Sequence[float]) -> bool:
    enough = min(len(less), len(more)) >= RUNS_LEAST
    return enough and max(less) < min(more) and median(more) >= RATIO_LEAST * median(less)


def best(values: Values) -> list[str]:
    """The allocator that needs least, and those that the runs cannot tell apart from it."""
    order = sorted(values, key=lambda name: median(values[name]))
    return [order[0], *(name for name in order[1:] if not differ(values[order[0]], values[name]))]


def range_text(measure: Measure, names: Sequence[str]) -> str:
    """Of their medians."""
    medians = [median(measure.values[name]) for name in names]
    least, most = measure.text(min(medians)), measure.text(max(medians))
    return least if least == most else f"{least} to {most}"


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def clause(measure: Measure) -> str:
    first = best(measure.values)
    rest = [name for name in measure.values if name not in first]
    if not rest:
        return f"{measure.words}: no difference"
    if len(first) > 1:
        need = "needs" if len(rest) == 1 else "need"
        return f"{measure.words}: no single best, but {listed(rest)} {need} more than {first[0]}"
    others = rest[0] if len(rest) == 1 else "others"
    figures = f"{range_text(measure, first)} {measure.unit}; {others} {range_text(measure, rest)}"
    return f"least {measure.words}: {first[0]} ({figures})"


def sentence(measures: Sequence[Measure]) -> str:
    runs = min(len(values) for values in measures[0].values.values())
    if len(measures[0].values) < 2:
        return "There is nothing to compare with."
    if runs < RUNS_LEAST:
        return f"Which is best is not said of fewer than {RUNS_LEAST} runs each."
    text = "; ".join(map(clause, measures))
    return f"{text[0].upper()}{text[1:]}."
