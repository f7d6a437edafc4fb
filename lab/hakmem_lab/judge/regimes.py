# SPDX-License-Identifier: MIT OR Apache-2.0
"""The state of the machine's huge pages just before a run.

    ready     500 MiB of huge pages were freed a moment ago, so that the kernel has them at hand
    rested    three seconds of rest: a virtual machine's host takes free memory back, and huge pages are dear
    asis      nothing is prepared
    counted   not timed: one run under cachegrind, which counts instructions and simulates misses (counted.py)
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from time import sleep

READY_BYTES = 500 << 20
HUGE = 2 << 20
REST_SECONDS = 3
COUNTED = "counted"


def ready() -> None:
    with mmap.mmap(-1, READY_BYTES + HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, READY_BYTES, mmap.PAGESIZE):
            memory[at] = 1


def rested() -> None:
    sleep(REST_SECONDS)


REGIMES: dict[str, Callable[[], None]] = {"ready": ready, "rested": rested, "asis": lambda: None}
