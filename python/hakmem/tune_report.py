"""What `hakmem simulate --tune` prints, writes and draws."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.table import Table
from rich.text import Text

from hakmem.bench.plots import headline, log_ticks, plain_ticks, save_one, short, subtitle
from hakmem.bench.style import INK, LINES, SETTINGS
from hakmem.console import stdout_console
from hakmem.errors import Refusal
from hakmem.simulate import PRICES
from hakmem.summary import plain_table
from hakmem.tune import BALANCED, Costs, Point, Recorded, Setting, Wish, bytes_text, front_of

COLUMNS = ("price", "big_cache_bytes", "mean_kib", "peak_kib", "faults", "kernel_calls", "kernel_ns", "loss_percent",
           "front", "picked")
ENDINGS = (".png", ".svg")
FRONT, PICK, OTHERS = "#0072b2", "#d55e00", "#8c959f"
MUCH = 20  # times: an axis that reaches so far is logarithmic
LITTLE = 0.1  # percent of the recorded time


def price_text(price: int) -> str:
    names = {round(value): name for name, value in PRICES.items()}
    return names.get(price, f"{price:,}")


def cache_text(setting: Setting) -> str:
    return "–" if setting.cache is None else bytes_text(setting.cache)


# ---- the table ----

def shown(points: list[Point], chosen: Point) -> list[Point]:
    """Each price as it is, and what else is on the front."""
    front = front_of(points)
    return [point for point in points if point.setting.cache is None or point in front or point == chosen]


def mark(point: Point, front: list[Point], chosen: Point) -> Text:
    return Text("picked", style="bold green") if point == chosen else Text("front" if point in front else "", "cyan")


def points_table(points: list[Point], chosen: Point) -> Table:
    table, front = plain_table(), front_of(points)
    for heading in ("price", "big cache", "mean MiB", "peak MiB", "faults", "kernel calls", "kernel ms", "loss %"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for point in sorted(shown(points, chosen), key=lambda point: (point.setting.price, point.setting.cache or 0)):
        table.add_row(
            price_text(point.setting.price), cache_text(point.setting), f"{point.mean_kib / 1024:,.1f}",
            f"{point.peak_kib / 1024:,.1f}", f"{point.faults:,}", f"{point.kernel_calls:,}",
            f"{point.kernel_ns / 1e6:,.2f}", f"{point.loss_percent(points):.3f}", mark(point, front, chosen),
        )
    return table


def why(wish: Wish) -> str:
    if wish.memory is not None:
        return f"the least time within {wish.memory.text} of memory"
    if wish.loss_percent is not None:
        return f"the least memory within a loss of {wish.loss_percent:g} %"
    return "the knee of the front"


def verdict(points: list[Point], chosen: Point, wish: Wish) -> str:
    usual = next(point for point in points if point.setting == Setting(BALANCED))
    return (
        f"picked, {why(wish)}: mean {chosen.mean_kib / 1024:.1f} MiB (balanced {usual.mean_kib / 1024:.1f}), "
        f"peak {chosen.peak_kib / 1024:.1f} ({usual.peak_kib / 1024:.1f}), kernel's time {chosen.kernel_ns / 1e6:.2f} ms "
        f"({usual.kernel_ns / 1e6:.2f}), loss {chosen.loss_percent(points):.3f} % ({usual.loss_percent(points):.3f} %)"
    )


def print_report(traces: list[Recorded], points: list[Point], chosen: Point, wish: Wish, costs: Costs) -> None:
    for trace in traces:
        if trace.torn:
            print(f"note: {trace.file}: the trace ends in the middle of a record; what came before was used",
                  file=sys.stderr)
    console = stdout_console()
    console.print(points_table(points, chosen))
    console.print(Text(
        f"A call of the kernel costs {costs.call_ns:,g} ns, a page {costs.page_ns:,g} ns. Loss: the kernel's time beyond "
        f"the least, of {chosen.run_ns / 1e9:.2f} s that were recorded."
    ))
    if max(point.loss_percent(points) for point in front_of(points)) < LITTLE:
        console.print(Text(f"Along the front less than {LITTLE:g} % of the time is at stake."))
    console.print(Text(verdict(points, chosen, wish)))
    print(chosen.setting.text())


def write_csv(points: list[Point], chosen: Point, path: Path) -> None:
    front = front_of(points)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for point in points:
            setting = point.setting
            rows.writerow((
                setting.price, "" if setting.cache is None else setting.cache, point.mean_kib, point.peak_kib,
                point.faults, point.kernel_calls, round(point.kernel_ns), f"{point.loss_percent(points):.6f}",
                int(point in front), int(point == chosen),
            ))


# ---- the plot ----

def refuse_unless_picture(path: Path) -> None:
    if path.suffix not in ENDINGS:
        raise Refusal(f"--plot {path}: with --tune it is a picture, .png or .svg")
    if not path.parent.is_dir():
        raise Refusal(f"--plot {path}: there is no folder {path.parent}")


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
    subtitle(figure, f"each point a setting; on the line nothing is better in both; picked: {chosen.setting.text()}")
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
    names: dict[tuple[float, float], list[str]] = {}
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
