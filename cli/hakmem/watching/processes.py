# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem top` without a process: those that run on HAKMEM, whatever they were started with, the largest first.

    /proc/PID/maps -> an image with HAKMEM's note -> its tables -> where its memory lies; smaps, pagemap -> what of it is resident
                   -> a statistics file, or a table of samples, that it has mapped
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

from rich.table import Table

from hakmem.base.console import stdout_console
from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.base.figures import bytes_text
from hakmem.reading.heap import OWN, big_spans, own_spans
from hakmem.reading.mapped import find_mapped
from hakmem.reading.memory import counted, stretches
from hakmem.reading.resident import mappings_of
from hakmem.reading.stats_page import BIG, MAGIC, METADATA, RUNS, Extent
from hakmem.reading.table_file import ANY_VERSION
from hakmem.reading.tables import Changed, Memory, Tables
from hakmem.watching.layout import Cell, Section, drawn
from hakmem.watching.once import resident_bytes

LIBRARY = "libhakmem"
NONE = "no process that this user may look into runs on HAKMEM: hakmem exec -- PROGRAM starts one"


class Process(NamedTuple):
    pid: int
    resident: int
    heap: Optional[int]  # resident bytes of HAKMEM's memory; None: it cannot be read
    keeps: Optional[str]  # what it keeps for others: files and samples
    command: str


def numbers() -> Iterator[int]:
    """Of the processes that this user may look into, but this one."""
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) != os.getpid():
            try:
                if os.geteuid() in (0, os.stat(f"/proc/{name}").st_uid):
                    yield int(name)
            except OSError:
                continue


def extents_of(tables: Tables) -> Iterator[Extent]:
    """All that is HAKMEM's, without a walk over its range: blocks, free memory and tables."""
    yield Extent(tables.base(), tables.units() * tables.unit_bytes(), RUNS)
    yield Extent(tables.at["meta_first"], tables.n["meta_own"], METADATA)
    for span in (*big_spans(tables), *own_spans(tables)):
        yield Extent(span.start, span.end - span.start, METADATA if span.use == OWN else BIG)


def heap_bytes(tables: Tables) -> int:
    """Resident, as `top PID` has it: by smaps where a mapping is HAKMEM's from end to end, else by its pages."""
    pid = tables.memory.pid
    found = list(stretches(extents_of(tables), mappings_of(pid)))
    parts = [one for one in found if one.end - one.start < one.mapping.end - one.mapping.start]
    whole = sum(one.mapping.rss for one in found if one.end - one.start == one.mapping.end - one.mapping.start)
    return whole + (sum(counted(pid, parts)[0]) if parts else 0)


def kept_by(pid: int, samples: bool) -> Optional[str]:
    words = ["statistics"] if find_mapped(pid, MAGIC) else []
    if find_mapped(pid, ANY_VERSION):
        return ", ".join([*words, "profile"])
    return ", ".join([*words, *["samples"] * samples]) or None


def command_of(pid: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return printable(" ".join(" ".join(os.fsdecode(word) for word in words).split())) or "-"


def look_into(pid: int) -> tuple[Optional[int], bool]:
    """What is resident of HAKMEM's memory, and whether it is sampled now."""
    memory = Memory(pid)
    try:
        tables = Tables(memory)
        return heap_bytes(tables), tables.setting("profile") != 0
    finally:
        memory.close()


def process_of(pid: int) -> Optional[Process]:
    """None: it does not run on HAKMEM, or has ended."""
    try:
        heap, samples = look_into(pid)
    except (Refusal, Changed, struct.error, IndexError, OSError):
        try:
            if LIBRARY not in Path(f"/proc/{pid}/maps").read_text("utf-8", "replace"):
                return None
        except OSError:
            return None
        heap, samples = None, False
    try:
        return Process(pid, resident_bytes(pid) or 0, heap, kept_by(pid, samples), command_of(pid))
    except (Refusal, OSError):
        return None


def processes() -> list[Process]:
    found = (process_of(pid) for pid in numbers())
    return sorted((each for each in found if each is not None), key=lambda each: (-each.resident, each.pid))


# ---- what is printed ----

def facts_of(process: Process) -> dict[str, Any]:
    return {"pid": process.pid, "resident_bytes": process.resident, "hakmem_bytes": process.heap, "keeps": process.keeps,
            "command": process.command}


def row_of(process: Process, keeps: bool) -> tuple[Cell, ...]:
    heap = "?" if process.heap is None else bytes_text(process.heap)
    kept = (process.keeps or "-",) if keeps else ()
    return str(process.pid), bytes_text(process.resident), heap, *kept, process.command


def table_of(found: list[Process]) -> Table:
    """A narrow terminal cuts the last column."""
    keeps = any(each.keeps is not None for each in found)
    heads = ("PID", "resident", "HAKMEM", *(("keeps",) if keeps else ()), "command")
    return drawn(Section("processes", [row_of(each, keeps) for each in found], heads, "rrrll" if keeps else "rrrl"))


def show_processes(as_json: bool) -> int:
    found = processes()
    if as_json:
        print(json.dumps([facts_of(each) for each in found], indent=2))
        return 0
    console = stdout_console()
    if not found:
        console.print(NONE, markup=False, highlight=False)
        return 0
    console.print(table_of(found))
    if any(each.heap is None for each in found):
        console.print("?: not to be read from here; hakmem top --once PID says why", markup=False, highlight=False)
    shown = next((each for each in found if each.heap is not None), found[0])
    console.print(f"one of them: hakmem top {shown.pid}", markup=False, highlight=False)
    return 0
