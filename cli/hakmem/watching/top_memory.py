# SPDX-License-Identifier: MIT OR Apache-2.0
"""The memory section of `hakmem top`: the waterfall (memory.py) as bars, each of which begins where the last one ended.

    live            ██████████████
    holes                         ███
    less never touched         ▒▒▒▒▒▒            to the left: taken off
    HAKMEM          ███████████
    outside                    ████████
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.text import Text

from hakmem.base.figures import bytes_text, unit_of_column
from hakmem.reading.memory import Waterfall
from hakmem.watching.layout import Section

NS_PER_SECOND = 1e9
BLOCKS = "▁▂▃▄▅▆▇█"
LEAST_BAR, MOST_BAR = 4, 100
BESIDE_BAR = 32  # columns: label, figure
STYLES = {
    "live": "green", "waste": "bright_red", "holes": "red", "caches": "cyan", "dirty": "yellow",
    "metadata": "magenta", "untouched": "dim",
}


class Bar(NamedTuple):
    label: str
    bytes: int
    start: int
    style: str


def curve(values: list[int], columns: int) -> str:
    shown = values[-columns:]
    most = max(shown, default=0) or 1
    return "".join(BLOCKS[min(value * len(BLOCKS) // most, len(BLOCKS) - 1)] for value in shown)


def bars_of(memory: Waterfall) -> Iterator[Bar]:
    at = 0
    for part in memory.parts:
        yield Bar(part.label, part.bytes, min(at, at + part.bytes), STYLES.get(part.name, "white"))
        at += part.bytes
    yield Bar("HAKMEM", memory.mine, 0, "blue")
    yield Bar("outside", memory.outside, memory.mine, "white")
    yield Bar("in huge pages", min(memory.huge, memory.mine), 0, "dim")


def drawn(bar: Bar, whole: int, columns: int) -> Text:
    """What is there, but is no column long, is a line."""
    first, end = (min(columns, round(columns * at / whole)) for at in (bar.start, bar.start + abs(bar.bytes)))
    mark = "▒" if bar.bytes < 0 else "█"
    body = mark * (end - first) if end > first or bar.bytes == 0 else "▏"
    first = min(first, columns - len(body))
    rest = columns - first - len(body)
    return Text.assemble(("·" * first, "dim"), (body, bar.style), ("·" * rest, "dim"))


def facts_text(memory: Waterfall) -> str:
    facts = [f"resident by {memory.by}", f"counters {memory.age_ns / NS_PER_SECOND:,.1f} s old"]
    if memory.error > 0:
        facts.append(f"the sum is {100 * memory.error:.1f} % short")
    if memory.left_out:
        facts.append(f"{bytes_text(memory.left_out)} not listed")
    return "; ".join(facts)


def memory_section(memory: Waterfall, residents: list[int], columns: int) -> Section:
    width = max(LEAST_BAR, min(MOST_BAR, columns - BESIDE_BAR))
    whole = max(memory.rss, sum(part.bytes for part in memory.parts if part.bytes > 0), 1)
    unit, size = unit_of_column(whole)
    rows = [("resident (kernel)", f"{memory.rss / size:,.1f}", Text(curve(residents, width)))]
    rows += [(bar.label, f"{abs(bar.bytes) / size:,.1f}", drawn(bar, whole, width)) for bar in bars_of(memory)]
    return Section("memory", list(rows), ("memory", unit, ""), "lrl")
