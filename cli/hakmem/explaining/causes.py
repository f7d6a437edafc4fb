# SPDX-License-Identifier: MIT OR Apache-2.0
"""Why a process is large: one row of CAUSES for each part of its memory, with its reasons and what would change it.

    Look, part -> reasons: what holds the bytes, as lines     -> changes: what to do, and the bytes that it would bring

A bound or an estimate says so. A figure of fewer than ten samples is called a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from hakmem.base.figures import bytes_text, counted
from hakmem.explaining import outside, parts
from hakmem.explaining.holders import Estimate, by_stack, freed_beside
from hakmem.explaining.limits import value_text
from hakmem.explaining.look import ROUNDING, UNUSED, Look
from hakmem.reading.estimate import range_text, samples_text
from hakmem.reading.heap import BIG_KEPT, LIVE, OWN
from hakmem.reading.resident import PAGE

ROWS, NAMED, LIVE_ROWS = 3, 2, 5
SHARE_LEAST = 0.01  # of the part
STACKS_COMMAND = "hakmem exec --profile -- PROGRAM"
TRIM = "malloc_trim(0) in the program (or hak_trim(0))"


class Change(NamedTuple):
    text: str
    bytes: int  # that it would bring
    at_most: bool = False


class Cause(NamedTuple):
    part: str
    title: str
    reasons: Callable[[Look], Iterator[str]]
    changes: Callable[[Look], Iterator[Change]]


# ---- shared ----

def size_of(look: Look, part: str) -> int:
    return look.parts.bytes.get(part, 0)


def estimate_text(size: Estimate, is_exact: bool) -> str:
    if is_exact:
        return bytes_text(size.bytes)
    text = f"≈ {bytes_text(size.bytes)} ({range_text(size.low, size.high)}), from {samples_text(size.samples)}"
    return f"{text}: a hint, no more" if size.is_hint else text


def is_exact(look: Look) -> bool:
    return look.settings["profile_bytes"] <= 1


def age_text(seconds: float) -> str:
    return f"{seconds:,.1f} s" if seconds < 10 else f"{seconds:,.0f} s"


def class_text(look: Look, number: int) -> str:
    return f"class {look.heap.classes[number].bytes:,} B"


# ---- live ----

def live_rows(look: Look) -> Iterator[tuple[int, str]]:
    for number, use in look.parts.classes.items():
        yield use.live_bytes, f"{class_text(look, number)}: {counted(use.live, 'block', 'blocks')}"
    for address, blocks, size in look.by_site():
        yield size, f"long blocks of {look.site(address)}: {counted(blocks, 'block', 'blocks')}"


def live_by_size(look: Look) -> Iterator[str]:
    """Those that matter."""
    rows = sorted(live_rows(look), key=lambda one: -one[0])[:LIVE_ROWS]
    for size, text in (one for one in rows if one[0] >= SHARE_LEAST * size_of(look, LIVE)):
        yield f"{text}, {bytes_text(size)}"


def live_stacks(look: Look) -> Iterator[str]:
    for holder in look.holders[:ROWS]:
        oldest = f"the oldest is {age_text(holder.oldest_s)} old"
        yield f"{look.stack(holder.stack)}: {estimate_text(holder.size, is_exact(look))}; {oldest}"
    if not look.samples:
        yield f"stacks of blocks are not recorded without a profile; {STACKS_COMMAND} brings them"


def live_reasons(look: Look) -> Iterator[str]:
    yield "the program asked for them, and has not freed them" + "; the rows below include rounding" * (look.rounding.bytes > 0)
    yield from live_by_size(look)
    yield from live_stacks(look)


def live_changes(look: Look) -> Iterator[Change]:
    yield Change(
        f"free what is not needed. What grows is a leak: hakmem explain {look.pid} --seconds 10", size_of(look, LIVE), True
    )


# ---- rounding ----

def rounding_reasons(look: Look) -> Iterator[str]:
    yield f"sizes are rounded up to classes, and to whole pages: {estimate_text(look.rounding, is_exact(look))}"


def rounding_changes(look: Look) -> Iterator[Change]:
    worst = max(look.samples, key=lambda each: each.weight * (each.bytes - each.asked))
    yield Change(
        f"ask for sizes just below a class, and align only what must be: {worst.asked:,} B takes {worst.bytes:,} B",
        look.rounding.bytes, True,
    )


def rounding_bound(look: Look) -> int:
    """Of live slab blocks that were asked for without an alignment."""
    return sum(
        use.live * max(0, each.bytes - each.below - 1) for number, use in look.parts.classes.items()
        for each in (look.heap.classes[number],)
    )


# ---- holes ----

def sparse_classes(look: Look) -> list[int]:
    found = [number for number, use in look.parts.classes.items() if use.holes]
    return sorted(found, key=lambda number: -look.parts.classes[number].holes)[:ROWS]


def holes_reasons(look: Look) -> Iterator[str]:
    yield "free slots on pages that hold a live block, too: such a page cannot go back (fragmentation)"
    for number in sparse_classes(look):
        use = look.parts.classes[number]
        full = f"{use.used / use.slots:.1%} of the slots in use" if use.slots else "no slab partly used"
        yield f"{class_text(look, number)}: {counted(use.partial, 'slab', 'slabs')}, {full}, {bytes_text(use.holes)} free"
        yield from class_holders(look, number)


def class_holders(look: Look, number: int) -> Iterator[str]:
    """The stacks that hold blocks of the class, the oldest first, and their neighbours, whose blocks are gone: a block
    that lasts keeps a page that these have left."""
    each = look.heap.classes[number]
    own = [sample for sample in look.samples if sample.bytes == each.bytes]
    period = look.settings["profile_bytes"]
    holders = by_stack(own, period)
    beside = freed_beside(look.taken, holders, each.bytes, period)
    gone = {taken.stack for taken, _ in beside}
    for holder in sorted((one for one in holders if one.stack not in gone), key=lambda one: -one.oldest_s)[:NAMED]:
        yield f"  held for {age_text(holder.oldest_s)} by {look.stack(holder.stack)}: {estimate_text(holder.size, is_exact(look))}"
    for taken, size in beside[:NAMED]:
        yield f"  freed beside them since sampling began, of {look.stack(taken.stack)}: {estimate_text(size, is_exact(look))}"


def holes_changes(look: Look) -> Iterator[Change]:
    numbers = sparse_classes(look)
    size = look.heap.classes[numbers[0]].bytes if numbers else 0
    yield Change(
        f"keep blocks of up to {size:,} B that last apart from those that do not: an array of their own, or a size above "
        f"{size:,} B", size_of(look, parts.HOLES), True,
    )
    if not look.samples:
        yield Change(f"which stacks hold them, and for how long, is not recorded; {STACKS_COMMAND} brings it", 0)


# ---- caches ----

def caches_reasons(look: Look) -> Iterator[str]:
    held = sorted(look.heap.threads, reverse=True)
    yield f"free blocks at hand for the next malloc: {bytes_text(sum(held))} in magazines of " + (
        f"{counted(len(held), 'thread', 'threads')} (most in one: {bytes_text(held[0])}), " if held else "no thread, "
    ) + f"{bytes_text(look.heap.depot_bytes())} in the depot between threads"
    if not look.settings["background_thread"]:
        yield "background_thread=off: threads that sleep keep their magazines"


def caches_changes(look: Look) -> Iterator[Change]:
    if look.threads == 1 or look.settings["background_thread"]:
        yield Change(f"{TRIM} empties them; pages with no other block go back", look.parts.emptied)
    else:
        yield Change(f"{TRIM} empties the depot and the magazines of its own thread", look.parts.depot_emptied)
        yield Change("HAKMEM_BACKGROUND_THREAD=on empties the magazines of threads that sleep", look.parts.emptied, True)
    limit = value_text("process_cache_bytes", look.settings["process_cache_bytes"])
    yield Change(f"HAKMEM_PROCESS_CACHE_BYTES, now {limit}, bounds them", look.parts.emptied, True)


# ---- kept ----

def price_text(look: Look) -> str:
    return f"price={value_text('price', look.settings['price'])}"


def kept_reasons(look: Look) -> Iterator[str]:
    slabs = look.parts.kept_in_slabs
    yield f"free memory that still has its pages: {bytes_text(size_of(look, parts.KEPT) - slabs)} of runs, {bytes_text(slabs)} in slabs"
    if look.threads == 1:
        yield f"one thread: nothing goes back while it calls neither malloc nor free ({price_text(look)})"
    elif not look.settings["background_thread"]:
        yield f"background_thread=off: it goes back only at the program's own calls ({price_text(look)})"
    else:
        yield f"it goes back when keeping it has cost as much as fetching it again ({price_text(look)})"


def kept_changes(look: Look) -> Iterator[Change]:
    yield from trim_and_price(look, parts.KEPT)


def trim_and_price(look: Look, part: str) -> Iterator[Change]:
    yield Change(TRIM, size_of(look, part))
    if look.settings["price"] < 5_140_000:
        yield Change(f"HAKMEM_PRICE=lean (now {price_text(look)}) gives it back sooner", size_of(look, part), True)


# ---- big blocks ----

def big_reasons(look: Look) -> Iterator[str]:
    spans = [span for span in look.heap.spans if span.use == BIG_KEPT]
    yield f"{counted(len(spans), 'piece', 'pieces')} of freed blocks of a MiB or more, kept for the next one ({price_text(look)})"
    if look.threads == 1:
        yield "one thread: they stay until it frees or asks for such a block"


def big_changes(look: Look) -> Iterator[Change]:
    yield from trim_and_price(look, BIG_KEPT)
    limit = value_text("big_cache_bytes", look.settings["big_cache_bytes"])
    yield Change(f"HAKMEM_BIG_CACHE_BYTES, now {limit}, bounds them", size_of(look, BIG_KEPT), True)


# ---- huge pages ----

def unused_reasons(look: Look) -> Iterator[str]:
    found = look.unused
    read = f"from {found.read:,} of its {found.of // PAGE:,} pages that were read"
    if found.low == found.high:
        yield f"live memory in pages of 2 MiB that holds only zeros, never written most likely: {bytes_text(found.bytes)}, each page was read"
    else:
        yield (f"live memory in pages of 2 MiB that holds only zeros, never written most likely: ≈ {bytes_text(found.bytes)} "
               f"({range_text(found.low, found.high)}), {read}")
    yield f"huge_pages={value_text('huge_pages', look.settings['huge_pages'])}"


def unused_changes(look: Look) -> Iterator[Change]:
    yield Change("HAKMEM_HUGE_PAGES=off: small pages come one by one, as they are touched", look.unused.bytes, True)


# ---- HAKMEM's own ----

def own_reasons(look: Look) -> Iterator[str]:
    yield "HAKMEM's tables: they grow with the blocks, threads and call sites that were there at once"


def own_changes(look: Look) -> Iterator[Change]:
    yield Change("fewer blocks or threads at once; the tables stay as large as they were", 0)


# ---- fork ----

def copy_reasons(look: Look) -> Iterator[str]:
    yield f"pages as process {look.parent} had them at the fork: both have them, and the machine has them once"
    yield f"proportional share of the whole process (Pss): {bytes_text(look.pss)}"


def copy_changes(look: Look) -> Iterator[Change]:
    yield Change("exec in the child instead of running on; to the machine it brings nothing, as the parent has the pages", 0)
    yield Change("a page that either writes is copied, and then costs: write little of it in both", 0)


# ---- not HAKMEM's ----

def named_pieces(look: Look, owner: str) -> Iterator[str]:
    sums: dict[str, int] = {}
    for piece in look.parts.pieces:
        if piece.owner == owner:
            name = piece.name if owner != outside.ANONYMOUS else f"{piece.name}, at {piece.start:#x}"
            sums[name] = sums.get(name, 0) + piece.bytes
    if len(sums) > ROWS:
        yield f"{len(sums):,} of them; the largest:"
    for name, size in sorted(sums.items(), key=lambda one: -one[1])[:ROWS]:
        yield f"{name}: {bytes_text(size)}"


def stacks_reasons(look: Look) -> Iterator[str]:
    own = [piece for piece in look.parts.pieces if piece.owner == outside.STACKS]
    yield (f"{counted(look.threads, 'thread', 'threads')}; {counted(len(own), 'stack has', 'stacks have')} pages, the largest "
           f"{bytes_text(max((piece.bytes for piece in own), default=0))}; a page that a stack reached once stays")


def stacks_changes(look: Look) -> Iterator[Change]:
    yield Change("fewer threads, or less on their stacks: arrays in functions, deep recursion", size_of(look, outside.STACKS), True)


def program_reasons(look: Look) -> Iterator[str]:
    yield "code and static data of the program and its libraries, as far as they were touched"
    yield from named_pieces(look, outside.PROGRAM)


def program_changes(look: Look) -> Iterator[Change]:
    yield Change("fewer libraries; processes of the same program share the code", size_of(look, outside.PROGRAM), True)


def files_reasons(look: Look) -> Iterator[str]:
    yield "files that the program has mapped (mmap); pages that it did not write, the kernel takes back when memory is short"
    yield from named_pieces(look, outside.FILES)


def files_changes(look: Look) -> Iterator[Change]:
    yield Change("munmap, or madvise(MADV_DONTNEED), of what was read", size_of(look, outside.FILES), True)


def shared_reasons(look: Look) -> Iterator[str]:
    yield "memory that processes share: shm_open, memfd, System V, shared anonymous mappings"
    yield from named_pieces(look, outside.SHARED)


def shared_changes(look: Look) -> Iterator[Change]:
    yield Change("munmap; the memory goes when its last user has gone, and its file was removed", size_of(look, outside.SHARED), True)


def other_reasons(look: Look) -> Iterator[str]:
    yield "the program or a library mapped it itself (mmap, brk), past malloc: as pools, arenas of a language, code of a JIT"
    yield from named_pieces(look, outside.ANONYMOUS)


def other_changes(look: Look) -> Iterator[Change]:
    yield Change("munmap by its owner: strace -f -k -e trace=mmap,brk PROGRAM names it", size_of(look, outside.ANONYMOUS), True)


CAUSES = (
    Cause(LIVE, "live blocks", live_reasons, live_changes),
    Cause(ROUNDING, "rounding of sizes", rounding_reasons, rounding_changes),
    Cause(parts.HOLES, "holes beside live blocks", holes_reasons, holes_changes),
    Cause(parts.CACHES, "caches of free blocks", caches_reasons, caches_changes),
    Cause(parts.KEPT, "freed, and kept for reuse", kept_reasons, kept_changes),
    Cause(BIG_KEPT, "freed big blocks, kept for reuse", big_reasons, big_changes),
    Cause(UNUSED, "unused parts of huge pages", unused_reasons, unused_changes),
    Cause(OWN, "HAKMEM's own tables", own_reasons, own_changes),
    Cause(parts.COPY, "pages shared with the parent", copy_reasons, copy_changes),
    Cause(outside.STACKS, "thread stacks, not HAKMEM's", stacks_reasons, stacks_changes),
    Cause(outside.PROGRAM, "program and libraries, not HAKMEM's", program_reasons, program_changes),
    Cause(outside.FILES, "mapped files, not HAKMEM's", files_reasons, files_changes),
    Cause(outside.SHARED, "shared memory, not HAKMEM's", shared_reasons, shared_changes),
    Cause(outside.ANONYMOUS, "other mappings, not HAKMEM's", other_reasons, other_changes),
)


def ordered(look: Look) -> list[Cause]:
    """Those that hold something, most bytes first."""
    return sorted((each for each in CAUSES if size_of(look, each.part) > 0), key=lambda each: -size_of(look, each.part))
