# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `hakmem run` prints, on stderr: short, aligned, and nothing the checks have not passed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from hakmem.console import stderr_console
from hakmem.counters import ROUTES, Comparison
from hakmem.launch import Figures

BETTER, WORSE = 0.98, 1.02
RARE_ROUTES = ("failed", "null")


@dataclass(frozen=True)
class Report:
    """All that is printed about one program."""

    program: str
    so_file: Path
    hakmem: list[Figures]
    glibc: list[Figures]
    children: list[int]
    replaced: str | None
    calls: Comparison
    escaped: list[str]
    followed: bool
    left_behind: bool


# ---- figures ----

def seconds(value: float, largest: float) -> str:
    return f"{value:.3f} s" if largest >= 1 else f"{value * 1e3:.1f} ms"


def mebibytes(value: float, _largest: float) -> str:
    return f"{value:.1f} MiB"


def whole(value: float, _largest: float) -> str:
    return f"{value:,.0f}"


@dataclass(frozen=True)
class Measure:
    label: str
    of: Callable[[Figures], float]
    text: Callable[[float, float], str]


MEASURES = (
    Measure("wall time", lambda f: f.wall_ns / 1e9, seconds),
    Measure("CPU time", lambda f: (f.user_us + f.sys_us) / 1e6, seconds),
    Measure("peak RSS", lambda f: f.maxrss_kib / 1024, mebibytes),
    Measure("page faults", lambda f: f.minflt + f.majflt, whole),
)


def ratio_text(hakmem: float, glibc: float) -> Text:
    if glibc <= 0:
        return Text("-")
    ratio = hakmem / glibc
    style = "green" if ratio <= BETTER else "red" if ratio >= WORSE else ""
    return Text(f"{ratio:.2f}x", style=style)


def plain_table() -> Table:
    return Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")


def figures_table(report: Report) -> Table:
    table = plain_table()
    table.add_column("")
    for heading in ("HAKMEM", "glibc", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    for measure in MEASURES:
        ours, theirs = min(map(measure.of, report.hakmem)), min(map(measure.of, report.glibc))
        largest = max(ours, theirs)
        table.add_row(
            measure.label, measure.text(ours, largest), measure.text(theirs, largest), ratio_text(ours, theirs)
        )
    return table


def figures_note(report: Report) -> str:
    runs = len(report.hakmem)
    how = "one run each" if runs == 1 else f"smallest of {runs} runs each, taken in turn"
    return f"({how}; below 1.00x HAKMEM needs less)"


# ---- calls ----

def routes_table(calls: Comparison) -> Table:
    table = plain_table()
    table.add_column("calls by route")
    table.add_column("allocations", justify="right", no_wrap=True)
    table.add_column("frees", justify="right", no_wrap=True)
    for route in ROUTES:
        allocs, frees = calls.routes[f"alloc_{route}"], calls.routes[f"free_{route}"]
        if allocs or frees or route not in RARE_ROUTES:
            table.add_row(*route_row(route, allocs, frees))
    return table


def route_row(route: str, allocs: int, frees: int) -> tuple[str, str, str]:
    """A dash where the route cannot be taken."""
    labels = {"in_place": "in place", "null": "of NULL"}
    return (
        labels.get(route, route),
        "-" if route == "null" else f"{allocs:,}",
        "-" if route in ("in_place", "failed") else f"{frees:,}",
    )


# ---- lines ----

def children_text(children: list[int]) -> str:
    least, most = min(children), max(children)
    number = str(least) if least == most else f"{least} to {most}"
    return "no children" if most == 0 else f"{number} {'child' if most == 1 else 'children'}"


def identity_line(report: Report) -> str:
    family = children_text(report.children)
    where = "in the process (it has no children)" if family == "no children" else f"in the process and {family}"
    runs = len(report.hakmem)
    when = "in the timed run" if runs == 1 else f"in each of the {runs} timed runs"
    return f"served by HAKMEM: malloc and free are those of {report.so_file}\n  {where}, {when}"


def replaced_line(report: Report) -> str:
    return f"glibc: the program brings {report.replaced}; its glibc runs had libc.so.6 preloaded, proven likewise"


def unserved_line(calls: Comparison) -> str:
    text = f"calls HAKMEM did not serve: {calls.unserved:,} of {calls.probed:,} that the probe counted"
    return text + (f" (HAKMEM saw {calls.unseen:,} more)" if calls.unseen else "")


def notes(report: Report) -> list[str]:
    """What the reader must know to read the figures rightly."""
    found = [f"note: not on HAKMEM, and not in these counts: {reason}" for reason in report.escaped]
    if not report.followed:
        found.append("note: tracing is not allowed here, so a child that drops LD_PRELOAD would go unnoticed")
    if report.left_behind:
        found.append("note: the program left processes running; what they did after its end is in no figure")
    return found


def print_report(report: Report) -> None:
    console = stderr_console()
    console.print()
    console.print(Text(f"hakmem run: {report.program}", style="bold"))
    console.print()
    console.print(figures_table(report))
    console.print(figures_note(report))
    console.print()
    console.print(identity_line(report))
    if report.replaced:
        console.print(replaced_line(report))
    console.print()
    console.print(routes_table(report.calls))
    console.print("(from a counted run of the same command, not timed)")
    console.print(unserved_line(report.calls))
    for note in notes(report):
        console.print(note)
