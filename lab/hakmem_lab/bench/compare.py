# SPDX-License-Identifier: MIT OR Apache-2.0
"""A/B: whether HAKMEM became faster or slower from one folder of results to another, row by row.

The two were not measured in turns, so a machine that was slower in one of them shows as a difference; what the peers
did meanwhile says how much of it there was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.console import Console

from hakmem.base.atomic_write import write_whole
from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.process.peers import HAKMEM
from hakmem_lab.bench.measures import unit_for
from hakmem_lab.bench.results import Pair, Results
from hakmem_lab.bench.sheets import FAINT, Cell, Sheet, markdown, terminal
from hakmem_lab.bench.statistics import (
    FASTER,
    SAME,
    SLOWER,
    Numbers,
    Ratio,
    disturbed_or,
    geometric_mean,
    ratio_of_medians,
    verdicts,
)
from hakmem_lab.bench.tables import ratio_cell, three_digits, verdict_cell

NONE = pd.Series(dtype=float)


@dataclass(frozen=True)
class Change:
    """One row: nanoseconds before and after, and after / before."""

    benchmark: str
    before: float
    after: float
    ratio: Ratio
    verdict: str
    memory: float | None  # peak RSS, after / before


@dataclass(frozen=True)
class Comparison:
    changes: list[Change]
    drift: dict[str, float]  # peer -> geometric mean of its time, after / before
    other_files: list[str]  # peers whose library differs
    only_before: list[str]
    only_after: list[str]


# ---- comparing ----

def compare(before: Path, after: Path) -> Comparison:
    """Folders of results, or runs.csv files."""
    first, second = Results(before), Results(after)
    rows = [name for name in first.group_of if {(name, HAKMEM)} <= first.samples.keys() & second.samples.keys()]
    if not rows:
        raise Refusal(f"{before} and {after}: no benchmark has a figure of HAKMEM in both")
    pairs = [in_order(second.samples[name, HAKMEM], first.samples[name, HAKMEM]) for name in rows]
    still = [in_order(*(one.still.get((name, HAKMEM), NONE) for one in (second, first))) for name in rows]
    made = [min(len(one.timed[name, HAKMEM]) for one in (first, second)) for name in rows]
    changes = [Change(name, first.times[name, HAKMEM], second.times[name, HAKMEM], ratio_of_medians(*pair), disturbed_or(verdict, rounds),
                      quotient(second.peak_rss, first.peak_rss, (name, HAKMEM)))
               for name, pair, verdict, rounds in zip(rows, pairs, verdicts(still), made)]
    return Comparison(changes, drift(first, second), other_files(first, second), left_out(first, rows),
                      left_out(second, rows))


def in_order(ours: pd.Series, theirs: pd.Series) -> tuple[Numbers, Numbers]:
    """First with first, second with second: the rounds of two sessions have nothing else in common."""
    rounds = min(len(ours), len(theirs))
    return ours.sort_index().to_numpy()[:rounds], theirs.sort_index().to_numpy()[:rounds]


def quotient(above: dict[Pair, float], below: dict[Pair, float], pair: Pair) -> float | None:
    return above[pair] / below[pair] if pair in above and below.get(pair) else None


def drift(first: Results, second: Results) -> dict[str, float]:
    ratios: dict[str, list[float]] = {}
    for pair in first.times.keys() & second.times.keys():
        ratios.setdefault(pair[1], []).append(second.times[pair] / first.times[pair])
    return {peer: geometric_mean(ratios[peer]) for peer in first.peers if peer in ratios}


def other_files(first: Results, second: Results) -> list[str]:
    hashes = [{one.get("name"): one.get("sha256") for one in results.machine.get("allocators", [])}
              for results in (first, second)]
    return [name for name in hashes[0] if name in hashes[1] and name != HAKMEM and hashes[0][name] != hashes[1][name]]


def left_out(results: Results, rows: Iterable[str]) -> list[str]:
    known = set(rows)
    return [name for name in results.group_of if name not in known]


# ---- showing ----

def compare_results(console: Console, before: Path, after: Path, output: Path | None = None) -> None:
    comparison = compare(before, after)
    sheet, notes = change_sheet(comparison), notes_of(comparison)
    console.print(terminal(sheet))
    for note in notes:
        console.print(printable(note), highlight=False, markup=False)
    if output:
        write_whole(output, markdown(sheet) + "\n" + "".join(f"- {note}\n" for note in notes))


def change_sheet(comparison: Comparison) -> Sheet:
    headings = ["HAKMEM", "unit", "A", "B", "B / A", "95 % interval", "B is", "peak RSS, B / A"]
    return Sheet("HAKMEM, A and B", headings, [change_row(change) for change in comparison.changes], words=2)


def change_row(change: Change) -> list[Cell]:
    divisor, unit = unit_for([change.before, change.after])
    low, high = change.ratio.low, change.ratio.high
    interval = "" if low is None or high is None else f"{low:.3f}–{high:.3f}"
    return [Cell(change.benchmark), Cell(unit, FAINT), Cell(three_digits(change.before / divisor)),
            Cell(three_digits(change.after / divisor)), ratio_cell(change.ratio.value), Cell(interval, FAINT),
            verdict_cell(change.verdict), ratio_cell(change.memory)]


def notes_of(comparison: Comparison) -> list[str]:
    changes = comparison.changes
    count = {verdict: sum(change.verdict == verdict for change in changes) for verdict in (FASTER, SLOWER, SAME)}
    mean = geometric_mean(change.ratio.value for change in changes)
    moved = ", ".join(f"{peer} {ratio:.3f}" for peer, ratio in comparison.drift.items())
    return [text for text in (
        f"B is faster in {count[FASTER]} rows, slower in {count[SLOWER]}, no different in {count[SAME]} of "
        f"{len(changes)}; geometric mean B / A: {mean:.3f}",
        f"the peers' own B / A, which is the machine's drift: {moved}" if moved else "",
        f"not the same library in A and B: {', '.join(comparison.other_files)}" if comparison.other_files else "",
        f"without a figure in B: {', '.join(comparison.only_before)}" if comparison.only_before else "",
        f"without a figure in A: {', '.join(comparison.only_after)}" if comparison.only_after else "",
    ) if text]
