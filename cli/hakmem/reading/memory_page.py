# SPDX-License-Identifier: MIT OR Apache-2.0
"""The statistics of a process that keeps no page, from its memory: the same rows and extents as the page has.

    counters           g_counter, and the tally of kernel calls, with the names and helps that the library has
    states, extents    summed up over HAKMEM's tables (heap.py), with what the library counts itself

What only the process can know is left out (LEFT_OUT). The process runs meanwhile: the rows are moments apart.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator

from hakmem.base.errors import Refusal
from hakmem.reading.heap import BIG_KEPT, LIVE, OWN, Heap, Span, heap_of
from hakmem.reading.living import refuse_if_gone
from hakmem.reading.stats_page import (
    BIG, COUNTER, EMPTY, EXTENTS_MOST, KEPT, METADATA, ROWS_MOST, RUNS, STATE, Extent, Page, Row, is_sound, text, unit_of,
)
from hakmem.reading.tables import Changed, Memory, Tables

TRIES = 10
TEXT_MOST = 256  # bytes of a name or a help
LEFT_OUT = ("cost_huge", "huge_state")  # rows
THRESHOLD_STEP = 512 << 10
THRESHOLDS = (1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)  # of these, as learnt (src/base/arms.c)
CLEAN_RUNS = 0  # in the library's sums of units by sort


# ---- rows ----

def texts(tables: Tables, name: str, count: int, size: int) -> list[str]:
    if not 0 < size <= TEXT_MOST or not 0 < count <= ROWS_MOST:
        raise Refusal(f"process {tables.memory.pid}: its tables are damaged")
    data = tables.memory.read(tables.at[name], count * size)
    return [text(data[at:at + size]) for at in range(0, len(data), size)]


def counters_of(tables: Tables) -> Iterator[Row]:
    n = tables.n
    names = texts(tables, "counter_names", n["counters"], n["counter_name"])
    helps = texts(tables, "counter_helps", n["counters"], n["counter_help"])
    values = list(tables.memory.words(tables.at["counter"], n["counters"]))
    tally = tables.memory.words(tables.at["tally"], min(n["tallies"], n["counters"]))
    values[n["tallied"]:n["tallied"] + len(tally)] = tally
    for name, help_, value in zip(names, helps, values):
        yield Row(name, COUNTER, unit_of(0, name), value, help_)


def states_told(tables: Tables) -> Iterator[tuple[int, str, str]]:
    """Unit, name and help of each."""
    n, stride = tables.n, tables.n["told_stride"]
    if not 0 < n["told_name"] < n["told_help"] < stride <= 2 * TEXT_MOST or n["states"] > ROWS_MOST:
        raise Refusal(f"process {tables.memory.pid}: its tables are damaged")
    data = tables.memory.read(tables.at["told"], n["states"] * stride)
    for at in range(0, len(data), stride):
        name, help_ = data[at + n["told_name"]:at + n["told_help"]], data[at + n["told_help"]:at + stride]
        yield data[at], text(name), text(help_)


# ---- states ----

def is_in_range(heap: Heap, base: int, span: Span) -> bool:
    return base <= span.start < base + heap.units * heap.unit_bytes


def cached_bytes(heap: Heap) -> int:
    return sum(heap.threads) + heap.depot_bytes()


def clean_bytes(tables: Tables) -> int:
    """Of free runs and pages without content."""
    free, dirty = (tables.field(tables.at["runs"], name) for name in ("runs_free_pages", "runs_dirty_pages"))
    units = tables.memory.words(tables.at["runs"] + tables.n["runs_units"], 2)
    return (units[CLEAN_RUNS] << tables.n["unit_shift"]) + (max(0, free - dirty) << tables.n["page_shift"])


def dirty_bytes(tables: Tables) -> int:
    units = tables.memory.words(tables.at["runs"] + tables.n["runs_units"], 2)
    dirty = tables.field(tables.at["runs"], "runs_dirty_pages")
    return (units[CLEAN_RUNS + 1] << tables.n["unit_shift"]) + (dirty << tables.n["page_shift"])


def threshold_of(tables: Tables) -> int:
    """As set, or as learnt."""
    arm = tables.memory.number(tables.at["snapshot"], 1)
    learnt = 0 < arm <= len(THRESHOLDS)
    return int(THRESHOLDS[arm - 1] * THRESHOLD_STEP) if learnt else tables.setting("big_threshold")


def cost_of(tables: Tables, what: str) -> int:
    """Set, measured, or what is taken before the first measurement [ns]."""
    measured = tables.field(tables.at["cost"], f"cost_now_{what}")
    return tables.setting(f"cost_{what}") or measured or tables.n[f"cost_first_{what}"]


def states_of(tables: Tables, heap: Heap) -> dict[str, int]:
    base = tables.base()
    big = {name: tables.field(tables.at["big"], f"big_{name}") for name in (
        "live_bytes", "live_blocks", "kept_bytes", "empty_bytes")}
    slab_live = sum((heap.classes[slab.size_class].slots - slab.free) * heap.classes[slab.size_class].bytes
                    for slab in heap.slabs)
    runs_live = sum(span.end - span.start for span in heap.spans if span.use == LIVE and is_in_range(heap, base, span))
    cached = min(cached_bytes(heap), slab_live + runs_live)
    own = sum(span.end - span.start for span in heap.spans if span.use == OWN) + tables.n["meta_own"]
    span, whole, empty = (tables.field(tables.at["footprint"], f"footprint_{name}") for name in ("span", "big", "empty"))
    big_cached = big["kept_bytes"] + big["empty_bytes"]
    return {
        "in_use": slab_live + runs_live - cached + big["live_bytes"], "cached": cached,
        "slab_bytes": sum(slab.bytes for slab in heap.slabs), "slab_live": slab_live, "large_live": runs_live,
        "big_live": big["live_bytes"], "big_cached": big_cached, "span_dirty": dirty_bytes(tables),
        "span_clean": clean_bytes(tables), "metadata": own,
        "mapped": tables.field(tables.at["range"], "range_mapped") + own + big["live_bytes"] + big_cached,
        "threads": len(heap.threads), "big_blocks": big["live_blocks"], "footprint": max(0, span - empty) + whole,
        "slab_empty": empty, "counted": tables.setting("count_calls"), "mode": tables.setting("mode"),
        "price": tables.setting("price"), "cost_call": cost_of(tables, "call"), "cost_page": cost_of(tables, "page"),
        "threshold": threshold_of(tables), "policies": tables.memory.number(tables.at["snapshot"]) >> 48,
    }


# ---- extents ----

def empty_pieces(tables: Tables) -> Iterator[int]:
    """Where freed big blocks begin whose pages were given back."""
    for number in range(min(1024, tables.field(tables.at["big"], "big_pieces"))):
        piece = tables.at["big_piece"] + number * tables.n["piece_stride"]
        if tables.field(piece, "piece_empty", 1):
            yield tables.field(piece, "piece_address")


def kinds_of(tables: Tables, heap: Heap) -> Iterator[Extent]:
    base, empty = tables.base(), set(empty_pieces(tables))
    yield from (Extent(slab.start, slab.bytes, RUNS) for slab in heap.slabs)
    for span in heap.spans:
        kind = METADATA if span.use == OWN else RUNS if is_in_range(heap, base, span) else BIG
        if span.use == BIG_KEPT:
            kind = EMPTY if span.start in empty else KEPT
        yield Extent(span.start, span.end - span.start, kind)
    yield Extent(tables.at["meta_first"], tables.n["meta_own"], METADATA)


def joined(extents: list[Extent]) -> Iterator[Extent]:
    """By address, neighbours of a kind as one; none reaches into the next."""
    start = end = 0
    last = None  # kind
    for address, size, kind in sorted(extents):
        if kind == last and address <= end:
            end = max(end, address + size)
            continue
        if last is not None:
            yield Extent(start, end - start, last)
        start, end, last = address, address + size, kind
    if last is not None:
        yield Extent(start, end - start, last)


# ---- the page ----

def page_from(tables: Tables) -> Page:
    heap = heap_of(tables)
    states = states_of(tables, heap)
    rows = list(counters_of(tables))
    rows += [Row(name, STATE, unit_of(unit, name), states[name], help_)
             for unit, name, help_ in states_told(tables) if name in states]
    where = list(joined(list(kinds_of(tables, heap))))
    left_out = sum(each.bytes for each in where[EXTENTS_MOST:])
    version = text(tables.memory.read(tables.at["version"], min(TEXT_MOST, tables.n["version_bytes"])))
    pid = tables.memory.pid
    page = Page(version, time.clock_gettime_ns(time.CLOCK_MONOTONIC), tuple(rows), pid, tuple(where[:EXTENTS_MOST]),
                left_out, True)
    if not is_sound(page):
        raise Refusal(f"process {pid}: its tables are damaged")
    return page


def page_in_memory(pid: int) -> Page:
    """Of a process that runs on HAKMEM, whatever it was started with."""
    for _ in range(TRIES):
        memory = Memory(pid)
        try:
            return page_from(Tables(memory))
        except (Changed, struct.error, IndexError, OSError):
            refuse_if_gone(pid)
        finally:
            memory.close()
    raise Refusal(f"process {pid} ends, or changes its memory faster than it can be read")
