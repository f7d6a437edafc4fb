# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `hakmem-lab simulate --tune` prints, and its CSV file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from rich.table import Table
from rich.text import Text

from hakmem.base.atomic_write import write_rows
from hakmem.base.console import plain_table, stdout_console
from hakmem.base.exit import printable
from hakmem_lab.simulate.results import PRICES
from hakmem_lab.tune.points import BALANCED, Costs, Point, Recorded, Setting, Wish, bytes_text, front_of

COLUMNS = ("price", "big_cache_bytes", "mean_kib", "peak_kib", "faults", "kernel_calls", "kernel_ns", "loss_percent",
           "front", "picked")
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


def notes(traces: list[Recorded]) -> Iterator[str]:
    for trace in traces:
        if trace.torn:
            yield f"{trace.file}: the trace ends in the middle of a record; what came before was used"
        if trace.processes > 1:
            yield f"{trace.file}: of {trace.processes:,} processes the one with the most events"


def print_report(traces: list[Recorded], points: list[Point], chosen: Point, wish: Wish, costs: Costs) -> None:
    for note in notes(traces):
        print(f"note: {printable(note)}", file=sys.stderr)
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
    rows = [
        (
            point.setting.price, "" if point.setting.cache is None else point.setting.cache, point.mean_kib, point.peak_kib,
            point.faults, point.kernel_calls, round(point.kernel_ns), f"{point.loss_percent(points):.6f}",
            int(point in front), int(point == chosen),
        )
        for point in points
    ]
    write_rows(path, [COLUMNS, *rows])
