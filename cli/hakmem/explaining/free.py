# SPDX-License-Identifier: MIT OR Apache-2.0
"""Free memory that is resident: holes, caches, what is kept, and parts of huge pages that were never used."""

from __future__ import annotations

from collections.abc import Iterator

from hakmem.base.figures import bytes_text, counted
from hakmem.explaining.cause import (
    ROWS, TRIM, Change, age_text, class_text, estimate_text, setting_text, size_of, stacks_command,
)
from hakmem.explaining.holders import by_stack, freed_beside
from hakmem.explaining.limits import LEAN, LEARNT, value_text
from hakmem.explaining.look import Look
from hakmem.explaining.parts import HOLES, KEPT, ClassUse
from hakmem.reading.estimate import range_text
from hakmem.reading.heap import BIG_KEPT
from hakmem.reading.resident import PAGE

NAMED = 2  # stacks of a class


# ---- holes ----

def sparse_classes(look: Look) -> list[int]:
    found = [number for number, use in look.parts.classes.items() if use.holes]
    return sorted(found, key=lambda number: -look.parts.classes[number].holes)[:ROWS]


def slabs_text(use: ClassUse) -> str:
    """A full slab has room, too, where its size is no multiple of the class's."""
    if not use.partial:
        return f"{counted(use.slabs, 'slab', 'slabs')} without a free slot, {bytes_text(use.holes)} behind the last ones"
    return f"{counted(use.partial, 'slab', 'slabs')}, {use.used / use.slots:.1%} of the slots in use, {bytes_text(use.holes)} free"


def holes_reasons(look: Look) -> Iterator[str]:
    yield "free slots on pages that hold a live block, too: such a page cannot go back (fragmentation)"
    for number in sparse_classes(look):
        use = look.parts.classes[number]
        yield f"{class_text(look, number)}: {slabs_text(use)}"
        yield from class_holders(look, number)


def class_holders(look: Look, number: int) -> Iterator[str]:
    """The stacks that hold blocks of the class, the oldest first, and their neighbours, whose blocks are gone: a block
    that lasts keeps a page that these have left."""
    each = look.heap.classes[number]
    own = [sample for sample in look.samples if sample.bytes == each.bytes]
    holders = by_stack(own, look.period)
    beside = freed_beside(look.taken, holders, each.bytes, look.period)
    gone = {taken.stack for taken, _ in beside}
    for holder in sorted((one for one in holders if one.stack not in gone), key=lambda one: -one.oldest_s)[:NAMED]:
        held = f"held for {age_text(holder.oldest_s)} by {look.stack(holder.stack)}"
        yield f"  {held}: {estimate_text(look, holder.size)}"
    for taken, size in beside[:NAMED]:
        stack = look.stack(taken.stack)
        yield f"  freed beside them since sampling began, of {stack}: {estimate_text(look, size)}"


def holes_changes(look: Look) -> Iterator[Change]:
    numbers = sparse_classes(look)
    size = look.heap.classes[numbers[0]].bytes if numbers else 0
    how = f"in an array of their own, or by a size above {size:,} B"
    yield Change(f"keep blocks of up to {size:,} B that last apart from the others: {how}", size_of(look, HOLES), True)
    if not look.samples:
        yield Change(f"which stacks hold them, and for how long, is not recorded; {stacks_command(look)} brings it", 0)


# ---- caches ----

def caches_reasons(look: Look) -> Iterator[str]:
    held = sorted(look.heap.threads, reverse=True)
    most = f"most in one: {bytes_text(held[0] if held else 0)}"
    magazines = f"{bytes_text(sum(held))} in magazines of {counted(len(held), 'thread', 'threads')} ({most})"
    depot = f"{bytes_text(look.heap.depot_bytes())} in the depot between threads"
    yield f"free blocks at hand for the next malloc: {magazines}, {depot}"
    if not look.settings["background_thread"]:
        yield "background_thread=off: threads that sleep keep their magazines"


def caches_changes(look: Look) -> Iterator[Change]:
    if look.threads == 1 or look.settings["background_thread"]:
        yield Change(f"{TRIM} empties them; pages with no other block go back", look.parts.emptied)
    else:
        yield Change(f"{TRIM} empties the depot and the magazines of its own thread", look.parts.depot_emptied)
        text = "HAKMEM_BACKGROUND_THREAD=on empties the magazines of threads that sleep"
        yield Change(text, look.parts.emptied, True)
    limit = value_text("process_cache_bytes", look.settings["process_cache_bytes"])
    yield Change(f"HAKMEM_PROCESS_CACHE_BYTES, now {limit}, bounds them", look.parts.emptied, True)


# ---- kept ----

def kept_reasons(look: Look) -> Iterator[str]:
    slabs = look.parts.kept_in_slabs
    runs = size_of(look, KEPT) - slabs
    price = setting_text(look, "price")
    yield f"free memory that still has its pages: {bytes_text(runs)} of runs, {bytes_text(slabs)} in slabs"
    if look.threads == 1:
        yield f"one thread: nothing goes back while it calls neither malloc nor free ({price})"
    elif not look.settings["background_thread"]:
        yield f"background_thread=off: it goes back only at the program's own calls ({price})"
    else:
        yield f"it goes back when keeping it has cost as much as fetching it again ({price})"
    yield from learnt_reasons(look)


def learnt_reasons(look: Look) -> Iterator[str]:
    mode, file = setting_text(look, "mode"), f" of {look.policy_file}" * bool(look.policy_file)
    if look.keeps_s:
        stays = f"it stays as at price=speed for {age_text(look.keeps_s)} more"
        yield f"{mode}: to give memory back cost earlier runs{file} more than it saved, so {stays}"
    elif look.settings["mode"] >= LEARNT:
        may = "; by earlier runs it may stay as at price=speed for a time" * bool(look.policy_file)
        yield f"{mode}: learnt times{file} say how long it stays{may}"


def kept_changes(look: Look) -> Iterator[Change]:
    yield from trim_and_price(look, KEPT)


def trim_and_price(look: Look, part: str) -> Iterator[Change]:
    yield Change(TRIM, size_of(look, part))
    if look.keeps_s:
        text = f"HAKMEM_MODE=baseline lets the price rule from the start (now {setting_text(look, 'mode')})"
        yield Change(text, size_of(look, part), True)
    elif look.settings["price"] < LEAN:
        text = f"HAKMEM_PRICE=lean gives it back sooner (now {setting_text(look, 'price')})"
        yield Change(text, size_of(look, part), True)


# ---- big blocks ----

def big_reasons(look: Look) -> Iterator[str]:
    spans = [span for span in look.heap.spans if span.use == BIG_KEPT]
    pieces = f"{counted(len(spans), 'piece', 'pieces')} of freed blocks of a MiB or more"
    yield f"{pieces}, kept for the next one ({setting_text(look, 'price')})"
    if look.threads == 1:
        yield "one thread: they stay until it frees or asks for such a block"
    yield from learnt_reasons(look)


def big_changes(look: Look) -> Iterator[Change]:
    yield from trim_and_price(look, BIG_KEPT)
    limit = value_text("big_cache_bytes", look.settings["big_cache_bytes"])
    yield Change(f"HAKMEM_BIG_CACHE_BYTES, now {limit}, bounds them", size_of(look, BIG_KEPT), True)


# ---- huge pages ----

def unused_reasons(look: Look) -> Iterator[str]:
    found = look.unused
    size = f"≈ {bytes_text(found.bytes)} ({range_text(found.low, found.high)})"
    read = f"from {found.read:,} of its {found.of // PAGE:,} pages that were read"
    if found.low == found.high:
        size, read = bytes_text(found.bytes), "each page was read"
    yield f"live memory in pages of 2 MiB that holds only zeros, never written most likely: {size}, {read}"
    yield setting_text(look, "huge_pages")


def unused_changes(look: Look) -> Iterator[Change]:
    text = "HAKMEM_HUGE_PAGES=off: small pages come one by one, as they are touched"
    yield Change(text, look.unused.bytes, True)
