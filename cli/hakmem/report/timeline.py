# SPDX-License-Identifier: MIT OR Apache-2.0
"""How a process's memory changes while it is watched, from outside: resident by the kernel, the rest by its own page.

    every 50 ms: /proc/PID/statm, and the page of HAKMEM_STATS_FILE, or what its memory says -> seconds, resident, live,
                                                                                               kept free
A look into its memory takes longer: then there is a rest of four times as long between two.
"""

from __future__ import annotations

import time
from typing import Any, Optional

from hakmem.base.errors import Refusal
from hakmem.base.streams import show_progress
from hakmem.reading.find_page import page_of_process
from hakmem.reading.memory import KEPT_ROWS, Waterfall
from hakmem.reading.stats_page import Page
from hakmem.watching.once import resident_bytes

PAUSE_SECONDS = 0.05
POINTS_MOST = 1_200
REST = 4  # times as long as a look takes


def page_of(pid: int) -> tuple[Optional[Page], str]:
    """Or why there is none."""
    try:
        return page_of_process(pid), ""
    except Refusal as refusal:
        return None, f"{refusal}."


def point(pid: int, seconds: float, page: Optional[Page]) -> list[Any]:
    resident = resident_bytes(pid)
    if not resident:
        raise Refusal(f"process {pid} ended while it was watched")
    if page is None:
        return [round(seconds, 3), resident, None, None]
    return [round(seconds, 3), resident, page.value("in_use"), sum(page.value(name) for name in KEPT_ROWS)]


def end_with(timeline: dict[str, Any], memory: Waterfall) -> None:
    """What the parts of RSS are of is the last point: else the same figure would have two values on a page."""
    points = timeline["points"]
    last = [round(points[-1][0] + PAUSE_SECONDS, 3), memory.rss, memory.live, memory.kept]
    timeline["points"] = [*points, last]


def watch(pid: int, seconds: float) -> dict[str, Any]:
    """The pause grows with the time, so that the page stays small."""
    start = time.monotonic()
    page, why = page_of(pid)
    looked = time.monotonic() - start
    pause = max(PAUSE_SECONDS, seconds / POINTS_MOST, REST * looked if page is not None and page.in_memory else 0)
    start = time.monotonic()
    points = [point(pid, 0, page)]
    while (left := start + seconds - time.monotonic()) > 0 or (seconds and len(points) == 1):  # a look may take as long
        show_progress(f"watches process {pid}: {max(0.0, left):.0f} s left")
        time.sleep(max(0.0, min(pause, left)))
        at = time.monotonic() - start
        points.append(point(pid, at, page and page_of(pid)[0]))
    show_progress("")
    return {"points": points, "note": f"Only what is resident is known: {why}" if page is None else ""}
