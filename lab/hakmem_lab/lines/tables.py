# SPDX-License-Identifier: MIT OR Apache-2.0
"""All rows on all allocators, as tables in Markdown, and where HAKMEM is behind.

Of several turns the tables by allocator show the middle one; a last table has HAKMEM and the best peer in all of them, and
the CSV has everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Optional

from hakmem.base.console import stderr_console
from hakmem.base.errors import Refusal
from hakmem.process.peers import HAKMEM, Allocator
from hakmem_lab.bench.progress import Progress
from hakmem_lab.csv_rows import append_rows
from hakmem_lab.lines.building import Built
from hakmem_lab.lines.counting import Counts, Row, count

Found = dict[tuple[Row, str], Optional[Counts]]
SOME_FAILED = 1
DIGITS = {"instructions": 1, "longest": 0}  # behind the point
TITLES = {
    "instructions": "instructions", "locked": "locked instructions", "locks": "locks taken",
    "stores": "stores to a line that another thread wrote last",
    "loads": "first loads of a line that another thread wrote last",
    "longest": "the most instructions for which a lock is held, without the kernel's",
}


@dataclass(frozen=True)
class Line(Counts, Row):
    """Of the CSV."""

    allocator: str


def count_all(built: Built, rows: list[Row], allocators: list[Allocator], calls: int, csv: Path | None = None) -> int:
    """The exit status. An allocator that failed in a row is not tried in the next ones."""
    found: Found = {}
    failed: set[str] = set()
    with Progress(stderr_console()) as progress:
        progress.begin("lines", len(rows) * len(allocators))
        for row in rows:
            for allocator in allocators:
                progress.step(f"{row.pattern}, {row.threads} threads, turns of {row.turn}, on {allocator.name}")
                if allocator.name in failed:
                    continue
                try:
                    found[row, allocator.name] = count(built, row, allocator, calls)
                except Refusal as refusal:
                    failed.add(allocator.name)
                    progress.say(f"hakmem: {allocator.name}: {row.pattern}: {refusal}")
    names = [allocator.name for allocator in allocators]
    if csv:
        append_rows(csv, Line, (Line(**asdict(row), **asdict(counts), allocator=name)
                                for (row, name), counts in found.items() if counts))
    print("\n".join(lines_of(rows, names, found)))
    return SOME_FAILED if failed else 0


def lines_of(rows: list[Row], names: list[str], found: Found) -> Iterator[str]:
    turns = sorted({row.turn for row in rows})
    middle = turns[len(turns) // 2]
    for field in fields(Counts):
        yield f"**{'All calls' if field.name == 'longest' else 'A call of malloc or free'}: {TITLES[field.name]}**\n"
        yield f"| pattern, threads; turns of {middle} | " + " | ".join(names) + " |"
        yield "|---|" + "---:|" * len(names)
        for row in rows:
            if row.turn == middle:
                figures = [shown(found.get((row, name)), field.name) for name in names]
                yield f"| {row.pattern}, {row.threads} | " + " | ".join(figures) + " |"
        yield ""
        yield from behind(rows, names, found, field.name)
    if len(turns) > 1:
        yield from by_turns(rows, turns, names, found)


BY_TURNS = ("instructions", "locked", "stores")


def by_turns(rows: list[Row], turns: list[int], names: list[str], found: Found) -> Iterator[str]:
    yield f"**Turns of {', '.join(map(str, turns))}**: HAKMEM, then the best peer of each\n"
    yield "| pattern, threads | " + " | ".join(f"{field} | best" for field in BY_TURNS) + " |"
    yield "|---|" + "---:|" * (2 * len(BY_TURNS))
    for pattern, threads in dict.fromkeys((row.pattern, row.threads) for row in rows):
        cells = []
        for field in BY_TURNS:
            both = [ours_and_best(Row(pattern, threads, turn), names, found, field) for turn in turns]
            cells += [", ".join(shown(counts, field) for counts in side) for side in zip(*both)]
        yield f"| {pattern}, {threads} | " + " | ".join(cells) + " |"
    yield ""


def ours_and_best(row: Row, names: list[str], found: Found, field: str) -> tuple[Counts | None, Counts | None]:
    peers = [counts for name in names if name != HAKMEM and (counts := found.get((row, name)))]
    return found.get((row, HAKMEM)), min(peers, key=lambda counts: float(getattr(counts, field)), default=None)


def shown(counts: Counts | None, field: str) -> str:
    if counts is None:
        return "–"
    value = getattr(counts, field)
    return f"{value:,.{DIGITS.get(field, 3)}f}"


def behind(rows: list[Row], names: list[str], found: Found, field: str) -> Iterator[str]:
    """In how many rows HAKMEM has no more than the best peer."""
    lost, judged = [], 0
    for row in rows:
        ours = found.get((row, HAKMEM))
        peers = {name: getattr(counts, field) for name in names
                 if name != HAKMEM and (counts := found.get((row, name)))}
        if ours is None or not peers:
            continue
        judged += 1
        best = min(peers, key=peers.__getitem__)
        if getattr(ours, field) > peers[best] + 0.0005:
            lost.append(f"{row.pattern} {row.threads} by {row.turn} ({best})")
    if judged:
        won = f"HAKMEM has the least in {judged - len(lost)} of {judged} rows"
        yield f"{won}; more than the best peer in: {', '.join(lost) or 'none'}\n"
