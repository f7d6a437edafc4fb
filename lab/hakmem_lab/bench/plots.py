# SPDX-License-Identifier: MIT OR Apache-2.0
"""The plots of a report, each a matplotlib figure by name. Says in its title what is better."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from math import ceil, log10
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from hakmem.base.atomic_write import write_whole
from hakmem.process.peers import HAKMEM
from hakmem_lab.bench.comeback import DAYNIGHT, figures
from hakmem_lab.bench.judge import Judge, means
from hakmem_lab.bench.labels import place_labels
from hakmem_lab.bench.measures import KIBI, three_digits, unit_for
from hakmem_lab.bench.results import Results
from hakmem_lab.bench.statistics import Ratio, geometric_mean, ratio_of_medians
from hakmem_lab.bench.style import INK, LINES, SETTINGS, above, looks, thickness

WIDTH = 9.6  # inches
COLUMNS, LATENCY_COLUMNS = 3, 2
LONGEST_BAR = 3.0  # times HAKMEM; a longer bar is cut and its figure printed
FAR_FROM_ONE = 0.4
DUSK = 0.2  # of noon, as in bench/daynight.c
PERCENTILE_TICKS = (50, 90, 99, 99.9, 99.99)
DPI = 130

Plots = dict[str, Figure]


def all_plots(results: Results) -> Plots:
    """In the order of the report; what was not measured is not drawn."""
    with matplotlib.rc_context(SETTINGS):
        found = {name: draw() for name, draw in planned(results)}
    return {name: figure for name, figure in found.items() if figure is not None}


def planned(results: Results) -> Iterator[tuple[str, Callable[[], Figure | None]]]:
    yield "overview", lambda: overview(results)
    yield "memory-speed", lambda: memory_against_speed(results)
    for title, names in results.chapters.items():
        yield f"time-{title}", lambda title=title, names=names: times(results, title, names)
        yield f"rss-{title}", lambda title=title, names=names: memory_over_time(results, title, names)
        yield f"latency-{title}", lambda title=title, names=names: latency_curves(results, title, names)
    yield "daynight", lambda: days_and_nights(results)
    yield "scaling", lambda: scaling_curves(results)


def save(plots: Plots, folder: Path, endings: Iterable[str] = ("png", "svg")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in plots.items():
        for ending in endings:
            save_one(figure, name, folder / f"{name}.{ending}")


def save_one(figure: Figure, name: str, path: Path) -> None:
    """The same figures give the same bytes: no date, and identifiers that depend on the name alone."""
    with matplotlib.rc_context(SETTINGS | {"svg.hashsalt": name}):
        write_whole(path, svg_text(figure) if path.suffix == ".svg" else pixels(figure, path.suffix))
    figure.set_layout_engine("none")  # done once: it takes longer than drawing


def pixels(figure: Figure, ending: str) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format=ending.removeprefix("."), dpi=DPI, metadata={"Software": None})
    return out.getvalue()


def svg_text(figure: Figure) -> str:
    """Hundredths of a point are fine enough."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub(r"(\d\.\d\d)\d+", r"\1", out.getvalue())


# ---- frames ----

def grid(count: int, height: float, title: str, columns: int = COLUMNS,
         head: float = 0.75) -> tuple[Figure, list[Axes]]:
    """Small multiples; `head` inches above them are for the title and the legend."""
    columns = min(columns, max(count, 1))
    rows = ceil(count / columns)
    tall = rows * height + head
    figure = Figure(figsize=(WIDTH, tall), layout="constrained")
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - head / tall), w_pad=0.06, h_pad=0.06)
    headline(figure, title)
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, axes[:count]


def headline(figure: Figure, title: str) -> None:
    figure.text(0.01, 1 - 0.08 / figure.get_figheight(), title, ha="left", va="top", fontsize=11, fontweight="bold")


def subtitle(figure: Figure, text: str) -> None:
    figure.text(0.01, 1 - 0.34 / figure.get_figheight(), text, ha="left", va="top", fontsize=8.5)


def legend(figure: Figure, names: list[str], lines: bool = True) -> None:
    look = looks(names)
    handles = [Line2D([], [], color=look[name].colour, marker=look[name].marker, markersize=5, label=name,
                      linestyle=look[name].dash if lines else "", linewidth=thickness(name)) for name in names]
    figure.legend(handles=handles, loc="upper left", ncols=len(names), handlelength=2.6 if lines else 1,
                  columnspacing=1.3, bbox_to_anchor=(0.0, 1 - 0.33 / figure.get_figheight()))


def plain_ticks(axis: matplotlib.axis.Axis, ticks: Iterable[float], text: Callable[[float], str]) -> None:
    """Exactly these ticks, written as text."""
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))


def short(value: float) -> str:
    return f"{value:g}"


def log_ticks(low: float, high: float, steps: tuple[float, ...] = (1, 2, 5), most: int = 7) -> list[float]:
    powers = range(int(np.floor(log10(low))), int(np.ceil(log10(high))) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
    return ticks if len(ticks) <= most or len(steps) == 1 else log_ticks(low, high, (1,), most)


# ---- times: bars with intervals ----

def times(results: Results, title: str, benchmarks: list[str]) -> Figure | None:
    shown = [name for name in benchmarks if any(pair[0] == name for pair in results.samples)]
    if not shown:
        return None
    allocators = results.allocators
    figure, axes = grid(len(shown), 0.62 + 0.155 * len(allocators),
                        f"{title}: time relative to {reference_text(results)}, shorter is better", head=0.62)
    subtitle(figure, "beside the bar: the time; across its end: the 95 % interval of the ratio")
    for number, (benchmark, axis) in enumerate(zip(shown, axes)):
        time_bars(axis, results, benchmark)
        if number % COLUMNS:
            axis.set_yticklabels([])
    return figure


def reference_text(results: Results) -> str:
    return "HAKMEM" if HAKMEM in results.allocators else "the best of the row"


def reference_of(results: Results, benchmark: str) -> str | None:
    """HAKMEM, or the fastest where HAKMEM has no figure."""
    known = {name: results.ns(benchmark, name) for name in results.allocators}
    measured = {name: ns for name, ns in known.items() if ns is not None}
    return HAKMEM if HAKMEM in measured else min(measured, key=measured.__getitem__, default=None)


def time_bars(axis: Axes, results: Results, benchmark: str) -> None:
    look, allocators = looks(results.allocators), results.allocators
    reference = reference_of(results, benchmark)
    _, unit = unit_for([ns for name in allocators if (ns := results.ns(benchmark, name)) is not None])
    for place, name in enumerate(allocators):
        if (benchmark, name) in results.samples and reference:
            ratio = relative(results, benchmark, name, reference)
            one_bar(axis, place, ratio, look[name].colour, value_text(results, benchmark, name))
        else:
            axis.text(0.03, place, "no figure", va="center", fontsize=7.5)
    axis.axvline(1, color=INK, linewidth=0.8, zorder=4)
    axis.set(xlim=(0, LONGEST_BAR + 1.3), ylim=(len(allocators) - 0.4, -0.6))
    axis.set_yticks(range(len(allocators)), allocators)
    plain_ticks(axis.xaxis, range(int(LONGEST_BAR) + 1), short)
    axis.grid(axis="y", visible=False)
    axis.spines["left"].set_visible(False)
    axis.set_title(f"{benchmark}  ({unit})", loc="left", fontweight="bold")
    embolden(axis, allocators)


def embolden(axis: Axes, allocators: list[str]) -> None:
    for label, name in zip(axis.get_yticklabels(), allocators):
        label.set_fontweight("bold" if name == HAKMEM else "normal")


def value_text(results: Results, benchmark: str, name: str) -> str:
    row = [ns for other in results.allocators if (ns := results.ns(benchmark, other)) is not None]
    divisor, _ = unit_for(row)
    return three_digits((results.ns(benchmark, name) or 0) / divisor)


def relative(results: Results, benchmark: str, name: str, reference: str) -> Ratio:
    ours, theirs = Judge(results).shared_rounds((benchmark, name), (benchmark, reference))
    if name == reference:
        return spread(results.samples[benchmark, name].to_numpy())
    if len(ours):
        return ratio_of_medians(ours, theirs)
    return Ratio(results.times[benchmark, name] / results.times[benchmark, reference])


def spread(values: np.ndarray) -> Ratio:
    """The reference's own interval around 1."""
    return ratio_of_medians(values, np.full(len(values), np.median(values)))


def one_bar(axis: Axes, place: int, ratio: Ratio, colour: str, text: str) -> None:
    cut = ratio.value > LONGEST_BAR
    length = LONGEST_BAR if cut else ratio.value
    axis.barh(place, length, height=0.72, color=colour, zorder=2, alpha=0.9)
    end = length
    if ratio.low is not None and ratio.high is not None and not cut:
        axis.plot([ratio.low, min(ratio.high, LONGEST_BAR)], [place, place], color=INK, linewidth=1.3, zorder=4)
        end = max(length, min(ratio.high, LONGEST_BAR))
    beyond = f"{text}  (×{three_digits(ratio.value)})" if cut else text
    start = end if end < FAR_FROM_ONE else max(end, 1)  # clear of the line at 1
    axis.text(start + 0.07, place, beyond, va="center", fontsize=7.5)


# ---- the overview ----

def overview(results: Results) -> Figure | None:
    parts = [("small patterns", results.micro), ("real programs", results.real), ("traces", results.traces)]
    shown = [(title, rows) for title, rows in parts if dots(results, rows)]
    if not shown:
        return None
    figure, axes = grid(len(shown), 0.75 + 0.42 * len(results.peers),
                        "Time of each peer / time of HAKMEM: right of 1, HAKMEM is faster", columns=1, head=0.65)
    subtitle(figure, "a dot is a row; the bar with its figure is the geometric mean; under each name: its best row")
    for axis, (title, rows) in zip(axes, shown):
        lanes(axis, results, rows)
        axis.set_title(f"{title}, {len(rows)} rows", loc="left", fontweight="bold")
    axes[-1].set_xlabel("times as long as HAKMEM (log scale)")
    return figure


def dots(results: Results, benchmarks: list[str]) -> dict[str, dict[str, float]]:
    """Peer -> benchmark -> its time / HAKMEM's."""
    found: dict[str, dict[str, float]] = {}
    for peer in results.peers:
        for benchmark in benchmarks:
            ours, theirs = results.ns(benchmark, HAKMEM), results.ns(benchmark, peer)
            if ours and theirs:
                found.setdefault(peer, {})[benchmark] = theirs / ours
    return found


def lanes(axis: Axes, results: Results, benchmarks: list[str]) -> None:
    found, look = dots(results, benchmarks), looks(results.allocators)
    for lane, (peer, ratios) in enumerate(found.items()):
        spread_out = lane + 0.11 * (np.arange(len(ratios)) % 5 - 2)
        axis.scatter(list(ratios.values()), spread_out, s=26, color=look[peer].colour, marker=look[peer].marker,
                     alpha=0.75, linewidths=0, zorder=3)
        lane_mean(axis, lane, geometric_mean(ratios.values()))
    everything = [ratio for ratios in found.values() for ratio in ratios.values()]
    low, high = min(everything), max(everything)
    axis.set_xscale("log")
    margin = 1.01 * (max(high, 1) / min(low, 1)) ** 0.015
    axis.set(xlim=(min(low, 1) / margin, max(high, 1) * margin), ylim=(len(found) - 0.5, -0.5))
    axis.axvline(1, color=look[HAKMEM].colour, linewidth=2.2, zorder=2)
    axis.set_yticks(range(len(found)), [lane_name(peer, ratios) for peer, ratios in found.items()])
    plain_ticks(axis.xaxis, ratio_ticks(*axis.get_xlim()), short)


def lane_name(peer: str, ratios: dict[str, float]) -> str:
    best = min(ratios, key=ratios.__getitem__)
    return f"{peer}\n{best} {ratios[best]:.2f}"


def ratio_ticks(low: float, high: float) -> list[float]:
    fine = (0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5)
    coarse = (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 20, 50, 100)
    decades = (0.001, 0.01, 0.1, 1, 10, 100, 1000, 10000)
    ticks = fine if high < 1.5 and low > 0.7 else coarse if high / low < 300 else decades
    return [tick for tick in ticks if low <= tick <= high]


def lane_mean(axis: Axes, lane: int, mean: float) -> None:
    axis.plot([mean, mean], [lane - 0.34, lane + 0.34], color=INK, linewidth=2.2, zorder=5, solid_capstyle="butt")
    axis.annotate(f"{mean:.2f}", (mean, lane - 0.36), xytext=(3, 1), textcoords="offset points", ha="left",
                  va="center", fontsize=8, fontweight="bold", zorder=6)


# ---- speed against memory ----

def memory_against_speed(results: Results) -> Figure | None:
    points = speed_and_memory(results)
    if len(points) < 2:
        return None
    look = looks(results.allocators)
    figure, (axis,) = grid(1, 4.6, "Time and peak memory of all rows: lower left is best", head=0.4)
    for name, (time, memory) in points.items():
        axis.scatter([time], [memory], s=150 if name == HAKMEM else 80, color=look[name].colour,
                     marker=look[name].marker, zorder=above(name), linewidths=0)
    axis.axvline(1, color=INK, linewidth=0.8, zorder=1)
    axis.axhline(1, color=INK, linewidth=0.8, zorder=1)
    axis.margins(0.14)
    axis.set(xlabel="time, geometric mean, HAKMEM = 1", ylabel="peak RSS, geometric mean, HAKMEM = 1")
    place_labels(axis, points, cross=(1, 1))
    return figure


def speed_and_memory(results: Results) -> dict[str, tuple[float, float]]:
    """Allocator -> (time, peak RSS), each relative to HAKMEM over the rows both have."""
    rows = results.micro + results.real
    judge = Judge(results)
    time, memory = judge.time_means(rows), means(results.peak_rss, rows, results.peers)
    points = {peer: (1 / time[peer].ratio, 1 / memory[peer].ratio) for peer in results.peers
              if peer in time and peer in memory}
    return {HAKMEM: (1.0, 1.0)} | points if points else {}


# ---- memory over time ----

def memory_over_time(results: Results, title: str, benchmarks: list[str]) -> Figure | None:
    """Days and nights have a figure of their own."""
    rest = [name for name in benchmarks if results.group_of[name] != DAYNIGHT]
    return memory_panels(results, rest, f"{title}: resident memory over time, lower is better", COLUMNS, 2.1)


def memory_panels(results: Results, benchmarks: list[str], title: str, columns: int, height: float) -> Figure | None:
    moments = results.moments[results.moments["benchmark"].isin(benchmarks)]
    shown = [name for name in benchmarks if name in set(moments["benchmark"])]
    if not shown:
        return None
    figure, axes = grid(len(shown), height, title, columns, head=0.72)
    for benchmark, axis in zip(shown, axes):
        memory_panel(axis, results, benchmark)
    legend(figure, [name for name in results.allocators if name in set(moments["allocator"])])
    return figure


def memory_panel(axis: Axes, results: Results, benchmark: str) -> None:
    look, moments = looks(results.allocators), results.moments
    for name, line in moments[moments["benchmark"] == benchmark].groupby("allocator", sort=False):
        axis.plot(line["seconds"], line["rss_kib"] / KIBI, color=look[name].colour, linestyle=look[name].dash,
                  linewidth=thickness(name), zorder=above(name))
    axis.set_title(benchmark, loc="left", fontweight="bold")
    axis.set(xlabel="seconds", ylabel="MiB")
    axis.set_ylim(bottom=0)
    axis.set_xlim(left=0)


def days_and_nights(results: Results) -> Figure | None:
    rows = results.groups.get(DAYNIGHT, [])
    title = "Day and night: resident memory over time, lower is better (shaded: busy; dotted: what is asked for)"
    figure = memory_panels(results, rows, title, columns=1, height=2.6)
    for axis in figure.axes if figure else []:
        shade_days(axis, results, axis.get_title(loc="left"))
    return figure


def shade_days(axis: Axes, results: Results, benchmark: str) -> None:
    """As the row's parameters say; it begins to work some hundredths of a second after its start."""
    busy, idle, repeats, mib = (parameter(results, benchmark, name) for name in ("busy", "idle", "repeats", "mib"))
    for day in range(int(repeats)):
        start = day * (busy + idle)
        axis.axvspan(start, start + busy, color=LINES, alpha=0.45, linewidth=0, zorder=0)
        times = start + np.array([0, busy / 2, busy, busy + idle])
        axis.plot(times, mib * np.array([DUSK, 1, DUSK, DUSK]), color=INK, linestyle=":", linewidth=1, zorder=2)


def parameter(results: Results, benchmark: str, name: str) -> float:
    return max(figures(results, f"parameter_{name}", benchmark).values(), default=0.0)


# ---- latency ----

def latency_curves(results: Results, title: str, benchmarks: list[str]) -> Figure | None:
    buckets = results.buckets[results.buckets["benchmark"].isin(benchmarks)]
    panels = list(buckets[["benchmark", "call"]].drop_duplicates().itertuples(index=False, name=None))
    if not panels:
        return None
    figure, axes = grid(len(panels), 1.85, f"{title}: latency of single calls, lower is better", LATENCY_COLUMNS, 0.72)
    for (benchmark, call), axis in zip(panels, axes):
        one = buckets[(buckets["benchmark"] == benchmark) & (buckets["call"] == call)]
        latency_panel(axis, results, one)
        axis.set_title(f"{benchmark}: {call}", loc="left", fontweight="bold")
    for axis in axes[-LATENCY_COLUMNS:]:
        axis.set_xlabel("percentile of the calls")
    legend(figure, [name for name in results.allocators if name in set(buckets["allocator"])])
    return figure


def duration(ns: float) -> str:
    divisor, unit = next(one for one in ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (0, "ns")) if ns >= one[0])
    return f"{ns / (divisor or 1):g} {unit}"


def latency_panel(axis: Axes, results: Results, buckets) -> None:
    look = looks(results.allocators)
    everything: list[float] = []
    for name, rows in buckets.groupby("allocator", sort=False):
        ns = curve(rows["ns"].to_numpy(), rows["count"].to_numpy())
        everything += ns.tolist()
        axis.plot(tails(), ns, color=look[name].colour, linestyle=look[name].dash, linewidth=thickness(name),
                  zorder=above(name))
    axis.set(xscale="log", yscale="log", xlim=(2, 1e4))
    low, high = max(min(everything), 0.1), max(everything)
    axis.set_ylim(low / 1.2, high * 1.2)
    plain_ticks(axis.xaxis, [100 / (100 - percentile) for percentile in PERCENTILE_TICKS],
                lambda tail: f"{100 - 100 / tail:g} %")
    plain_ticks(axis.yaxis, log_ticks(low / 1.2, high * 1.2), duration)


def tails() -> np.ndarray:
    """1 / the share of calls that lie above: equal steps for every further nine, as HdrHistogram draws it."""
    return np.logspace(np.log10(2), 4, 160)


def curve(ns: np.ndarray, counts: np.ndarray) -> np.ndarray:
    order = np.argsort(ns)
    below = np.cumsum(counts[order])
    ranks = np.ceil(below[-1] * (1 - 1 / tails()))
    return ns[order][np.searchsorted(below, np.maximum(ranks, 1))]


# ---- scaling ----

def scaling_curves(results: Results) -> Figure | None:
    if not results.scaling:
        return None
    look = looks(results.allocators)
    figure, axes = grid(len(results.scaling), 2.5, "Throughput over threads: higher is better", head=0.72)
    for (row, points), axis in zip(results.scaling.items(), axes):
        for name in results.allocators:
            known = {threads: ns for threads, benchmark in points.items() if (ns := results.ns(benchmark, name))}
            axis.plot(list(known), [1e3 / ns for ns in known.values()], color=look[name].colour, markersize=4.5,
                      marker=look[name].marker, linestyle=look[name].dash, linewidth=thickness(name),
                      zorder=above(name))
        axis.set_xscale("log", base=2)
        plain_ticks(axis.xaxis, points, short)
        axis.set_ylim(bottom=0)
        axis.set_title(row, loc="left", fontweight="bold")
        axis.set(xlabel="threads", ylabel="million operations / s")
    legend(figure, results.allocators)
    return figure
