# SPDX-License-Identifier: MIT OR Apache-2.0
"""Live blocks, by class, call site and stack, and what their sizes were rounded up by."""

from __future__ import annotations

from collections.abc import Iterator

from hakmem.base.figures import bytes_text, counted
from hakmem.explaining.cause import ROWS, Change, age_text, class_text, estimate_text, size_of, stacks_command
from hakmem.explaining.look import Look
from hakmem.reading.heap import LIVE

LIVE_ROWS, SHARE_LEAST = 5, 0.01  # classes and call sites, and what they have at least of the part
COVERED = 0.8  # of the live bytes, below which it is told what samples stand for


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


def sampled_bytes(look: Look) -> int:
    """That the samples of live blocks stand for."""
    return sum(holder.size.bytes for holder in look.holders)


def covers(look: Look) -> bool:
    """Whether samples stand for most live bytes: they do not where sampling began late, as by `hakmem profile PID`."""
    return bool(look.samples) and sampled_bytes(look) >= COVERED * size_of(look, LIVE)


def live_stacks(look: Look) -> Iterator[str]:
    for holder in look.holders[:ROWS]:
        oldest = f"the oldest is {age_text(holder.oldest_s)} old"
        yield f"{look.stack(holder.stack)}: {estimate_text(look, holder.size)}; {oldest}"
    if look.samples and not covers(look):
        yield f"samples stand for ≈ {bytes_text(sampled_bytes(look))} of it: older blocks than the sampling have no stack"
    if not look.samples:
        yield f"stacks of blocks are not recorded without a profile; {stacks_command(look)} brings them"


def live_reasons(look: Look) -> Iterator[str]:
    yield "the program asked for them, and has not freed them" + "; below with rounding" * (look.rounding.bytes > 0)
    yield from live_by_size(look)
    yield from live_stacks(look)


def live_changes(look: Look) -> Iterator[Change]:
    text = f"free what is not needed. What grows is a leak: hakmem explain {look.pid} --seconds 10"
    yield Change(text, size_of(look, LIVE), True)


# ---- rounding ----

def rounding_reasons(look: Look) -> Iterator[str]:
    of = "" if covers(look) else f"of the sampled {bytes_text(sampled_bytes(look))} "
    yield f"sizes are rounded up to classes, and to whole pages: {of}{estimate_text(look, look.rounding)}"


def rounding_changes(look: Look) -> Iterator[Change]:
    worst = max(look.samples, key=lambda each: each.weight * (each.bytes - each.asked))
    text = f"ask for sizes just below a class, or for many at once: {worst.asked:,} B takes {worst.bytes:,} B"
    yield Change(text, look.rounding.bytes, True)


def rounding_bound(look: Look) -> int:
    """Of live slab blocks that were asked for without an alignment."""
    uses = ((look.heap.classes[number], use) for number, use in look.parts.classes.items())
    return sum(use.live * max(0, each.bytes - each.below - 1) for each, use in uses)
