# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab simulate`: what keep-time policies would have cost the programs of traces.

hak_simulate does the work, a process for each trace; here traces are unpacked for it, several at a time in threads
(both unpacking and waiting leave the interpreter to others), and what it says is put together by program.
"""

from __future__ import annotations

import os
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from hakmem.base.exit import printable
from hakmem.base.stop import stops
from hakmem.reading.unpack import Advance, check, check_apart
from hakmem.tracing.tool import Crew, lines_of
from hakmem_lab.simulate.results import BASELINE, Order, Trace, labelled, programs_of, read_lines


def simulate_one(crew: Crew, tool: Path, path: Path, order: Order, advance: Advance) -> Trace:
    return read_lines(path, *lines_of(crew, [tool, *order.arguments()], path, advance))


def simulate_all(tool: Path, paths: list[Path], order: Order, advance: Advance) -> list[Trace]:
    """In the order given. The first that fails ends all."""
    crew = Crew()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        try:
            stops.hold()
            works = [pool.submit(simulate_one, crew, tool, path, order, advance) for path in paths]
            stops.let_in()
            await_all(works)
            return [work.result() for work in works]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            crew.stop()
            raise


def await_all(works: list[Future[Any]]) -> None:
    """Looks up now and then: a signal that came just before the wait has woken nobody."""
    waiting = True
    while waiting:
        done, rest = wait(works, timeout=0.1, return_when=FIRST_EXCEPTION)
        for work in done:
            work.result()
        waiting = bool(rest)


def with_progress(tool: Path, paths: list[Path], order: Order) -> list[Trace]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from hakmem.base.console import stderr_console

    sizes = [check(path) for path in paths]
    console = stderr_console()
    share = TextColumn("{task.percentage:.0f} %")
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), share, TimeRemainingColumn())
    shown = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with stops.taken(), shown as progress:
        what = f"{len(paths)} traces" if len(paths) > 1 else printable(paths[0].name)
        task = progress.add_task(what, total=sum(sizes))
        return simulate_all(tool, paths, order, lambda read: progress.advance(task, read))


# ---- the command ----

def simulate(
    tool: Path, paths: list[Path], order: Order, plot: Path | None, csv: Path | None, markdown: Path | None
) -> int:
    from hakmem_lab.simulate.tables import print_notes, print_tables, write_csv, write_markdown

    check_apart(paths, csv, markdown)
    traces = with_progress(tool, paths, order)
    print_notes(traces, order)
    programs = labelled([program for trace in traces for program in programs_of(trace)])
    programs.sort(key=lambda program: program.outcomes[BASELINE].cost_ns, reverse=True)
    if programs:
        print_tables(programs, order)
    if csv:
        write_csv(traces, csv)
    if markdown:
        write_markdown(programs, order, markdown)
    if plot and programs:
        from hakmem_lab.simulate.plots import save_plots

        save_plots(programs, plot)
    return 0
