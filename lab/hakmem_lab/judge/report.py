# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables of `hakmem-lab judge report`, as Markdown: counts come first, as they repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import GLIBC
from hakmem_lab.judge import verdict
from hakmem_lab.judge.regimes import COUNTED
from hakmem_lab.judge.rows import Row, is_hakmem, read
from hakmem_lab.judge.verdict import Duel, Runs, against, least_cpu, middle

Figure = Callable[[dict[int, Row]], float]
COUNTS: dict[str, Figure] = {
    "instructions": lambda runs: middle(runs, lambda row: row.instructions),
    "misses of the first caches": lambda runs: middle(runs, lambda row: row.first_misses),
    "misses of the last cache": lambda runs: middle(runs, lambda row: row.last_misses),
}


def report(file: Path) -> int:
    rows = read(file)
    if not rows:
        raise Refusal(f"{file}: no run that ended well")
    regimes = list(dict.fromkeys(row.regime for row in rows))
    for regime in sorted(regimes, key=lambda name: name != COUNTED):
        print("\n".join(counted(rows) if regime == COUNTED else timed(rows, regime)))
    return 0


def names_of(rows: list[Row], regime: str, hakmem: bool) -> list[str]:
    found = dict.fromkeys(row.configuration for row in rows
                          if row.regime == regime and is_hakmem(row.allocator) == hakmem)
    return list(found)


# ---- counted ----

def counted(rows: list[Row]) -> Iterator[str]:
    runs = verdict.runs_of(rows, COUNTED)
    ours, peers = names_of(rows, COUNTED, hakmem=True), names_of(rows, COUNTED, hakmem=False)
    yield f"## {COUNTED}: {len(runs)} programs\n"
    yield from means(runs, ours + peers, COUNTS)
    yield ""
    for name in ours:
        yield f"| {name} ÷ fewest | " + " | ".join(COUNTS) + " |"
        yield "|---|" + "---:|" * len(COUNTS)
        for program, by in runs.items():
            if name in by:
                yield f"| {program} | " + " | ".join(fewest(by, name, peers, figure) for figure in COUNTS.values()) + " |"
        yield ""


def fewest(by: dict[str, dict[int, Row]], ours: str, peers: list[str], figure: Figure) -> str:
    """Beside the peer with the least; in brackets its name."""
    known = {peer: figure(by[peer]) for peer in peers if peer in by}
    best = min(known, key=known.__getitem__, default=None)
    if best is None or not known[best]:
        return "–"
    return f"{figure(by[ours]) / known[best]:.3f} ({best})"


# ---- timed ----

def timed(rows: list[Row], regime: str) -> Iterator[str]:
    runs = verdict.runs_of(rows, regime)
    ours, peers = names_of(rows, regime, hakmem=True), names_of(rows, regime, hakmem=False)
    rounds = max(row.round for row in rows if row.regime == regime)
    yield f"## {regime}: {len(runs)} programs, up to {rounds} rounds\n"
    yield "Of the rounds that an allocator and glibc both had; the first run with a policy is among them:\n"
    yield from means(runs, ours + peers, TIMED)
    sums = [sum(faults(by[name]) for by in runs.values() if by.get(name)) / 1000 for name in ours + peers]
    yield "| faults, thousands | " + " | ".join(f"{total:,.0f}" for total in sums) + " |"
    yield ""
    yield from programs(runs, ours + peers)
    yield ""
    for name in ours:
        yield from judged(name, runs, peers)
    yield from differing(runs)


def wall(runs: dict[int, Row]) -> float:
    return middle(runs, lambda row: row.wall_us)


def median_cpu(runs: dict[int, Row]) -> float:
    return middle(runs, lambda row: row.cpu_us)


def peak(runs: dict[int, Row]) -> float:
    return middle(runs, lambda row: row.peak_kib)


def faults(runs: dict[int, Row]) -> float:
    return middle(runs, lambda row: row.faults)


TIMED: dict[str, Figure] = {
    "CPU, least": lambda runs: least_cpu(runs) or 0, "CPU, median": median_cpu, "wall, median": wall,
    "peak RSS": peak, "faults": faults,
}


def means(runs: Runs, names: list[str], figures: dict[str, Figure]) -> Iterator[str]:
    yield "| ÷ glibc | " + " | ".join(names) + " |"
    yield "|---|" + "---:|" * len(names)
    pairs = {name: verdict.common(runs, [name, GLIBC]) for name in names}
    for what, figure in figures.items():
        yield f"| {what} | " + " | ".join(shown(against(pairs[name], name, GLIBC, figure)) for name in names) + " |"


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


# ---- verdicts ----

def judged(name: str, runs: Runs, peers: list[str]) -> Iterator[str]:
    found = sorted(verdict.duels(runs, name, peers), key=lambda one: -one.ratio)
    if not found:
        return
    yield f"{name}: CPU ÷ best peer {shown(verdict.mean(one.ratio for one in found))} over {len(found)} programs\n"
    yield "| program | verdict | CPU ÷ best peer, least | medians, 95 % interval | rounds | wall | peak | faults | best peer |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---|"
    for one in found:
        yield told(one, runs[one.program], name)
    yield ""


def told(one: Duel, by: dict[str, dict[int, Row]], ours: str) -> str:
    span = f"{one.low:.2f} to {one.high:.2f}" if one.low is not None else "–"
    beside = " | ".join(f"{figure(by[ours]) / (figure(by[one.peer]) or 1):.2f}" for figure in (wall, peak, faults))
    return f"| {one.program} | {one.verdict} | {one.ratio:.3f} | {span} | {len(by[ours])} | {beside} | {one.peer} |"


def differing(runs: Runs) -> Iterator[str]:
    """What a program writes is the same on every allocator."""
    for program, by in runs.items():
        if len({row.digest for one in by.values() for row in one.values()}) > 1:
            yield f"{program}: its output differs from run to run"


def shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
