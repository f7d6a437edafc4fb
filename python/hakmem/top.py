# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem top`: a live view of a process, from the page that it keeps (stats_page) and what the kernel says of it.

    every second: page, /proc/PID/statm and stat -> rates since the last look -> the screen, anew
    q, Ctrl-C or the end of the process          -> the screen as it was before
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Optional

from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hakmem.counters import ALLOC_ROUTES, FREE_ROUTES
from hakmem.errors import Refusal
from hakmem.stats import NS_PER_SECOND, resident_bytes
from hakmem.stats_page import Page, age_ns, find_page

BLOCKS = "▁▂▃▄▅▆▇█"
MODES = ("off", "baseline", "shadow", "evolving", "frozen")
BAR_COLUMNS = 24
STALE_NS = 5 * NS_PER_SECOND

# What the memory is: name of the row, what it is called here, its colour.
MEMORY = (
    ("in_use", "live blocks", "green"), ("cached", "in caches", "cyan"), ("big_cached", "big, kept free", "yellow"),
    ("span_dirty", "runs, kept free", "yellow"), ("holes", "holes in slabs", "dim"),
    ("metadata", "own tables", "magenta"),
)
# Rates: what it is called, the counters that are added up, whether they are bytes.
RATES = (
    ("allocations", ALLOC_ROUTES, False),
    ("frees", FREE_ROUTES, False),
    ("kernel calls", ("kernel_map", "kernel_unmap", "kernel_advise", "kernel_remap"), False),
    ("given back", ("release_bytes",), True),
    ("pages of slabs given back", ("hole_pages",), False),
    ("big blocks from freed ones", ("big_hits",), False),
    ("big blocks' pages moved", ("pages_moved",), False),
)
LEARNT = (
    ("waits learnt from", ("learn_waits", "kinds_waits")),
    ("keep times chosen", ("learn_decisions", "kinds_decisions")),
    ("caches chosen", ("learn_caches",)), ("classes added", ("learn_classes",)),
    ("windows", ("learn_windows",)), ("arms changed", ("learn_changes",)),
    ("settled", ("learn_frozen",)), ("learnt anew", ("learn_alarms",)),
)


@dataclass(frozen=True)
class Look:
    page: Page
    resident: int
    faults: int
    at: float  # s


@dataclass
class View:
    pid: int
    name: str
    looks: list[Look] = field(default_factory=list)  # of the last minutes, for the curve

    def add(self, look: Look) -> None:
        self.looks = [*self.looks[-299:], look]

    def rate(self, values: tuple[float, float]) -> Optional[float]:
        """Per second, between the last two looks."""
        if len(self.looks) < 2 or self.looks[-1].at <= self.looks[-2].at:
            return None
        return (values[1] - values[0]) / (self.looks[-1].at - self.looks[-2].at)


class Ended(Exception):
    """Of the process, or by whoever watches it."""


# ---- looking ----

def faults_of(pid: int) -> int:
    """Page faults, minor and major."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    return int(fields[7]) + int(fields[9])


def look_at(pid: int, at: float) -> Look:
    try:
        resident, faults = resident_bytes(pid), faults_of(pid)
    except OSError:
        raise Ended from None
    if resident is None or resident == 0:
        raise Ended
    return Look(find_page(str(pid)), resident, faults, at)


def name_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        raise Refusal(f"there is no process {pid}") from None
    return " ".join(os.fsdecode(word) for word in words).strip()


# ---- drawing ----

def bytes_text(number: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(number) < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


def curve(values: list[int], columns: int) -> str:
    shown = values[-columns:]
    most = max(shown, default=0) or 1
    return "".join(BLOCKS[min(value * len(BLOCKS) // most, len(BLOCKS) - 1)] for value in shown)


def bar(part: int, whole: int, style: str) -> Text:
    full = min(BAR_COLUMNS, round(BAR_COLUMNS * part / whole)) if whole else 0
    return Text("█" * full, style=style) + Text("·" * (BAR_COLUMNS - full), style="dim")


def grid(*columns: str) -> Table:
    table = Table.grid(padding=(0, 2))
    for justify in columns:
        table.add_column(justify=justify, no_wrap=True)  # type: ignore[arg-type]
    return table


def memory_panel(view: View, columns: int) -> Panel:
    look = view.looks[-1]
    table = grid("left", "right", "left")
    residents = [each.resident for each in view.looks]
    table.add_row("resident (kernel)", bytes_text(look.resident), Text(curve(residents, columns)))
    for name, label, style in MEMORY:
        value = look.page.value(name)
        table.add_row(label, bytes_text(value), bar(value, look.resident, style))
    mapped, threads, big = (look.page.value(name) for name in ("mapped", "threads", "big_blocks"))
    table.add_row("address space", bytes_text(mapped), f"threads: {threads:,}; live big blocks: {big:,}")
    return Panel(table, title="memory", title_align="left")


def rate_text(rate: Optional[float], is_bytes: bool) -> str:
    if rate is None:
        return "-"
    return f"{bytes_text(rate)}/s" if is_bytes else f"{rate:,.0f}/s"


def rates_panel(view: View) -> Panel:
    last, before = view.looks[-1], view.looks[-2:][0]
    table = grid("left", "right", "right")
    table.add_row("", Text("now", style="bold"), Text("in all", style="bold"))
    table.add_row("page faults (kernel)", rate_text(view.rate((before.faults, last.faults)), False), f"{last.faults:,}")
    for label, names, is_bytes in RATES:
        then, now = sum_of(before.page, names), sum_of(last.page, names)
        whole = bytes_text(now) if is_bytes else f"{now:,}"
        if label in ("allocations", "frees") and now == 0:
            table.add_row(*(Text(each, style="dim") for each in (label, "not counted", "HAKMEM_COUNT=on")))
            continue
        table.add_row(label, rate_text(view.rate((then, now)), is_bytes), whole)
    return Panel(table, title="rates", title_align="left")


def sum_of(page: Page, names: tuple[str, ...]) -> int:
    return sum(page.value(name) for name in names)


def paid_text(page: Page) -> str:
    paid, base = (sum_of(page, (f"learn_{end}", f"kinds_{end}")) for end in ("paid_ns", "base_ns"))
    return f"{paid / base:.2f} × the price's own keep times" if base else "nothing yet"


def learner_panel(page: Page) -> Panel:
    table = grid("left", "right", "left", "right")
    mode = page.value("mode")
    table.add_row(
        "mode", MODES[mode] if mode < len(MODES) else str(mode), "price", f"{page.value('price'):,} ns a MiB and s"
    )
    table.add_row(
        "a page costs", f"{page.value('cost_page'):,} ns", "big from", bytes_text(page.value("threshold"))
    )
    for n in range(0, len(LEARNT), 2):
        (one, first), (other, second) = LEARNT[n : n + 2]
        table.add_row(one, f"{sum_of(page, first):,}", other, f"{sum_of(page, second):,}")
    return Panel(Group(table, f"waits paid: {paid_text(page)}"), title="learner", title_align="left")


def heading(view: View, columns: int) -> Text:
    page = view.looks[-1].page
    age = age_ns(page)
    text = Text(f"hakmem top {view.pid}  ", style="bold") + Text(view.name[: max(0, columns - 50)], style="cyan")
    text.append(f"  HAKMEM {page.version}")
    if age > STALE_NS:
        text.append(f"  asleep: as it was {age / NS_PER_SECOND:,.0f} s ago", style="yellow")
    return text


def screen(view: View, columns: int) -> Group:
    page = view.looks[-1].page
    keys = Text("q: quit", style="dim")
    return Group(
        heading(view, columns), memory_panel(view, max(10, columns - 40)), rates_panel(view), learner_panel(page), keys
    )


# ---- the terminal ----

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_at(_number: int, _frame: FrameType | None) -> None:
    raise Ended


@contextmanager
def own_terminal() -> Iterator[None]:
    """Keys come one by one, and signals raise Ended; both as before at the end."""
    before = termios.tcgetattr(sys.stdin.fileno())
    handlers = {number: signal.signal(number, end_at) for number in STOPS}
    tty.setcbreak(sys.stdin.fileno())
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)


def wait_or_quit(seconds: float) -> None:
    ready, _, _ = select.select([sys.stdin.fileno()], [], [], seconds)
    if ready and os.read(sys.stdin.fileno(), 64)[:1] in (b"q", b"Q", b"\x1b", b""):
        raise Ended


def watch(view: View, interval: float) -> None:
    with Live(screen=True, auto_refresh=False) as live:
        while True:
            view.add(look_at(view.pid, time.monotonic()))
            live.update(screen(view, live.console.width), refresh=True)
            wait_or_quit(interval)


def show_top(pid: int, interval: float) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refusal("top needs a terminal; hakmem stats prints once")
    find_page(str(pid))
    view = View(pid, name_of(pid))
    try:
        with own_terminal():
            watch(view, interval)
    except Ended:
        pass
    if not Path(f"/proc/{pid}").exists():
        print(f"process {pid} has ended")
    return 0
