# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem address`: what an address of a running process is to HAKMEM: block, slab, site, state."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.reading.living import root_of
from hakmem.reading.names import mappings_of, name_of
from hakmem.reading.samples import place_at
from hakmem.reading.table_file import PLACE_FRAME
from hakmem.reading.tables import (
    CLEAN, DIRTY, GONE, HALF_PAGES, HOLE, LARGE, MOST_PAGES, PAGED, REST, SLAB, Area, Changed, Memory, Tables, Unit,
)

TRIES = 20
LEAST, MOST = 1 << 16, 1 << 47  # what programs can have mapped
Facts = dict[str, Any]

LIVE = "live"
UNKNOWN_SITE = (
    ("site", "not known"), ("", "--set site_all_sizes=on names it for blocks from 32 KiB on,"),
    ("", "--set profile=on for a sample of all blocks"),
)
IN_SLAB = "free, in its slab"
IN_MAGAZINE = "free, in a thread's magazine"
IN_DEPOT = "free, in the depot between threads"
FREE_RUNS = {
    DIRTY: "free run, which may hold pages",
    CLEAN: "free run without pages: they were given back, or never used",
    GONE: "free run that was unmapped: nothing can be read there",
}


def address_of(text: str) -> int:
    """As debuggers print it."""
    for base in (0, 16):
        try:
            address = int(text, base)
        except ValueError:
            continue
        if 0 <= address < 1 << 64:
            return address
    raise Refusal(f"{text}: no address (0x7f0000001040, say)")


# ---- blocks ----

def owner_facts(tables: Tables, block: int, site: int) -> Facts:
    """Who asked for it, as far as it is known; addresses, and lines of an interpreted program as text."""
    sample = tables.sampled(block)
    if sample is not None:
        return {"asked_bytes": sample[0], "stack": [str(place_at(tables, each)) if each & PLACE_FRAME else each
                                                    for each in sample[1]]}
    address = tables.site(site)
    return {"site": address} if address else {}


def cached_state(tables: Tables, block: int, size_class: int) -> str:
    """Of a block that is out of its slab."""
    if any(block in magazine for magazine in tables.magazines(size_class)):
        return IN_MAGAZINE
    return IN_DEPOT if any(block in pack for pack in tables.packs(size_class)) else LIVE


def is_page_back(slab: Unit, offset: int) -> bool:
    return bool(slab.empty >> offset // 4096 & 1)


def in_slab(tables: Tables, slab: Unit, start: int, address: int) -> Facts:
    block_bytes, slots = tables.shape(slab.size_class)
    apart = tables.class_in_map(slab.number) == 0
    facts: Facts = {
        "slab": start, "slab_bytes": slab.length * tables.unit_bytes(), "slots": slots, "free_slots": slab.free,
    }
    if slab.words == 0 or block_bytes == 0:
        raise Changed
    slot, offset = divmod(address - start, block_bytes)
    if slot >= slots:
        return {"state": "behind the last block of a slab"} | facts
    block = start + slot * block_bytes
    if tables.memory.number(slab.words + slot // 64 * 8) >> slot % 64 & 1:
        state = IN_SLAB
    else:
        state = LIVE if apart else cached_state(tables, block, slab.size_class)
    found = {"state": state, "block": block, "offset": offset, "class_bytes": block_bytes} | facts
    if state == IN_SLAB and is_page_back(slab, address - start):
        found["page"] = "given back, or never used: it reads as zero"
    return found | (owner_facts(tables, block, 0) if state == LIVE else {})


def in_run(tables: Tables, run: Unit, start: int, address: int) -> Facts:
    facts: Facts = {
        "state": LIVE, "block": start, "offset": address - start, "run_bytes": run.length * tables.unit_bytes(),
    }
    return facts | owner_facts(tables, start, run.origin & 0xFFFF if run.origin else 0)


def paged_block(tables: Tables, page: int) -> tuple[int, int, int] | None:
    """The block around the page: its first page, its pages, its site and time."""
    half = page // HALF_PAGES
    for at in range(half, half - MOST_PAGES // HALF_PAGES - 2, -1):
        if at < 2 or tables.unit(at // 2).kind != PAGED:
            return None
        first, pages, origin = tables.paged_block(at)
        if pages != 0 and first <= page:
            return (first, pages, origin) if page < first + pages else None
    return None


def run_class(tables: Tables, pages: int, origin: int) -> int:
    """The class of a block of pages, whose length is just the class's; 0: none."""
    bytes_ = pages << tables.n["page_shift"]
    classes = range(tables.n["run_class"], tables.n["classes"]) if origin == 0 else ()
    return next((number for number in classes if tables.shape(number)[0] == bytes_), 0)


def in_pages(tables: Tables, address: int) -> Facts:
    found = paged_block(tables, (address - tables.base()) >> tables.n["page_shift"])
    if found is None:
        return {"state": "free pages between blocks"}
    first, pages, origin = found
    block, size_class = tables.base() + (first << tables.n["page_shift"]), run_class(tables, pages, origin)
    state = cached_state(tables, block, size_class) if size_class else LIVE
    facts: Facts = {
        "state": state, "block": block, "offset": address - block, "page_bytes": pages << tables.n["page_shift"],
    }
    return facts | (owner_facts(tables, block, origin & 0xFFFF if origin else 0) if state == LIVE else {})


# ---- units ----

def run_at(tables: Tables, number: int) -> Unit | None:
    """The run that the unit is part of: what begins it is the nearest unit before that is none of the rest."""
    unit = tables.unit(number)
    if unit.kind in (CLEAN, DIRTY, GONE) and unit.head != number:
        return tables.unit(unit.head)  # the last unit of a free run
    begin = number
    while unit.kind == REST and begin > 1:
        begin -= 1
        unit = tables.unit(begin)
    covers = unit.kind not in (REST, HOLE) and unit.number <= number < unit.number + unit.length
    return unit if covers else None


def in_range(tables: Tables, number: int, address: int) -> Facts:
    if tables.unit(number).kind == HOLE:
        return {"state": "in a gap of HAKMEM's range, which it never mapped"}
    run = run_at(tables, number)
    if run is None:
        return {"state": "free run whose pages are on their way back"}
    start = tables.base() + run.number * tables.unit_bytes()
    if run.kind == SLAB:
        return in_slab(tables, run, start, address)
    if run.kind == LARGE:
        return in_run(tables, run, start, address)
    if run.kind == PAGED:
        return in_pages(tables, address)
    return {"state": FREE_RUNS[run.kind], "run": start, "run_bytes": run.length * tables.unit_bytes()}


# ---- elsewhere ----

def big_facts(tables: Tables, address: int) -> Facts | None:
    for start, size, _, site in tables.big_blocks():
        if start <= address < start + size:
            found = {"state": LIVE, "block": start, "offset": address - start, "big_bytes": size}
            return found | owner_facts(tables, start, site)
    for start, size, site in tables.pieces():
        if start <= address < start + size:
            last = tables.site(site)
            return {"state": "free: big blocks were here, and it is kept for reuse", "piece": start, "big_bytes": size} | (
                {"last_site": last} if last else {}
            )
    return None


def outside(address: int, area: Area | None) -> Facts:
    if area is None and LEAST <= address < MOST:
        return {"state": "not mapped; a block of a MiB or more that was freed may have been here"}
    if area is None:
        return {"state": "not mapped, and never is"}
    what = area.path or "memory without a name, as a program or libc maps it, or HAKMEM's own tables"
    return {"state": "not HAKMEM's", "mapping": f"{area.first:#x}-{area.end:#x} {area.rights} {what}"}


def facts_once(tables: Tables, address: int) -> Facts:
    number = (address - tables.base()) >> tables.n["unit_shift"]
    if 0 <= number < tables.units():
        return in_range(tables, number, address)
    return big_facts(tables, address) or outside(address, tables.memory.area_of(address))


def settled(ask: Callable[[], Facts], pid: int) -> Facts:
    """The process runs meanwhile: what is said twice is believed."""
    before: Facts | None = None
    for _ in range(TRIES):
        try:
            facts = ask()
        except Changed:
            continue
        if facts == before:
            return facts
        before = facts
    raise Refusal(f"process {pid} ended, or changes what is there faster than it can be read")


def found_at(pid: int, address: int) -> tuple[Facts, Memory]:
    memory = Memory(pid)
    try:
        tables = Tables(memory)
        return {"pid": pid, "address": address} | settled(lambda: facts_once(tables, address), pid), memory
    except Changed:
        raise Refusal(f"process {pid} ended, or its memory cannot be read") from None
    except (struct.error, IndexError):
        raise Refusal(f"process {pid}: its tables are damaged") from None
    finally:
        memory.close()


# ---- what is printed ----

def exact_text(count: int) -> str:
    return f"{count:,} B"


def headline(facts: Facts) -> str:
    if "block" not in facts:
        return facts["state"]
    where = "the begin of a block" if facts["offset"] == 0 else f"inside a block, at offset {facts['offset']:,}"
    return f"{where}: {facts['state']}"


def kind_text(facts: Facts) -> str | None:
    if "class_bytes" in facts:
        return f"class {exact_text(facts['class_bytes'])}, of a slab"
    if "page_bytes" in facts:
        return f"{exact_text(facts['page_bytes'])}, whole pages"
    if "run_bytes" in facts and "block" in facts:
        return f"{exact_text(facts['run_bytes'])}, a run of its own"
    return f"{exact_text(facts['big_bytes'])}, mapped by itself" if "big_bytes" in facts else None


def rows_of(facts: Facts, name: Callable[[int], str]) -> list[tuple[str, str]]:
    rows = [("address", f"{facts['address']:#x}, {headline(facts)}")]
    for key in ("block", "piece", "run"):
        if key in facts:
            kind = kind_text(facts) or exact_text(facts["run_bytes"])
            rows.append((key, f"{facts[key]:#x}, {kind}"))
    if "slab" in facts:
        free = f"{facts['free_slots']:,} of {facts['slots']:,} blocks free in it"
        rows.append(("slab", f"{facts['slab']:#x}, {exact_text(facts['slab_bytes'])}, {free}"))
    rows += [(key, facts[key]) for key in ("page", "mapping") if key in facts]
    rows += [(key.replace("_", " "), name(facts[key])) for key in ("site", "last_site") if key in facts]
    if "asked_bytes" in facts:
        rows.append(("asked", f"{exact_text(facts['asked_bytes'])}; sampled, by"))
        rows += [("", frame if isinstance(frame, str) else name(frame)) for frame in facts["stack"]]
    elif facts["state"] == LIVE and "site" not in facts:
        rows += UNKNOWN_SITE
    return rows


def show_address(text: str, pid: int, as_json: bool) -> int:
    address = address_of(text)
    facts, memory = found_at(pid, address)
    if as_json:
        print(json.dumps(facts, indent=2))
        return 0
    mappings = mappings_of(memory.maps, root_of(pid))
    for key, value in rows_of(facts, lambda place: f"{name_of(place, mappings)}  {place:#x}"):
        print(f"{key:<9} {printable(value)}")
    return 0
