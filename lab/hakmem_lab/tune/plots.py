# SPDX-License-Identifier: MIT OR Apache-2.0
"""The plot of `hakmem-lab simulate --tune`: every setting by its memory and its time, and the front."""

from __future__ import annotations

from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hakmem_lab.bench.plots import headline, log_ticks, plain_ticks, save_one, short, subtitle
from hakmem_lab.bench.style import INK, LINES, SETTINGS
from hakmem_lab.simulate.results import PRICES
from hakmem_lab.tune.points import Point, Setting, front_of

FRONT, PICK, OTHERS = "#0072b2", "#d55e00", "#8c959f"
MUCH = 20  # times: an axis that reaches so far is logarithmic


def save_plot(points: list[Point], chosen: Point, path: Path) -> None:
    with matplotlib.rc_context(SETTINGS):
        figure = drawn(points, chosen)
    save_one(figure, path.stem, path)


def place(point: Point) -> tuple[float, float]:
    return point.mean_kib / 1024, point.kernel_ns / 1e6


def drawn(points: list[Point], chosen: Point) -> Figure:
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    figure.get_layout_engine().set(rect=(0, 0, 1, 0.86))
    headline(figure, "Memory against the kernel's time, lower left is best")
    subtitle(figure, f"each point a setting, on the line none beats it in both; picked: {chosen.setting.text()}")
    axis = figure.subplots()
    front = [place(point) for point in front_of(points)]
    axis.plot(*zip(*map(place, points)), linestyle="", marker="o", markersize=4, color=OTHERS, zorder=2)
    axis.step(*zip(*front), where="post", color=FRONT, linewidth=1.6, zorder=3)
    axis.plot(*zip(*front), linestyle="", marker="o", markersize=5, color=FRONT, zorder=4)
    axis.plot(*place(chosen), marker="o", markersize=12, markerfacecolor="none", markeredgecolor=PICK,
              markeredgewidth=2, zorder=5)
    label_prices(axis, points)
    axis.set(xlabel="mean memory, MiB", ylabel="faults and calls of the kernel, ms")
    scale(axis, [place(point) for point in points])
    return figure


def label_prices(axis: Axes, points: list[Point]) -> None:
    """The named ones; those that fall together share a label."""
    names: dict[tuple[int, int], list[str]] = {}
    for name, price in PRICES.items():
        for point in points:
            if point.setting == Setting(round(price)):
                names.setdefault(point.figures, []).append(name)
                names[point.figures].sort()
    for point in points:
        if found := names.pop(point.figures, None):
            axis.annotate(", ".join(found), place(point), xytext=(7, 6), textcoords="offset points", fontsize=8,
                          color=INK, zorder=6, bbox={"facecolor": "white", "edgecolor": LINES, "pad": 1.2})


def scale(axis: Axes, places: list[tuple[float, float]]) -> None:
    for which, values in (("x", [x for x, _ in places]), ("y", [y for _, y in places])):
        low, high = min(values), max(values)
        if low > 0 and high > MUCH * low:
            axis.set(**{f"{which}scale": "log", f"{which}lim": (low / 1.3, high * 1.3)})
            plain_ticks(getattr(axis, f"{which}axis"), log_ticks(low / 1.3, high * 1.3), short)
        else:
            axis.set(**{f"{which}lim": (0, high * 1.1 or 1)})
