# SPDX-License-Identifier: MIT OR Apache-2.0
"""The statistics of a process or of a file, from where they are to be had.

    PID -> the page that the process keeps with HAKMEM_STATS_FILE (stats_page.py)
        -> where it keeps none, its memory (memory_page.py): the process needs no setting
    FILE -> the page, also of a process that has ended
"""

from __future__ import annotations

from pathlib import Path

from hakmem.reading.mapped import find_mapped, number_of
from hakmem.reading.memory_page import page_in_memory
from hakmem.reading.stats_page import MAGIC, Page, read_page


def page_of_process(pid: int) -> Page:
    kept = find_mapped(pid, MAGIC)
    return read_page(kept[0], kept[1])._replace(pid=pid) if kept else page_in_memory(pid)


def find_page(asked: str) -> Page:
    """Of a process, by its number, or a file."""
    pid = number_of(asked)
    return read_page(Path(asked), asked) if pid is None else page_of_process(pid)
