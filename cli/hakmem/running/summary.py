# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `hakmem run` prints, on stderr: short, aligned, and nothing the checks have not passed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hakmem.base.exit import printable
from hakmem.base.plain import Cell, Table, show
from hakmem.process.counters import ROUTES, Comparison
from hakmem.process.launch import Figures

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


def ratio(hakmem: float, glibc: float) -> Cell:
    if glibc <= 0:
        return Cell("-")
    value = hakmem / glibc
    return Cell(f"{value:.2f}x", "green" if value <= BETTER else "red" if value >= WORSE else "")


def figures_table(report: Report) -> Table:
    table = Table("", "HAKMEM", "glibc", "ratio")
    for measure in MEASURES:
        ours, theirs = min(map(measure.of, report.hakmem)), min(map(measure.of, report.glibc))
        amounts = (measure.text(amount, max(ours, theirs)) for amount in (ours, theirs))
        table.add(Cell(measure.label), *map(Cell, amounts), ratio(ours, theirs))
    return table


def figures_note(report: Report) -> str:
    runs = len(report.hakmem)
    how = "one run each" if runs == 1 else f"smallest of {runs} runs each, taken in turn"
    return f"({how}; below 1.00x HAKMEM needs less)"


# ---- calls ----

def routes_table(calls: Comparison) -> Table:
    table = Table("calls by route", "allocations", "frees")
    for route in ROUTES:
        allocs, frees = calls.routes[f"alloc_{route}"], calls.routes[f"free_{route}"]
        if allocs or frees or route not in RARE_ROUTES:
            table.add(*map(Cell, route_row(route, allocs, frees)))
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
    return f"glibc: the program brings {printable(report.replaced)}; its glibc runs had libc.so.6 preloaded, proven likewise"


def unserved_line(calls: Comparison) -> str:
    text = f"calls HAKMEM did not serve: {calls.unserved:,} of {calls.probed:,} that the probe counted"
    return text + (f" (HAKMEM saw {calls.unseen:,} more)" if calls.unseen else "")


def notes(report: Report) -> list[str]:
    """What the reader must know to read the figures rightly."""
    found = [f"note: not on HAKMEM, and not in these counts: {printable(reason)}" for reason in report.escaped]
    if not report.followed:
        found.append("note: tracing is not allowed here, so a child that drops LD_PRELOAD would go unnoticed")
    if report.left_behind:
        found.append("note: the program left processes running; what they did after its end is in no figure")
    return found


def print_report(report: Report) -> None:
    show("")
    show(f"hakmem run: {printable(report.program)}", style="bold")
    show("", *figures_table(report).lines(sys.stderr), figures_note(report))
    show("", identity_line(report), *([replaced_line(report)] if report.replaced else []))
    show("", *routes_table(report.calls).lines(sys.stderr))
    show("(from a counted run of the same command, not timed)", unserved_line(report.calls), *notes(report))
