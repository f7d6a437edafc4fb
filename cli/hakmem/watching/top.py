# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem top`: a live view of a process, from the page that it keeps or its memory, and what the kernel says of it.

    every second: page, /proc/PID/smaps, pagemap and stat -> waterfall, rates since the last look -> the screen, anew
    keys and clicks (terminal.py, controls.py)            -> sections, order, scrolled -> the screen, anew
    q, Ctrl-C or the end of the process                   -> the screen as it was before
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from hakmem.base.console import stdout_console
from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.base.figures import bytes_text
from hakmem.process.counters import ALLOC_ROUTES, FREE_ROUTES
from hakmem.reading.find_page import page_of_process
from hakmem.reading.living import gone, why_gone
from hakmem.reading.memory import Waterfall, waterfall_from
from hakmem.reading.resident import mappings_of
from hakmem.reading.start_line import start_line
from hakmem.reading.stats_page import Page, age_ns
from hakmem.watching.controls import Controls
from hakmem.watching.layout import Cell, Section, screen
from hakmem.watching.once import resident_bytes
from hakmem.watching.terminal import Ended, Input, events_until, own_terminal
from hakmem.watching.top_memory import NS_PER_SECOND, facts_text, memory_section
from hakmem.watching.top_sites import LastProfile, last_profile, sites_section

MODES = ("off", "baseline", "shadow", "evolving", "frozen")
STALE_NS = 5 * NS_PER_SECOND
UNLEARNING = ("off", "baseline")  # nothing of the learner is shown
PAGE_BYTES = 4096

# Rates: what it is called, the counters that are added up, how much of them is one.
RATES = (
    ("allocations", ALLOC_ROUTES, 1),
    ("frees", FREE_ROUTES, 1),
    ("kernel calls", ("kernel_map", "kernel_unmap", "kernel_advise", "kernel_remap"), 1),
    ("pages of runs given back", ("release_bytes",), PAGE_BYTES),
    ("pages of slabs given back", ("hole_pages",), 1),
    ("big blocks from freed ones", ("big_hits",), 1),
    ("big blocks' pages moved", ("pages_moved",), 1),
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
    mappings, page = mappings_of(pid), page_of_process(pid)
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

def rates_section(view: View) -> Section:
    last, before = view.looks[-1], view.looks[-2:][0]
    faults = rate_text(view.rate((before.faults, last.faults)))
    rows: list[tuple[Cell, ...]] = [("page faults (kernel)", faults, f"{last.faults:,}")]
    for label, names, size in RATES:
        if not any(last.page.is_told(row) for row in last.page.rows if row.name in names):
            rows.append(tuple(Text(each, style="dim") for each in (label, "-", "not counted")))
            continue
        then, now = (sum_of(each.page, names) // size for each in (before, last))
        rows.append((label, rate_text(view.rate((then, now))), f"{now:,}"))
    return Section("rates", rows, ("rates", "a second", "in all"), "lrr", (1, 2))


def rate_text(rate: Optional[float]) -> str:
    return "-" if rate is None else f"{rate:,.0f}"


def sum_of(page: Page, names: tuple[str, ...]) -> int:
    return sum(page.value(name) for name in names)


def mode_of(page: Page) -> str:
    mode = page.value("mode")
    return MODES[mode] if mode < len(MODES) else str(mode)


def learner_section(page: Page) -> Optional[Section]:
    """None: the mode learns nothing."""
    if mode_of(page) in UNLEARNING:
        return None
    figures = [(label, f"{sum_of(page, names):,}") for label, names in LEARNT]
    rows: list[tuple[Cell, ...]] = [(*one, *other) for one, other in zip(figures[::2], figures[1::2])]
    return Section("learner", rows, (f"learner, {mode_of(page)}", "in all", "", "in all"), "lrlr")


def paid_text(page: Page) -> str:
    paid, base = (sum_of(page, (f"learn_{end}", f"kinds_{end}")) for end in ("paid_ns", "base_ns"))
    return f"{paid / base:.2f} × the price's own keep times" if base else "nothing yet"


def details_section(view: View) -> Section:
    look = view.looks[-1]
    page, memory = look.page, look.memory
    mapped, threads, big = (page.value(name) for name in ("mapped", "threads", "big_blocks"))
    lines = [f"address space: {bytes_text(mapped)}; threads: {threads:,}; live big blocks: {big:,}", facts_text(memory),
             f"huge pages: {memory.huge_text}"]
    if not page.value("counted"):
        lines.append(f"calls are counted by: {start_line(view.pid, '--set count_calls=on')}")
    if page.in_memory:
        lines.append(f"read from its memory; what it takes from now on: hakmem profile {page.pid}")
    if view.last.file is None:
        lines.append(f"sites of all its blocks, and the peak, by: {start_line(view.pid)}")
    if mode_of(page) not in UNLEARNING:
        price, cost, least = page.value("price"), page.value("cost_page"), bytes_text(page.value("threshold"))
        lines.append(f"waits paid: {paid_text(page)}")
        lines.append(f"price: {price:,} ns a MiB and s; a page costs {cost:,} ns; big from {least}")
    return Section("details", [(Text(line, style="dim"),) for line in lines])


def sections(view: View, columns: int) -> list[Section]:
    """What matters most is on top."""
    last, residents = view.looks[-1], [each.memory.rss for each in view.looks]
    found = (
        memory_section(last.memory, residents, columns), sites_section(view.last, view.pid), rates_section(view),
        learner_section(last.page), details_section(view),
    )
    return [section for section in found if section is not None]


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


# ---- the terminal ----

def lines_of(console: Console, group: Group) -> list[str]:
    """As they are drawn, without styles."""
    return ["".join(segment.text for segment in line) for line in console.render_lines(group, pad=False)]


def watch(view: View, interval: float) -> None:
    controls, source = Controls(), Input()
    with Live(console=stdout_console(), screen=True, auto_refresh=False) as live:
        while True:
            look(view)
            due = time.monotonic() + interval
            while show_until(live, view, controls, source, due):
                pass


def show_until(live: Live, view: View, controls: Controls, source: Input, due: float) -> bool:
    """False: it is time for the next look."""
    columns, lines = live.console.size
    found = sections(view, columns)
    drawn = screen(heading(view, columns), controls.shown(found), columns, lines, controls.above, controls.row)
    live.update(drawn.group, refresh=True)
    events = events_until(source, due)
    for event in events:
        controls.take(event, found, drawn, lines_of(live.console, drawn.group))
    return bool(events)


def show_top(pid: int, interval: float) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refusal("top needs a terminal; hakmem top --once needs none")
    if stdout_console().is_dumb_terminal:  # on which nothing would be drawn
        raise Refusal(f"TERM={os.environ['TERM']} is no terminal that top can draw on; hakmem top --once needs none")
    page_of_process(pid)
    view = View(pid, name_of(pid), last_profile(pid))
    try:
        with own_terminal():
            watch(view, interval)
    except Ended:
        pass
    if why_gone(pid):
        print(f"process {pid} has ended")
    return 0
