"""The figure of `hakmem decisions --plot`: panels below each other, those that the files have something for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hakmem.bench.plots import WIDTH, headline, save_one, subtitle
from hakmem.bench.style import INK, LINES, SETTINGS
from hakmem.decisions import ARMS_OF, KINDS, THRESHOLDS, WHATS, Change
from hakmem.learning import ARM_COUNT, THRESHOLD_COUNT, Curve, Decided, Ladder, Source
from hakmem.policy import ARMS

AS_LEARNT, BREAK_EVEN = "#0072b2", "#d55e00"
# Shorter than break-even blue, longer orange.
ARM_COLOURS = ("#08306b", "#2171b5", "#4f9bd0", "#85bcdc", "#c0d9ec", "#8c959f", "#f0a860", "#d55e00")
PHASE_COLOURS = {"learn": "#fbe3c4", "candidate": "#e3cde3", "frozen": "#cde5da"}
MARKS = ("v", "D", "^", "X", "s", "*")  # as KINDS
MARK_COLOURS = ("#7d8590", "#cc79a7", "#009e73", "#d55e00", "#0072b2", "#b2182b")
SLICES = 120
HEAD, PANEL, PANEL_OF_LADDER = 0.75, 2.5, 4.2  # inches
RAREST = 0.98  # of costs; what lies beyond is cut

Panel = tuple[float, Callable[[Axes], None]]  # its height


def save_plot(sources: list[Source], path: Path) -> None:
    with matplotlib.rc_context(SETTINGS):
        figure = drawn(sources)
    save_one(figure, path.stem, path)


def drawn(sources: list[Source]) -> Figure:
    panels = [panel for source in sources for panel in panels_of(source)]
    heights = [height for height, _ in panels]
    tall = sum(heights) + HEAD
    figure = Figure(figsize=(WIDTH, tall), layout="constrained")
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - HEAD / tall), h_pad=0.08)
    headline(figure, "How it was learnt")
    subtitle(figure, ", ".join(Path(source.name).name for source in sources))
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights).ravel()
    for axis, (_, draw) in zip(axes, panels):
        draw(axis)
    return figure


def panels_of(source: Source) -> Iterator[Panel]:
    match source:
        case Curve():
            yield PANEL, lambda axis: learning_curve(axis, source)
            yield PANEL, lambda axis: arm_shares(axis, source)
        case Ladder():
            if source.is_rated:
                yield PANEL_OF_LADDER, lambda axis: ratings(axis, source)
            yield PANEL, lambda axis: phases(axis, source)
        case Decided():
            if source.decisions:
                yield PANEL, lambda axis: decisions(axis, source)
            if source.changes:
                yield PANEL, lambda axis: changes(axis, source)


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
    axis.plot(waits, other, color=BREAK_EVEN, linewidth=1.6, linestyle=(0, (5, 1.5)), label="by break-even")
    axis.plot(waits, paid, color=AS_LEARNT, linewidth=1.8, label="as learnt")
    axis.set(xlabel="waits that ended", ylabel="pages fetched, or\nrent worth as much", xlim=(0, waits[-1]), ylim=(0, None))
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    beside(axis)


def shares(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Of each slice of time: of the blocks taken in it the share of each arm; not a number where none was taken."""
    seconds = np.array([told.seconds for told in curve.told])
    taken = np.array([told.taken for told in curve.told], dtype=float).T
    edges = np.linspace(0, max(seconds[-1], 1e-9), SLICES + 1)
    per_slice = np.diff(np.array([np.interp(edges, seconds, row) for row in taken]), axis=1)
    total = per_slice.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return edges, np.where(total > 1e-9, per_slice / total, np.nan)


def arm_shares(axis: Axes, curve: Curve) -> None:
    edges, parts = shares(curve)
    counts = curve.told[-1].taken
    title(axis, f"Keep times of the {sum(counts):,} blocks taken, as parts of break-even; {curve.told[-1].passed:,} more "
          "passed by")
    below = np.zeros(SLICES)
    for arm in range(ARM_COUNT):
        above = below + np.nan_to_num(parts[arm])
        axis.stairs(above, edges, baseline=below, fill=True, color=ARM_COLOURS[arm],
                    label=f"{ARMS[arm]}" + (" ×" if arm else "") + f"  {counts[arm]:,}")
        below = above
    axis.set(xlabel="seconds", ylabel="share of blocks", xlim=(0, edges[-1]), ylim=(0, 1))
    beside(axis, reverse=True, labelspacing=0.3)


# ---- the whole process ----

def ratings(axis: Axes, ladder: Ladder) -> None:
    """A line ends where its threshold is retired, and begins anew at an alarm."""
    windows = ladder.windows
    numbers = [window.number for window in windows]
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.92, THRESHOLD_COUNT))
    last = windows[-1]
    ends: list[tuple[float, int]] = []
    for rung in range(THRESHOLD_COUNT):
        line = [np.nan if window.retired >> rung & 1 else window.ratings[rung] for window in windows]
        axis.plot(numbers, line, color=colours[rung], linewidth=1.3, drawstyle="steps-post")
        mark_ends(axis, numbers, line, colours[rung])
        if not last.retired >> rung & 1:
            ends.append((last.ratings[rung], rung))
    for change in ladder.changes:
        if KINDS[change.kind] == KINDS[-1]:
            axis.axvline(change.window, color=MARK_COLOURS[-1], linewidth=1, linestyle=(0, (2, 2)))
    title(axis, "Ratings of big_threshold, higher is cheaper; × is retired, a dotted line is another load: all anew")
    axis.set(xlabel="windows of 256 slow doors", ylabel="points", xlim=(numbers[0], numbers[-1]))
    key = [matplotlib.lines.Line2D([], [], color=colour, linewidth=2, label=name)
           for name, colour in zip(THRESHOLDS, colours)]
    beside(axis, handles=key, reverse=True, labelspacing=0.3)


def mark_ends(axis: Axes, numbers: list[int], line: list[float], colour: object) -> None:
    ends = [n for n in range(len(line) - 1) if not np.isnan(line[n]) and np.isnan(line[n + 1])]
    axis.plot([numbers[n] for n in ends], [line[n] for n in ends], linestyle="", marker="x", markersize=6, color=colour)


def phases(axis: Axes, ladder: Ladder) -> None:
    windows = ladder.windows
    for phase, of in groupby(range(len(windows)), key=lambda n: windows[n].phase):
        places = list(of)
        end = windows[min(places[-1] + 1, len(windows) - 1)]
        axis.axvspan(windows[places[0]].seconds, end.seconds, color=PHASE_COLOURS[phase], linewidth=0, zorder=0)
    axis.plot([window.seconds for window in windows], [window.cost for window in windows], color=INK, linewidth=0.6)
    high = float(np.quantile([window.cost for window in windows], RAREST)) * 1.25 or 1
    for kind in sorted({change.kind for change in ladder.changes}):
        of_kind = [change for change in ladder.changes if change.kind == kind]
        axis.plot([(change.when - ladder.start) / 1e9 for change in of_kind],
                  [min(change.cost, high * 0.97) for change in of_kind],
                  linestyle="", marker=MARKS[kind], markersize=7, color=MARK_COLOURS[kind],
                  label=f"{KINDS[kind].partition(':')[0]}  {len(of_kind)}", zorder=5)
    title(axis, f"Cost of {windows[-1].number:,} windows and what followed from it")
    axis.set(xlabel="seconds", ylabel="ns a slow door", xlim=(0, windows[-1].seconds), ylim=(0, high))
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    handles = [matplotlib.patches.Patch(color=colour, label=phase) for phase, colour in PHASE_COLOURS.items()]
    beside(axis, handles=handles + axis.get_legend_handles_labels()[0], labelspacing=0.35)


# ---- files of decisions ----

def decisions(axis: Axes, decided: Decided) -> None:
    shown = decided.decisions
    start = min(each.when for each in shown)
    seconds = [(each.when - start) / 1e9 for each in shown]
    axis.vlines(seconds, [each.origin for each in shown], [each.to for each in shown], color=LINES, linewidth=1)
    axis.scatter(seconds, [each.to for each in shown], s=22, color=[ARM_COLOURS[each.to] for each in shown], zorder=3)
    axis.set_yticks(range(ARM_COUNT), [f"{arm} ×" if n else arm for n, arm in enumerate(ARMS)])
    title(axis, f"The last {len(shown):,} decisions: from which keep time to which, as parts of break-even")
    axis.set(xlabel="seconds", ylim=(-0.5, ARM_COUNT - 0.5))


def changes(axis: Axes, decided: Decided) -> None:
    start = min(change.when for change in decided.changes)
    for kind in sorted({change.kind for change in decided.changes}):
        of_kind = [change for change in decided.changes if change.kind == kind]
        axis.plot([(change.when - start) / 1e9 for change in of_kind], [change.what for change in of_kind], linestyle="",
                  marker=MARKS[kind], markersize=7, color=MARK_COLOURS[kind],
                  label=f"{KINDS[kind].partition(':')[0]}  {len(of_kind)}")
    axis.set_yticks(range(len(WHATS)), WHATS)
    title(axis, "Changes for the whole process")
    axis.set(xlabel="seconds", ylim=(-0.5, len(WHATS) - 0.5))
    beside(axis)
