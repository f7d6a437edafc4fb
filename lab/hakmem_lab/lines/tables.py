# SPDX-License-Identifier: MIT OR Apache-2.0
"""All rows on all allocators, as tables in Markdown, and where HAKMEM is behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Optional

from hakmem.base.console import stderr_console
from hakmem.base.errors import Refusal
from hakmem.process.peers import HAKMEM, Allocator
from hakmem_lab.bench.progress import Progress
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


def count_all(built: Built, rows: list[Row], allocators: list[Allocator], calls: int) -> int:
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
    print("\n".join(lines_of(rows, names, found)))
    return SOME_FAILED if failed else 0


def lines_of(rows: list[Row], names: list[str], found: Found) -> Iterator[str]:
    for field in fields(Counts):
        yield f"**{'All calls' if field.name == 'longest' else 'A call of malloc or free'}: {TITLES[field.name]}**\n"
        yield "| pattern, threads, turn | " + " | ".join(names) + " |"
        yield "|---|" + "---:|" * len(names)
        for row in rows:
            figures = [shown(found.get((row, name)), field.name) for name in names]
            yield f"| {row.pattern}, {row.threads}, {row.turn} | " + " | ".join(figures) + " |"
        yield ""
        yield from behind(rows, names, found, field.name)


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
            lost.append(f"{row.pattern} {row.threads} ({best})")
    if judged:
        won = f"HAKMEM has the least in {judged - len(lost)} of {judged} rows"
        yield f"{won}; more than the best peer in: {', '.join(lost) or 'none'}\n"
