# SPDX-License-Identifier: MIT OR Apache-2.0
"""A heap profile from the samples in another process's memory, as its own file of samples would give it (table_file.py).

    rows, stacks (samples.py)     -> what is live, and what was ever taken, while calls were sampled; since a mark
    /proc/PID/maps, notes         -> images with their build-ids
    counters, states              -> what was sampled and lost, what is in use
"""

from __future__ import annotations

import struct
import time
from pathlib import Path
from typing import Any, NamedTuple, Optional

from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.reading.living import gone, refuse_if_gone
from hakmem.reading.memory_page import counters_of, page_from
from hakmem.reading.pprof import Profile
from hakmem.reading.samples import period_of, place_at, samples_of, stacks_of
from hakmem.reading.table_file import IMAGES_MOST, PLACE_FRAME, TYPES_NOW, Builder, Damaged, Facts, Image, PLACES_MOST, Place, Stack, Table, lost_rows, sums
from hakmem.reading.tables import Area, Changed, Memory, Tables, notes_of

TRIES = 10
STACKS_MOST, DEPTH_MOST = 1 << 17, 128  # src/record/profile_samples.h
GNU, BUILD_ID, ID_MOST = b"GNU\0", 3, 32
Sums = tuple[float, float, float]  # blocks, bytes, bytes asked for


# ---- images ----

def build_id_of(memory: Memory, base: int) -> str:
    try:
        found = next(notes_of(memory, base, GNU, BUILD_ID), None)
    except (Changed, struct.error):
        return ""
    return found[1][:ID_MOST].hex() if found else ""


def images_of(memory: Memory) -> list[Image]:
    """Executable mappings of files. A file's begin is mapped below them."""
    starts: dict[str, Area] = {}
    found = []
    for area in memory.areas:
        if area.offset == 0 and area.path.startswith("/"):
            starts[area.path] = area
        if "x" in area.rights and area.path.startswith(("/", "[vdso]")) and len(found) < IMAGES_MOST:
            start = starts.get(area.path)
            id_ = build_id_of(memory, start.first) if start else ""
            found.append(Image(area.first, area.end, area.offset, 0, id_, area.path.removesuffix(" (deleted)")))
    return found


# ---- the table ----

class Mark(NamedTuple):
    """A moment, and what had been taken by then: earlier samples count as none."""

    wall_ns: int  # of the wall clock
    clock_ns: int = 0  # of CLOCK_MONOTONIC; 0: all samples count
    taken: dict[int, Sums] = {}  # by a stack's address
    sampled: int = 0
    lost: int = 0


def sums_by_stack(tables: Tables) -> dict[int, Sums]:
    found: dict[int, Sums] = {}
    for taken in stacks_of(tables):
        if len(found) == STACKS_MOST:
            raise Changed
        asked = struct.unpack("<d", tables.memory.read(taken.stack + tables.n["stack_taken"] + 16, 8))[0]
        found[taken.stack] = sums(taken.blocks, taken.bytes, asked)
    return found


def counted(tables: Tables) -> tuple[int, int]:
    """Blocks that were sampled, and samples that were lost."""
    values = {row.name: row.value for row in counters_of(tables)}
    return values.get("samples", 0), values.get("samples_lost", 0)


def mark_of(tables: Tables) -> Mark:
    """What counts more is read first, so that none of what counts less is from before: totals, stacks, then the clock."""
    totals, by_stack = counted(tables), sums_by_stack(tables)
    return Mark(time.time_ns(), time.clock_gettime_ns(time.CLOCK_MONOTONIC), by_stack, *totals)


def stacks_in(tables: Tables, since: Mark) -> dict[int, tuple[int, Stack]]:
    """By their address: a number, and the stack. None that took nothing since."""
    found: dict[int, tuple[int, Stack]] = {}
    for at, taken in sums_by_stack(tables).items():
        more = sums(*(max(0.0, now - then) for now, then in zip(taken, since.taken.get(at, (0, 0, 0)))))
        if more[0] > 0:
            depth = min(DEPTH_MOST, tables.field(at, "stack_depth", 4))
            found[at] = len(found), Stack(tables.memory.words(at + tables.n["stack_frame"], depth), more)
    return found


def places_in(tables: Tables, stacks: dict[int, tuple[int, Stack]]) -> dict[int, Place]:
    frames = {frame for _, stack in stacks.values() for frame in stack.frames if frame & PLACE_FRAME}
    return {frame: place_at(tables, frame) for frame in sorted(frames)[:PLACES_MOST]}


def table_in(tables: Tables, since: Mark) -> Table:
    """The process samples on while it is read: blocks, then their stacks, then totals, so that each has those before."""
    program = printable(Path(f"/proc/{tables.memory.pid}/comm").read_text("utf-8", "replace").strip())
    live = list(samples_of(tables))
    stacks = stacks_in(tables, since)
    (sampled, lost), in_use = counted(tables), page_from(tables).value("in_use")
    facts = Facts(**dict.fromkeys(Facts._fields, 0) | {
        "pid": tables.memory.pid, "since_ns": since.wall_ns, "mean": period_of(tables),
        "sampled": max(0, sampled - since.sampled), "lost": max(0, lost - since.lost), "program": program, "in_use": in_use,
    })
    rows = [(each.address, each.bytes, each.asked, each.weight, stacks[each.stack][0])
            for each in live if each.stack in stacks and each.taken_ns >= since.clock_ns]
    return Table(facts, rows, dict(stacks.values()), images_of(tables.memory), places_in(tables, stacks))


def profile_from(memory: Memory, since: Mark) -> Any:
    table = table_in(Tables(memory), since)
    lost = lost_rows(table)
    profile = Profile()
    builder = Builder(profile, table, TYPES_NOW)
    builder.add_types()
    builder.add_mappings()
    builder.add_samples()
    builder.add_comment(lost, Path(f"/proc/{memory.pid}/exe"))  # a file that it has mapped: it runs
    profile.time_nanos = since.wall_ns
    if since.clock_ns:
        profile.duration_nanos = max(0, time.clock_gettime_ns(time.CLOCK_MONOTONIC) - since.clock_ns)
    return profile


def profile_in_memory(pid: int, since: Optional[Mark] = None) -> Any:
    """Of a process whose calls are or were sampled. since: what samples count; None: all."""
    for _ in range(TRIES):
        memory = Memory(pid)
        try:
            return profile_from(memory, since or Mark(time.time_ns()))
        except FileNotFoundError:
            raise gone(pid) from None
        except Damaged:
            raise Refusal(f"process {pid}: its table of samples is damaged") from None
        except (Changed, struct.error, IndexError, OSError):
            refuse_if_gone(pid)
        finally:
            memory.close()
    raise Refusal(f"process {pid} ends, or changes its memory faster than it can be read")
