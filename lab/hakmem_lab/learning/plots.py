# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figure of `hakmem-lab learning`: panels below each other, those that the files have something for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from hakmem.base.exit import printable
from hakmem.learning.decisions import KINDS, NS_PER_S, THRESHOLDS, WHATS, Change, Decision
from hakmem.learning.learners import ARMS
from hakmem_lab.bench.plots import WIDTH, headline, save_one, subtitle
from hakmem_lab.bench.style import INK, LINES, SETTINGS
from hakmem_lab.learning.sources import THRESHOLD_COUNT, Curve, Decided, Ladder, Source, Window

AS_LEARNT, BREAK_EVEN = "#0072b2", "#d55e00"
# Shorter than break-even blue, longer orange.
ARM_COLOURS = ("#08306b", "#2171b5", "#4f9bd0", "#85bcdc", "#c0d9ec", "#8c959f", "#f0a860", "#d55e00")
PHASE_COLOURS = {"learn": "#fbe3c4", "candidate": "#e3cde3", "frozen": "#cde5da"}
MARKS = ("v", "D", "^", "X", "s", "*")  # as KINDS
MARK_COLOURS = ("#7d8590", "#cc79a7", "#009e73", "#d55e00", "#0072b2", "#b2182b")
ALARM = len(KINDS) - 1
FEW = 3
SLICES = 120
HEAD, PANEL, PANEL_OF_LADDER = 0.6, 2.4, 4.0  # inches
RAREST = 0.98  # of costs; what lies beyond is cut

Panel = tuple[float, Callable[[Axes], None]]  # its height


@dataclass(frozen=True)
class Times:
    """From the first that any of the files tells to the last."""

    start: int
    end: int

    def seconds(self, when: int) -> float:
        return (when - self.start) / NS_PER_S

    def scale(self, axis: Axes) -> None:
        axis.set(xlabel="seconds", xlim=(0, self.length))

    @property
    def length(self) -> float:
        return max(self.seconds(self.end), 1 / NS_PER_S)


def save_plot(sources: list[Source], path: Path) -> None:
    with matplotlib.rc_context(SETTINGS):
        figure = drawn(sources)
    save_one(figure, path.stem, path)


def drawn(sources: list[Source]) -> Figure:
    times = Times(min(source.start for source in sources), max(source.end for source in sources))
    panels = [panel for source in sources for panel in panels_of(source, times)]
    heights = [height for height, _ in panels]
    tall = sum(heights) + HEAD
    figure = Figure(figsize=(WIDTH, tall), layout="constrained")
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - HEAD / tall), h_pad=0.08)
    headline(figure, "How it was learnt")
    subtitle(figure, printable(", ".join(Path(source.name).name for source in sources)))
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights).ravel()
    for axis, (_, draw) in zip(axes, panels):
        draw(axis)
    return figure


def panels_of(source: Source, times: Times) -> Iterator[Panel]:
    match source:
        case Curve():
            yield PANEL, lambda axis: learning_curve(axis, source)
            yield PANEL, lambda axis: arm_shares(axis, source, times)
        case Ladder():
            if source.is_rated:
                yield PANEL_OF_LADDER, lambda axis: ratings(axis, source)
            yield PANEL, lambda axis: phases(axis, source, times)
        case Decided():
            if source.decisions:
                yield PANEL, lambda axis: decisions(axis, source.decisions, times)
            if source.changes:
                yield PANEL, lambda axis: changes(axis, source.changes, times)


def title(axis: Axes, text: str) -> None:
    axis.set_title(text, loc="left", fontweight="bold", parse_math=False)


def beside(axis: Axes, **options: object) -> None:
    axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), borderaxespad=0.2, handlelength=1.2, **options)


# ---- what big blocks pay ----

def learning_curve(axis: Axes, curve: Curve) -> None:
    waits = [told.waits for told in curve.told]
    paid, other = [told.paid for told in curve.told], [told.break_even for told in curve.told]
    last = curve.told[-1]
    ratio = f"{last.paid / last.break_even:.2f} of it" if last.break_even else "nothing was paid"
    title(axis, f"Paid for free blocks, lower is better: {last.paid:,.0f} pages as learnt, {last.break_even:,.0f} by "
          f"break-even, {ratio}")
    axis.plot(waits, other, color=BREAK_EVEN, linewidth=1.6, linestyle=(0, (5, 1.5)), zorder=4, label="by break-even")
    axis.plot(waits, paid, color=AS_LEARNT, linewidth=1.8, label="as learnt")
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axis.set(xlabel="waits that ended", ylabel="pages fetched, or\nrent worth as much", xlim=(0, waits[-1]), ylim=(0, None))
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    beside(axis)


def shares(curve: Curve, times: Times) -> tuple[np.ndarray, np.ndarray]:
    """Of the blocks taken in each slice of time the share of each arm; none where none was taken."""
    edges = np.linspace(0, times.length, SLICES + 1)
    seconds = [times.seconds(told.when) for told in curve.told]
    taken = np.diff(np.array([told.taken for told in curve.told]), axis=0, prepend=0).T
    counts = np.array([np.histogram(seconds, edges, weights=row)[0] for row in taken])
    return edges, counts / np.maximum(counts.sum(axis=0), 1)


def arm_shares(axis: Axes, curve: Curve, times: Times) -> None:
    edges, parts = shares(curve, times)
    counts, passed = curve.told[-1].taken, curve.told[-1].passed
    title(axis, f"Keep times of {sum(counts):,} blocks as they were taken, as parts of break-even"
          + (f"; {passed:,} more passed by" if passed else ""))
    below = np.zeros(SLICES)
    for arm, part in ((arm, part) for arm, part in enumerate(parts) if counts[arm]):
        axis.stairs(below + part, edges, baseline=below, fill=True, color=ARM_COLOURS[arm],
                    label=f"{arm_text(arm)}  {counts[arm]:,}")
        below = below + part
    times.scale(axis)
    axis.set(ylabel="share of blocks", ylim=(0, 1))
    beside(axis, reverse=True, labelspacing=0.3)


def arm_text(arm: int) -> str:
    return f"{ARMS[arm]} ×" if arm else ARMS[arm]


# ---- the whole process ----

def ratings(axis: Axes, ladder: Ladder) -> None:
    """A line ends where its threshold is retired, and begins anew at an alarm."""
    windows = ladder.windows
    numbers = [window.number for window in windows]
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.92, THRESHOLD_COUNT))
    alarms = [change.window for change in ladder.changes if change.kind == ALARM]
    for rung, colour in enumerate(colours):
        line = [np.nan if window.retired >> rung & 1 else window.ratings[rung] for window in windows]
        axis.plot(numbers, line, color=colour, linewidth=1.3, drawstyle="steps-post")
        mark_retired(axis, numbers, line, colour)
    for alarm in alarms:
        axis.axvline(alarm, color=MARK_COLOURS[ALARM], linewidth=1, linestyle=(0, (2, 2)))
    for end in [*alarms, numbers[-1] + 1]:
        name_the_left(axis, [window for window in windows if window.number < end][-1:])
    title(axis, "Ratings of big_threshold, higher is cheaper; × is retired, a dotted line another load: all anew")
    axis.set(xlabel="windows of 256 slow paths", ylabel="points", xlim=(numbers[0], numbers[-1]))
    axis.margins(y=0.08)
    key = [Line2D([], [], color=colour, linewidth=2, label=name) for name, colour in zip(THRESHOLDS, colours)]
    beside(axis, handles=key, reverse=True, labelspacing=0.3)


def mark_retired(axis: Axes, numbers: list[int], line: list[float], colour: object) -> None:
    ends = [n for n in range(len(line) - 1) if not np.isnan(line[n]) and np.isnan(line[n + 1])]
    axis.plot([numbers[n] for n in ends], [line[n] for n in ends], linestyle="", marker="x", markersize=6, color=colour)


def name_the_left(axis: Axes, last: list[Window]) -> None:
    """The few that are not retired when a load ends."""
    for window in last:
        left = [rung for rung in range(THRESHOLD_COUNT) if not window.retired >> rung & 1]
        for rung in left if len(left) <= FEW else []:
            axis.annotate(THRESHOLDS[rung], (window.number, window.ratings[rung]), xytext=(-6, 3), ha="right",
                          textcoords="offset points", fontsize=8)


def phases(axis: Axes, ladder: Ladder, times: Times) -> None:
    windows = ladder.windows
    seconds = [times.seconds(window.when) for window in windows]
    for phase, of in groupby(range(len(windows)), key=lambda n: windows[n].phase):
        places = list(of)
        end = min(places[-1] + 1, len(windows) - 1)
        axis.axvspan(seconds[places[0]], seconds[end], color=PHASE_COLOURS[phase], linewidth=0, zorder=0)
    costs = [window.cost for window in windows]
    high = float(np.quantile(costs, RAREST)) * 1.25 or 1
    axis.plot(seconds, costs, color=INK, linewidth=0.6)
    for kind, of_kind in by_kind(ladder.changes):
        mark(axis, kind, of_kind, times, [min(change.cost, high * 0.97) for change in of_kind])
    title(axis, f"What {windows[-1].number:,} windows cost, and what followed from it")
    times.scale(axis)
    axis.set(ylabel="ns a slow path", ylim=(0, high))
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    handles = [Patch(color=colour, label=f"phase: {phase}") for phase, colour in PHASE_COLOURS.items()]
    beside(axis, handles=handles + axis.get_legend_handles_labels()[0], labelspacing=0.35)


def by_kind(changes: list[Change]) -> Iterator[tuple[int, list[Change]]]:
    for kind in sorted({change.kind for change in changes}):
        yield kind, [change for change in changes if change.kind == kind]


def mark(axis: Axes, kind: int, changes: list[Change], times: Times, heights: list[float]) -> None:
    label = f"{KINDS[kind].partition(':')[0]}  {len(changes)}"
    axis.plot([times.seconds(change.when) for change in changes], heights, linestyle="", marker=MARKS[kind], markersize=7,
              color=MARK_COLOURS[kind], label=label, zorder=5, clip_on=False)


# ---- files of decisions ----

def decisions(axis: Axes, shown: list[Decision], times: Times) -> None:
    seconds = [times.seconds(each.when) for each in shown]
    axis.vlines(seconds, [each.origin for each in shown], [each.to for each in shown], color=LINES, linewidth=1.2)
    axis.scatter(seconds, [each.to for each in shown], s=22, color=[ARM_COLOURS[each.to] for each in shown], zorder=3,
                 clip_on=False)
    axis.set_yticks(range(len(ARMS)), map(arm_text, range(len(ARMS))))
    title(axis, f"The last {len(shown):,} decisions: from which keep time to which, as parts of break-even")
    times.scale(axis)
    axis.set_ylim(-0.5, len(ARMS) - 0.5)


def changes(axis: Axes, shown: list[Change], times: Times) -> None:
    for kind, of_kind in by_kind(shown):
        mark(axis, kind, of_kind, times, [change.what for change in of_kind])
    axis.set_yticks(range(len(WHATS)), WHATS)
    title(axis, "Changes for the whole process")
    times.scale(axis)
    axis.set_ylim(-0.5, len(WHATS) - 0.5)
    beside(axis)
