# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables of `hakmem-lab judge report`, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import GLIBC, HAKMEM
from hakmem_lab.judge import verdict
from hakmem_lab.judge.rows import Row, read
from hakmem_lab.judge.verdict import Duel, Runs, against, least_cpu, middle


def report(file: Path) -> int:
    rows = read(file)
    if not rows:
        raise Refusal(f"{file}: no run that ended well")
    for regime in dict.fromkeys(row.regime for row in rows):
        print("\n".join(lines_of(rows, regime)))
    return 0


def lines_of(rows: list[Row], regime: str) -> Iterator[str]:
    runs = verdict.runs_of(rows, regime)
    ours = names_of(rows, regime, hakmem=True)
    peers = names_of(rows, regime, hakmem=False)
    rounds = max(row.round for row in rows if row.regime == regime)
    yield f"## {regime}: {len(runs)} programs, {rounds} rounds\n"
    yield from means(runs, ours + peers)
    yield ""
    yield from programs(runs, ours + peers)
    yield ""
    for name in ours:
        yield from judged(name, verdict.duels(runs, name, peers))
    yield from differing(runs)


def names_of(rows: list[Row], regime: str, hakmem: bool) -> list[str]:
    """A library that is built as HAKMEM's peer under another name, such as a copy, counts as HAKMEM by its name."""
    found = dict.fromkeys(row.configuration for row in rows if row.regime == regime
                          and (row.allocator == HAKMEM or row.allocator.startswith(f"{HAKMEM}-")) == hakmem)
    return list(found)


def means(runs: Runs, names: list[str]) -> Iterator[str]:
    yield "| ÷ glibc | " + " | ".join(names) + " |"
    yield "|---|" + "---:|" * len(names)
    for what, figure in (("CPU", least_cpu), ("peak RSS", peak), ("faults", faults)):
        yield f"| {what} | " + " | ".join(shown(against(runs, name, GLIBC, figure)) for name in names) + " |"
    sums = [sum(faults(by[name]) for by in runs.values() if name in by) / 1000 for name in names]
    yield "| faults, thousands | " + " | ".join(f"{total:,.0f}" for total in sums) + " |"


def peak(runs: dict[int, Row]) -> float:
    return middle(runs, lambda row: row.peak_kib)


def faults(runs: dict[int, Row]) -> float:
    return middle(runs, lambda row: row.faults)


def programs(runs: Runs, names: list[str]) -> Iterator[str]:
    """CPU time in ms, then peak in MiB, then thousands of faults."""
    yield "| CPU ms, peak MiB, faults k | " + " | ".join(names) + " |"
    yield "|---|" + "---:|" * len(names)
    for program, by in runs.items():
        yield f"| {program} | " + " | ".join(cell(by.get(name)) for name in names) + " |"


def cell(runs: dict[int, Row] | None) -> str:
    if not runs:
        return "–"
    return f"{(least_cpu(runs) or 0) / 1000:,.0f} {peak(runs) / 1024:,.0f} {faults(runs) / 1000:,.1f}"


def judged(name: str, found: list[Duel]) -> Iterator[str]:
    if not found:
        return
    yield (f"{name}: CPU ÷ best peer {shown(verdict.mean(one.ratio for one in found))} over {len(found)} programs; lost: "
           + (", ".join(told(one) for one in found if one.lost) or "none"))
    yield "  by program: " + ", ".join(told(one) for one in sorted(found, key=lambda one: -one.ratio)) + "\n"


def told(one: Duel) -> str:
    span = f" ({one.low:.2f} to {one.high:.2f})" if one.low is not None else ""
    return f"{one.program} {one.ratio:.2f}{span} {one.peer}"


def differing(runs: Runs) -> Iterator[str]:
    """What a program writes is the same on every allocator."""
    for program, by in runs.items():
        if len({row.digest for one in by.values() for row in one.values()}) > 1:
            yield f"{program}: its output differs from run to run"


def shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
