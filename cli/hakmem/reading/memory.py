# SPDX-License-Identifier: MIT OR Apache-2.0
"""Why a process is as large as it is: from HAKMEM's counters down to what is resident.

      live + internal waste + holes + caches + dirty + metadata      what the statistics page counts
    - never touched                                                  counted, but not resident, by kind of memory
    = resident in HAKMEM's mappings                                  pagemap, over the extents that the page lists
    + outside                                                        all else: code, stacks, other mappings
    = resident                                                       smaps

Never touched is what is left by definition: it makes each kind's sum true, as long as no kind has more resident than is
counted. Where one has, that is `error`, which is a check of the counters. The other check is `smaps`, the kernel's sum
for the same mappings, of which nothing here is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Optional

from hakmem.base.errors import Refusal
from hakmem.reading.find_page import page_of_process
from hakmem.reading.resident import Mapping, Pagemap, mappings_of
from hakmem.reading.stats_page import ASK_FOR_IT, BIG, KEPT, METADATA, RUNS, Extent, Page, age_ns

LIVE, WASTE, HOLES, CACHES, DIRTY, OWN, UNTOUCHED = (
    "live", "waste", "holes", "caches", "dirty", "metadata", "untouched"
)
TOLD = {
    LIVE: ("live", "blocks that the program has"),
    WASTE: ("internal waste", "of live blocks, what was not asked for: sizes are rounded up; an estimate from samples"),
    HOLES: ("holes", "free slots in slabs, on pages that may be resident"),
    CACHES: ("caches", "free blocks at hand: in threads' magazines and in depots"),
    DIRTY: ("dirty", "free runs and big blocks whose pages are kept for the next request"),
    OWN: ("metadata", "HAKMEM's own tables"),
    UNTOUCHED: ("less never touched", "taken off: counted above, but not resident, as never written to or given back"),
}

ASKED = ("live, asked for", "of the blocks that the program has, what it asked for; an estimate from samples")
KEPT_ROWS = ("cached", "big_cached", "span_dirty")


class Part(NamedTuple):
    name: str
    label: str
    bytes: int
    help: str


class Waterfall(NamedTuple):
    pid: int
    parts: tuple[Part, ...]  # in the order they are drawn; what is taken off is below nothing, and told as it is
    mine: int  # resident in HAKMEM's mappings
    outside: int
    rss: int
    error: float  # by how much of `mine` the sum of parts is short of it
    smaps: int  # resident in HAKMEM's mappings, as smaps has it
    by: str  # what `mine` is from: pagemap, or where that cannot be read smaps
    age_ns: int  # of the page, when the pages were counted
    left_out: int  # bytes of HAKMEM's extents that the page had no room to list: they count as outside

    kept: int  # free bytes at hand: cached, dirty, and big blocks that were freed
    huge: int  # of `mine`, in pages of 2 MiB, as smaps has it
    huge_text: str  # what they cost, and which are to come

    @property
    def live(self) -> int:
        """Exactly, as the counters have it."""
        return sum(part.bytes for part in self.parts if part.name in (LIVE, WASTE))

    @property
    def counted(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.name != UNTOUCHED)

    @property
    def untouched(self) -> int:
        return -sum(part.bytes for part in self.parts if part.name == UNTOUCHED)


class Stretch(NamedTuple):
    """Where an extent and a mapping overlap."""

    start: int
    end: int
    kind: int
    mapping: Mapping


# ---- what is resident ----

def stretches(extents: Iterable[Extent], mappings: list[Mapping]) -> Iterator[Stretch]:
    """Of anonymous mappings that have something resident; both by address. What extents share is the first one's."""
    held = sorted(mapping for mapping in mappings if mapping.anonymous and mapping.rss)
    at = reached = 0
    for extent in sorted(extents):
        first, last = max(reached, extent.address), extent.address + extent.bytes
        reached = max(reached, last)
        while at < len(held) and held[at].end <= first:
            at += 1
        n = at if first < last else len(held)
        while n < len(held) and held[n].start < last:
            yield Stretch(max(first, held[n].start), min(last, held[n].end), extent.kind, held[n])
            n += 1


def share_of_rss(stretch: Stretch) -> int:
    """As if a mapping's resident pages were spread over it."""
    start, end, _, mapping = stretch
    return mapping.rss * (end - start) // (mapping.end - mapping.start)


def without_zero_pages(found: list[Stretch], bytes_: list[int]) -> list[int]:
    """In no mapping is more resident than smaps has there: the rest is the kernel's page of zeros."""
    sums: dict[Mapping, int] = {}
    for one, resident in zip(found, bytes_):
        sums[one.mapping] = sums.get(one.mapping, 0) + resident
    return [
        resident * min(one.mapping.rss, sums[one.mapping]) // max(1, sums[one.mapping])
        for one, resident in zip(found, bytes_)
    ]


def counted(pid: int, found: list[Stretch]) -> tuple[list[int], str]:
    try:
        with Pagemap(pid) as pagemap:
            bytes_ = [pagemap.resident(one.start, one.end) for one in found]
            return bytes_ if pagemap.scans else without_zero_pages(found, bytes_), "pagemap"
    except OSError:
        return [share_of_rss(one) for one in found], "smaps"


def by_smaps(found: list[Stretch], bytes_: list[int]) -> int:
    """Of mappings that are HAKMEM's from end to end; of others, which smaps does not divide, what was counted."""
    covered: dict[Mapping, list[int]] = {}
    for one, resident in zip(found, bytes_):
        sums = covered.setdefault(one.mapping, [0, 0])
        sums[0] += one.end - one.start
        sums[1] += resident
    return sum(
        mapping.rss if length == mapping.end - mapping.start else resident
        for mapping, (length, resident) in covered.items()
    )


# ---- huge pages ----

HUGE_STATES = (
    "none to come, as huge_pages=off says", "all to come, as huge_pages=on says", "to come where they cost less",
    "none for now, as they were too dear or refused", "none for now, as memory is short or the price high",
)
SMALL_PAGES = 512  # of 4 KiB


def huge_bytes(found: list[Stretch]) -> int:
    """As if a mapping's huge pages were spread over it."""
    return sum(
        one.mapping.huge * (one.end - one.start) // (one.mapping.end - one.mapping.start) for one in found
    )


def huge_text(page: Page) -> str:
    state, cost = page.value("huge_state"), page.value("cost_huge")
    if page.in_memory:
        return f"their cost is not known from outside: {ASK_FOR_IT}"
    told = any(row.name == "huge_state" for row in page.rows)
    said = HUGE_STATES[state] if told and state < len(HUGE_STATES) else "not told by this library"
    if not cost:
        return said
    small = SMALL_PAGES * page.value("cost_page")
    return f"the last took {cost / 1e6:.2f} ms, small pages {small / 1e6:.2f}; {said}"


# ---- parts ----

def kept_bytes(page: Page) -> int:
    return sum(extent.bytes for extent in page.extents if extent.kind == KEPT)


def asked_for(live: int, profile: Any) -> int:
    """Of these live bytes, by the profile's ratio."""
    from hakmem.reading.pprof import columns

    at = columns(profile)
    if not {"inuse_space", "inuse_requested"} <= at.keys():
        raise Refusal("the profile does not say how much was asked for")
    usable, requested = (sum(s.value[at[name]] for s in profile.sample) for name in ("inuse_space", "inuse_requested"))
    return live * min(requested, usable) // usable if usable else live


def sums_of(page: Page) -> dict[str, int]:
    """The counters are read one after another: what would be below nothing is nothing."""
    holes = page.value("slab_bytes") - page.value("slab_live") - page.value("slab_empty")
    return {
        LIVE: page.value("in_use"), HOLES: max(0, holes), CACHES: page.value("cached"),
        DIRTY: page.value("span_dirty") + kept_bytes(page), OWN: page.value("metadata"),
    }


def counted_by_kind(page: Page, sums: dict[str, int]) -> dict[int, int]:
    """The same bytes, by where they lie."""
    big, kept = page.value("big_live"), kept_bytes(page)
    runs = sums[LIVE] + sums[CACHES] - big + sums[HOLES] + sums[DIRTY] - kept
    return {RUNS: runs, BIG: big, KEPT: kept, METADATA: sums[OWN]}


def parts_of(page: Page, resident: dict[int, int], profile: Any) -> tuple[Part, ...]:
    sums = sums_of(page)
    untouched = sum(
        max(0, bytes_ - resident.get(kind, 0)) for kind, bytes_ in counted_by_kind(page, sums).items()
    )
    if profile is not None:
        requested = asked_for(sums[LIVE], profile)
        sums |= {LIVE: requested, WASTE: sums[LIVE] - requested}
    sums[UNTOUCHED] = -untouched
    told = TOLD if profile is None else TOLD | {LIVE: ASKED}
    return tuple(Part(name, told[name][0], sums[name], told[name][1]) for name in told if name in sums)


def waterfall_from(pid: int, page: Page, mappings: list[Mapping], profile: Any = None) -> Waterfall:
    if not page.extents:
        raise Refusal(f"process {pid}: its statistics do not say where its memory lies")
    found = list(stretches(page.extents, mappings))
    age = age_ns(page)
    bytes_, by = counted(pid, found)
    resident: dict[int, int] = {}
    for one, number in zip(found, bytes_):
        resident[one.kind] = resident.get(one.kind, 0) + number
    mine, rss = sum(bytes_), sum(mapping.rss for mapping in mappings)
    parts = parts_of(page, resident, profile)
    error = (mine - sum(part.bytes for part in parts)) / mine if mine else 0.0
    return Waterfall(
        pid, parts, mine, max(0, rss - mine), rss, error, by_smaps(found, bytes_), by, age, page.left_out,
        sum(page.value(name) for name in KEPT_ROWS), huge_bytes(found), huge_text(page),
    )


def waterfall_of(pid: int, profile: Optional[Any] = None) -> Waterfall:
    """Of a live process; `profile`: its heap profile, by which live bytes are split."""
    page = page_of_process(pid)  # says what is wrong, before anything takes time
    mappings = mappings_of(pid)
    return waterfall_from(pid, page if page.in_memory else page_of_process(pid), mappings, profile)
