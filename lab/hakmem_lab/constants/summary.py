# SPDX-License-Identifier: MIT OR Apache-2.0
"""From the figures of a variant and of the base to the table's cells.

A change counts when it is above half a percent, and above what a build differs by for no reason on that trace and of
that figure: from one phase of the clock to another, and when the kernel's mappings lie otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hakmem_lab.constants.judges import FIGURES, Figures, change_percent, totals_percent
from hakmem_lab.constants.rows import SIDES, Row

LEAST_PERCENT = 0.5
BETTER_PERCENT = -5.0  # of most traces, where none is worse: the constant is wrong
Result = dict[str, Figures]  # by trace
Spread = dict[tuple[str, str], float]  # by trace and figure, in percent


@dataclass(frozen=True)
class Change:
    percent: float
    figure: str
    trace: str

    def __str__(self) -> str:
        trace = self.trace.removesuffix(".hakt")
        return f"{self.figure} {self.percent:+.{0 if abs(self.percent) >= 10 else 1}f} % ({trace})"


def between(runs: list[Result], trace: str, figure: str) -> float:
    """The most above the least, of those that have the figure."""
    figures = sorted((run[trace] for run in runs if figure in run[trace]), key=lambda one: one[figure])
    return change_percent(figure, figures[0], figures[-1])


def spreads(phases: list[Result], base: Result, others: list[Result]) -> Spread:
    """The more of: the base at its phases, one against another; the base and builds that do the same."""
    found = {}
    for trace in base:
        for figure in (figure for figure in FIGURES if figure in base[trace]):
            at_phases = between(phases, trace, figure) if figure in phases[0][trace] else 0
            found[trace, figure] = max(at_phases, between([base, *others], trace, figure))
    return found


def changes(base: Result, new: Result, spread: Spread) -> list[Change]:
    """Those that count."""
    found = []
    for trace, figures in new.items():
        for figure in (figure for figure in FIGURES if figure in figures):
            percent = change_percent(figure, base[trace], figures)
            if abs(percent) > max(LEAST_PERCENT, spread.get((trace, figure), 0)):
                found.append(Change(percent, figure, trace))
    return found


def worst_by_figure(found: list[Change], sign: int) -> str:
    """The two figures that change most."""
    worst: dict[str, Change] = {}
    for change in (change for change in found if change.percent * sign > 0):
        if change.figure not in worst or abs(change.percent) > abs(worst[change.figure].percent):
            worst[change.figure] = change
    return "; ".join(map(str, sorted(worst.values(), key=lambda change: -abs(change.percent))[:2]))


def geometric_mean_percent(percents: list[float]) -> float:
    return (math.exp(sum(math.log1p(percent / 100) for percent in percents) / len(percents)) - 1) * 100


def is_clearly_better(base: Result, new: Result, found: list[Change]) -> bool:
    """On most traces the total falls by 5 %, and nothing is worse anywhere."""
    totals = totals_percent(base, new).values()
    better = sum(total <= BETTER_PERCENT for total in totals)
    return better * 2 > len(totals) and not any(change.percent > 0 for change in found)


def fill(row: Row, side: str, base: Result, new: Result, spread: Spread) -> bool:
    """Writes the row's cells; true where this side is clearly better."""
    found = changes(base, new, spread)
    totals = totals_percent(base, {trace: figures for trace, figures in new.items() if "mean" in figures})
    row.measured[f"{side}_cost"] = worst_by_figure(found, 1) or "nothing"
    row.measured[f"{side}_best"] = worst_by_figure(found, -1)
    row.measured[f"{side}_total"] = f"{geometric_mean_percent(list(totals.values())):+.2f}"
    return is_clearly_better(base, new, found)


def clear(row: Row) -> None:
    for side in SIDES:
        for cell in ("cost", "best", "total"):
            row.measured[f"{side}_{cell}"] = ""
