# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem top`: a live view of a process, from the page that it keeps (stats_page) and what the kernel says of it.

    every second: page, /proc/PID/smaps, pagemap and stat -> waterfall, rates since the last look -> the screen, anew
    q, Ctrl-C or the end of the process                   -> the screen as it was before
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
from typing import Any, Optional

from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hakmem.base.console import stdout_console
from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.base.figures import bytes_text
from hakmem.process.counters import ALLOC_ROUTES, FREE_ROUTES
from hakmem.reading.living import gone, why_gone
from hakmem.reading.memory import Waterfall, waterfall_from
from hakmem.reading.resident import mappings_of
from hakmem.reading.stats_page import Page, age_ns, find_page
from hakmem.watching.stats import resident_bytes
from hakmem.watching.top_memory import NS_PER_SECOND, grid, memory_panel
from hakmem.watching.top_sites import LastProfile, last_profile, sites_panel

MODES = ("off", "baseline", "shadow", "evolving", "frozen")
STALE_NS = 5 * NS_PER_SECOND
WIDE_COLUMNS = 132  # from which on panels lie side by side

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
    memory: Waterfall
    faults: int
    at: float  # s


@dataclass
class View:
    pid: int
    name: str
    last: LastProfile
    trouble: str = ""  # why there is no newer look
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


def look_at(pid: int, at: float, profile: Any) -> Look:
    try:
        resident, faults = resident_bytes(pid), faults_of(pid)
    except OSError:
        raise Ended from None
    if resident is None or resident == 0:
        raise Ended
    mappings, page = mappings_of(pid), find_page(str(pid))
    return Look(page, waterfall_from(pid, page, mappings, profile), faults, at)


def look(view: View) -> None:
    """What was seen last stays when nothing is to be seen: the process may be stopped while it writes its page, or be
    about to end."""
    view.last.look()
    try:
        view.add(look_at(view.pid, time.monotonic(), view.last.profile))
        view.trouble = ""
    except Refusal as refusal:
        if not resident_bytes(view.pid):
            raise Ended from None
        if not view.looks:
            raise
        view.trouble = printable(str(refusal))


def name_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        raise gone(pid) from None
    return printable(" ".join(" ".join(os.fsdecode(word) for word in words).split()))


# ---- drawing ----

def memory_of(view: View, columns: int) -> Panel:
    page, memory = view.looks[-1].page, view.looks[-1].memory
    mapped, threads, big = (page.value(name) for name in ("mapped", "threads", "big_blocks"))
    below = f"address space: {bytes_text(mapped)}; threads: {threads:,}; live big blocks: {big:,}"
    below += f"; huge pages: {memory.huge_text}"
    return memory_panel(memory, [each.memory.rss for each in view.looks], below, columns)


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
        if not any(last.page.is_told(row) for row in last.page.rows if row.name in names):
            table.add_row(*(Text(each, style="dim") for each in (label, "not counted", "count_calls=on")))
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
    name = view.name[: max(0, columns - 50)]
    text = Text.assemble((f"hakmem top {view.pid}  ", "bold"), (name, "cyan"), f"  HAKMEM {page.version}")
    text.no_wrap, text.overflow = True, "ellipsis"
    if view.trouble:
        text.append(f"  {view.trouble}", style="yellow")
    elif age > STALE_NS:
        text.append(f"  asleep: as it was {age / NS_PER_SECOND:,.0f} s ago", style="yellow")
    return text


def side_by_side(left: Panel, right: Panel) -> Table:
    left.expand = False
    table = Table.grid(expand=True)
    table.add_column()
    table.add_column(ratio=1)
    table.add_row(left, right)
    return table


def screen(view: View, columns: int) -> Group:
    """What matters most is on top: a short terminal shows so much of it."""
    memory, sites = memory_of(view, columns), sites_panel(view.last, view.pid)
    rates, learner = rates_panel(view), learner_panel(view.looks[-1].page)
    below = [side_by_side(rates, learner)] if columns >= WIDE_COLUMNS else [rates, learner]
    keys = Text("q: quit", style="dim")
    return Group(heading(view, columns), memory, *([sites] if sites is not None else []), *below, keys)


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
    with Live(console=stdout_console(), screen=True, auto_refresh=False) as live:
        while True:
            look(view)
            live.update(screen(view, live.console.width), refresh=True)
            wait_or_quit(interval)


def show_top(pid: int, interval: float) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refusal("top needs a terminal; hakmem stats prints once")
    if stdout_console().is_dumb_terminal:  # on which nothing would be drawn
        raise Refusal(f"top needs a terminal that can be drawn on, and TERM={os.environ['TERM']} is none; hakmem stats prints once")
    find_page(str(pid))
    view = View(pid, name_of(pid), last_profile(pid))
    try:
        with own_terminal():
            watch(view, interval)
    except Ended:
        pass
    if why_gone(pid):
        print(f"process {pid} has ended")
    return 0
