# SPDX-License-Identifier: MIT OR Apache-2.0
"""How a process's memory changes while it is watched, from outside: resident by the kernel, the rest by its own page.

    every 50 ms: /proc/PID/statm, and with HAKMEM_STATS_FILE the page -> seconds, resident, live, kept free
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Optional

from hakmem.base.errors import Refusal
from hakmem.reading.mapped import mapped_file
from hakmem.reading.memory import KEPT_ROWS, Waterfall
from hakmem.reading.stats_page import ASK_FOR_IT, MAGIC, read_page
from hakmem.watching.once import resident_bytes

PAUSE_SECONDS = 0.05
POINTS_MOST = 1_200


def page_file(pid: int) -> Optional[Path]:
    try:
        return mapped_file(pid, MAGIC, "")[0]
    except Refusal:
        return None


def point(pid: int, page: Optional[Path], seconds: float) -> list[Any]:
    resident = resident_bytes(pid)
    if not resident:
        raise Refusal(f"process {pid} ended while it was watched")
    if page is None:
        return [round(seconds, 3), resident, None, None]
    facts = read_page(page, str(page))
    return [round(seconds, 3), resident, facts.value("in_use"), sum(facts.value(name) for name in KEPT_ROWS)]


def end_with(timeline: dict[str, Any], memory: Waterfall) -> None:
    """What the parts of RSS are of is the last point: else the same figure would have two values on a page."""
    points = timeline["points"]
    last = [round(points[-1][0] + PAUSE_SECONDS, 3), memory.rss, memory.live, memory.kept]
    timeline["points"] = [*points, last]


def watch(pid: int, seconds: float) -> dict[str, Any]:
    """The pause grows with the time, so that the page stays small."""
    page, pause = page_file(pid), max(PAUSE_SECONDS, seconds / POINTS_MOST)
    start = time.monotonic()
    points = [point(pid, page, 0)]
    while (left := start + seconds - time.monotonic()) > 0:
        time.sleep(min(pause, left))
        points.append(point(pid, page, time.monotonic() - start))
    note = "" if page else f"The process keeps no statistics, so only what is resident is known: {ASK_FOR_IT}."
    return {"points": points, "note": note}
