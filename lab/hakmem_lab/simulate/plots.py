# SPDX-License-Identifier: MIT OR Apache-2.0
"""The plots of `hakmem-lab simulate`: what each program pays beside a clairvoyant, and what it could make of memory and
fetching."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from hakmem_lab.bench.plots import WIDTH, Plots, grid, headline, log_ticks, plain_ticks, save, short, subtitle
from hakmem_lab.bench.style import INK, SETTINGS, Look
from hakmem_lab.simulate.results import (
    BASELINE,
    BEST_FIXED,
    BY_BUSY_SITE,
    BY_SITE,
    BY_SIZE,
    CLAIRVOYANT,
    EVOLVING,
    Point,
    Program,
)

LOOKS = {
    BASELINE: Look("#d55e00", "o"),
    BEST_FIXED: Look("#7d8590", "s"),
    BY_SIZE: Look("#56b4e9", "D"),
    BY_BUSY_SITE: Look("#cc79a7", "^", (0, (2, 1))),
    BY_SITE: Look("#0072b2", "P", (0, (5, 1.5))),
    EVOLVING: Look("#e69f00", "X"),
    CLAIRVOYANT: Look("#009e73", "v"),
}
BARS = (BASELINE, EVOLVING, BEST_FIXED, BY_SIZE, BY_BUSY_SITE, BY_SITE)
CURVES = (BASELINE, BY_BUSY_SITE, BY_SITE, CLAIRVOYANT)
MOST_BARS, MOST_PANELS, COLUMNS = 24, 12, 3
BAR = 0.17  # inches
MIXED = 16
REACH = 2000  # of an axis: what lies farther out is of no use to anybody
WORST = 2.0  # of the baseline, by theorem


def save_plots(programs: list[Program], folder: Path) -> list[Path]:
    """Of programs that are in order, those that pay most first."""
    with matplotlib.rc_context(SETTINGS):
        plots: Plots = {"ratio": ratios(programs)}
        if choosers := [program for program in programs if has_choice(program)]:
            plots["frontier"] = frontiers(choosers)
    save(plots, folder)
    return [folder / f"{name}.png" for name in plots]


def shown_of(programs: list[Program], most: int) -> str:
    return f"; the {most} of {len(programs)} programs that pay most" if len(programs) > most else ""


# ---- competitive ratios ----

def ratios(programs: list[Program]) -> Figure:
    shown = programs[:MOST_BARS]
    head, foot = 0.85, 0.5
    height = len(shown) * (len(BARS) + 1) * BAR + head + foot
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - head / height))
    headline(figure, "What each program pays for idle memory and for fetching, shorter is better")
    subtitle(figure, f"as times what a clairvoyant would pay{shown_of(programs, MOST_BARS)}")
    axis = figure.subplots()
    for place, program in enumerate(shown):
        bars(axis, place, program)
    ratio_axis(axis, shown)
    handles = [Patch(color=LOOKS[policy].colour, label=policy) for policy in BARS]
    figure.legend(handles=handles, loc="upper left", ncols=len(BARS), handlelength=1, columnspacing=1.3,
                  bbox_to_anchor=(0.0, 1 - 0.52 / height))
    return figure


def bars(axis: Axes, place: int, program: Program) -> None:
    step = 1 / (len(BARS) + 1)
    for number, policy in enumerate(BARS):
        ratio = program.ratio(policy)
        if ratio is None:
            continue
        middle = place + (number - (len(BARS) - 1) / 2) * step
        axis.barh(middle, ratio, height=step * 0.86, color=LOOKS[policy].colour, zorder=2)
        axis.text(ratio + 0.015, middle, f"{ratio:.2f}", va="center", fontsize=7, zorder=5,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})


def ratio_axis(axis: Axes, shown: list[Program]) -> None:
    limit = WORST + 0.18
    for at, text in ((1.0, "clairvoyant"), (WORST, "the baseline's worst")):
        axis.axvline(at, color=INK, linewidth=1.1, linestyle="-" if at == 1 else (0, (2, 2)), zorder=4)
        axis.text(at, -0.56, text, ha="center", va="bottom", fontsize=7.5)
    axis.set(xlim=(0, limit), ylim=(len(shown) - 0.5, -0.5))
    axis.set_yticks(range(len(shown)), [program.name for program in shown], parse_math=False)
    plain_ticks(axis.xaxis, [tick / 4 for tick in range(int(limit * 4) + 1)], short)
    axis.grid(axis="y", visible=False)
    axis.spines["left"].set_visible(False)


# ---- memory against fetching ----

def has_choice(program: Program) -> bool:
    """At some price it keeps something, and at some it fetches something."""
    return any(min(point) > 0 for name in CURVES for point in program.frontier(name))


def frontiers(programs: list[Program]) -> Figure:
    shown = programs[:MOST_PANELS]
    title = "Idle memory against time spent fetching, lower left is best"
    figure, axes = grid(len(shown), 2.7, title, COLUMNS, head=0.92)
    subtitle(figure, "along a line memory gets dearer towards the left, from 1/256 to 256 times the price; the mark is "
             f"the price itself{shown_of(programs, MOST_PANELS)}")
    for axis, program in zip(axes, shown):
        panel(axis, program)
    handles = [Line2D([], [], color=LOOKS[name].colour, linestyle=LOOKS[name].dash, marker=LOOKS[name].marker,
                      markersize=5, linewidth=1.6, label=name) for name in CURVES]
    figure.legend(handles=handles, loc="upper left", ncols=len(CURVES), handlelength=2.6, columnspacing=1.3,
                  bbox_to_anchor=(0.0, 1 - 0.53 / figure.get_figheight()))
    return figure


def panel(axis: Axes, program: Program) -> None:
    lines: list[Point] = []
    marks: list[Point] = []
    for name in CURVES:
        points = [(idle, ns / 1e6) for idle, ns in program.frontier(name)]
        known = [point for point in mixtures(points) if min(point) > 0]
        look = LOOKS[name]
        axis.plot([x for x, _ in known], [y for _, y in known], color=look.colour, linestyle=look.dash, linewidth=1.6)
        axis.plot(*points[len(points) // 2], color=look.colour, marker=look.marker, markersize=6, zorder=5)
        lines += known
        marks += [point for point in points[len(points) // 2:][:1] if min(point) > 0]
    axis.set_title(program.name, loc="left", fontweight="bold", parse_math=False)
    axis.set(xlabel="idle memory, MiB × s", ylabel="fetching, ms")
    axis.set(xscale="log", yscale="log", xlim=reach(lines, marks, 0), ylim=reach(lines, marks, 1))
    plain_ticks(axis.xaxis, log_ticks(*axis.get_xlim(), most=5), short)
    plain_ticks(axis.yaxis, log_ticks(*axis.get_ylim(), most=5), short)


def mixtures(points: list[Point]) -> list[Point]:
    """Between two neighbours lies what a mixture of both pays: straight in figures, and not on a logarithmic scale."""
    mixed = []
    for (x0, y0), (x1, y1) in pairwise(points):
        mixed += [(x0 + (x1 - x0) * step / MIXED, y0 + (y1 - y0) * step / MIXED) for step in range(MIXED)]
    return [*mixed, *points[-1:]]


def reach(lines: list[Point], marks: list[Point], side: int) -> tuple[float, float]:
    """All marks are within."""
    high = max(point[side] for point in lines) * 1.3
    low = max(min(point[side] for point in lines), high / REACH)
    return min([low, *(point[side] for point in marks)]) / 1.3, high
