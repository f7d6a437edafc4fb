# SPDX-License-Identifier: MIT OR Apache-2.0
"""The sites section of `hakmem top`: who holds memory, as the profile says that the process wrote last.

    HAKMEM_PROFILE_FILE of the process -> PATH.<pid>, when it is another file than before -> a thread reads and names it
    a table of samples that it has mapped (hakmem exec --watch) -> the same, every TABLE_SECONDS

Nothing is asked of the process: it writes a profile when it is told to (docs/guide/watch-and-profile.md), and the section says how old it is.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from rich.text import Text

from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.base.figures import unit_of_column
from hakmem.watching.layout import Cell, Section

ROWS, ROWS_MOST = 5, 100  # beside other sections; alone
SECONDS_MOST = 120  # after which an age is told in minutes
TABLE_SECONDS = 5.0


@dataclass(frozen=True)
class Site:
    place: str
    bytes: int
    blocks: int


@dataclass
class LastProfile:
    """Of one process; `look` is quick, and what it finds comes a moment later."""

    file: Optional[Path]  # None: the process writes none
    is_table: bool = False  # which is always of now
    seen: Optional[tuple[int, int]] = None
    written: float = 0.0  # s since 1970, as all else is of the profile that is shown
    profile: Any = None
    sites: tuple[Site, ...] = ()
    trouble: str = ""
    samples: float = 0
    mark: str = ""  # of what is an estimate
    thread: Optional[threading.Thread] = field(default=None, repr=False)

    def look(self) -> None:
        if self.file is None or (self.thread is not None and self.thread.is_alive()):
            return
        state = self.state()
        if state is None or state == self.seen:
            return
        self.seen = state
        self.thread = threading.Thread(target=self.read, args=(self.file, state[1] / 1e9), daemon=True)
        self.thread.start()

    def state(self) -> Optional[tuple[int, int]]:
        """Another one when there is something new to read; when that was written [ns]. None: there is nothing."""
        from hakmem.profiling.profile import state_of

        now = time.time()
        if self.is_table and self.seen and now - self.written < TABLE_SECONDS:
            return self.seen
        state = state_of(self.file) if self.file else None
        return (state[0], int(now * 1e9)) if state and self.is_table else state

    def read(self, file: Path, written: float) -> None:
        from hakmem.reading.estimate import evidence_of, is_sampled, sum_of
        from hakmem.reading.pprof import read
        from hakmem.reading.scale import scaled

        try:
            profile = scaled(read(file))
            sites = sites_of(profile, file)
        except Refusal as refusal:
            self.trouble = printable(str(refusal))
        else:
            self.samples, self.mark = sum_of(evidence_of(profile)).samples, "≈ " * is_sampled(profile)
            self.profile, self.sites, self.written, self.trouble = profile, sites, written, ""


def last_profile(pid: int) -> LastProfile:
    from hakmem.profiling.profile import path_of, table_file_of

    try:
        if (table := table_file_of(pid)) is not None:
            return LastProfile(table, is_table=True)
        return LastProfile(path_of(pid))
    except Refusal:
        return LastProfile(None)


def name_of(row: tuple[str, str, str], line: int) -> str:
    from hakmem.profiling.profile import place_text
    from hakmem.reading.symbols import Frame

    return place_text(Frame(row[0], Path(row[1]).name if row[1] else "", line))


def sites_of(profile: Any, file: Path) -> tuple[Site, ...]:
    """The places of `hakmem report`: who asks for what is live, those with the most first."""
    from hakmem.profiling.flame import VALUES, sites_of, stacks_of
    from hakmem.reading.symbols import Names, root_before

    stacks = stacks_of(profile, Names(profile, root_before(file)))
    space, objects = VALUES.index("inuse_space"), VALUES.index("inuse_objects")
    rows = sorted(sites_of(stacks)["rows"], key=lambda row: -row[2][space])[:ROWS_MOST]
    return tuple(
        Site(name_of(stacks.functions.rows[function], line), values[space], values[objects])
        for function, line, values, *_ in rows if values[space]
    )


def age_text(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds <= SECONDS_MOST else f"{seconds / 60:,.0f} min"


def about(last: LastProfile) -> str:
    if last.profile is None:
        return "top sites"
    estimates = f", estimates from {last.samples:,.0f} samples" if last.mark else ""
    return f"top sites{estimates}, of a profile {age_text(max(0.0, time.time() - last.written))} old"


def sites_section(last: LastProfile, pid: int) -> Optional[Section]:
    """None: the process writes no profiles."""
    if last.file is None:
        return None
    unit, size = unit_of_column(max((site.bytes for site in last.sites), default=0))
    rows: list[tuple[Cell, ...]] = []
    if last.trouble:
        rows.append(("", "", Text(last.trouble, style="yellow")))
    elif last.profile is None:
        rows.append(("", "", Text(f"no profile yet; hakmem profile {pid} has it written", style="dim")))
    rows += [(f"{last.mark}{site.bytes / size:,.1f}", f"{last.mark}{site.blocks:,}", site.place) for site in last.sites]
    return Section("sites", rows, (unit, "blocks", about(last)), "rrl", (0, 1), ROWS)
