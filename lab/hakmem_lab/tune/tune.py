# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab simulate --tune`: the command."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hakmem.base.errors import Refusal, written
from hakmem.base.scratch import scratch_folder
from hakmem.process.places import existing, find_tool
from hakmem.reading.unpack import check_apart, unpack
from hakmem.tracing.model import TOOL
from hakmem_lab.tune.points import ENDINGS, LADDER, METER, Point, Recorded, Tuner, Wish, costs_here, picked


def refuse_unless_picture(path: Path) -> None:
    if path.suffix not in ENDINGS:
        raise Refusal(f"--plot {path}: with --tune it is a picture, .png or .svg")
    if not path.parent.is_dir():
        raise Refusal(f"--plot {path}: there is no folder {path.parent}")


@dataclass(frozen=True)
class Order:
    wish: Wish
    call_ns: float | None
    page_ns: float | None
    plot: Path | None
    csv: Path | None


def recorded(paths: list[Path], scratch: Path) -> Iterator[Recorded]:
    for number, path in enumerate(paths):
        unpacked = unpack(path, scratch / str(number))
        yield Recorded(path, unpacked.path, len(unpacked.processes), unpacked.torn)


def with_progress(tuner: Tuner) -> list[Point]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from hakmem.base.console import stderr_console

    console = stderr_console()
    columns = (TextColumn("the model, {task.total} times"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        runs = sum(trace.runs for trace in tuner.traces)
        task = progress.add_task("", total=len(LADDER) * runs)

        def more(settings: int) -> None:
            progress.update(task, total=(len(LADDER) + settings) * runs)

        return tuner.tuned(lambda: progress.advance(task), more)


def tune(build: Path | None, paths: list[Path], order: Order) -> int:
    from hakmem_lab.tune.report import print_report, write_csv

    check_apart(paths, order.csv, order.plot)
    if order.plot:
        refuse_unless_picture(order.plot)
    tool = find_tool(build, TOOL)
    costs = costs_here(existing(tool.with_name(METER)), order.call_ns, order.page_ns)
    with scratch_folder() as scratch:
        traces = list(recorded(paths, scratch))
        points = with_progress(Tuner(tool, traces, costs))
    chosen = picked(points, order.wish)
    if order.csv:
        write_csv(points, chosen, order.csv)
    if order.plot:
        from hakmem_lab.tune.plots import save_plot

        with written(order.plot):
            save_plot(points, chosen, order.plot)
    print_report(traces, points, chosen, order.wish, costs)
    return 0
