# SPDX-License-Identifier: MIT OR Apache-2.0
"""Live blocks, by class, call site and stack, and what their sizes were rounded up by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import NamedTuple

from hakmem.base.figures import bytes_text, counted
from hakmem.explaining.cause import ROWS, Change, age_text, class_text, estimate_text, size_of, stacks_command
from hakmem.explaining.holders import SAMPLES_LEAST
from hakmem.explaining.look import Look
from hakmem.reading.heap import LIVE
from hakmem.reading.samples import Sample

LIVE_ROWS, SHARE_LEAST = 5, 0.01  # classes and call sites, and what they have at least of the part
SLAB_MOST = 32 << 10  # bytes of a block in a slab
SMALL_MOST, SMALL_STEP, LARGE_STEP = 1024, 16, 128  # bytes between classes, up to SMALL_MOST and above
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
    asked = "the program, or its parent before the fork, asked" if look.parent else "the program asked"
    yield f"{asked} for them, and has not freed them" + "; below with rounding" * (look.rounding.bytes > 0)
    if copied := copied_bytes(look):
        yield (f"up to {bytes_text(copied)} of it are copies: process {look.parent}, the parent, has pages at these places, "
               "too, and a write of either to memory from before the fork copies the page (or both took memory since)")
    yield from live_by_size(look)
    yield from live_stacks(look)


def copied_bytes(look: Look) -> int:
    """Of live blocks on pages that a write after the fork copied; 0: too little to be told."""
    copied = min(look.parts.copied, size_of(look, LIVE))
    return copied if copied >= SHARE_LEAST * size_of(look, LIVE) else 0


def live_changes(look: Look) -> Iterator[Change]:
    if copied := copied_bytes(look):
        text = "write less to memory from before the fork (reference counts, marks), keep written data apart, or exec"
        yield Change(text, copied, True)
    text = f"free what is not needed. What grows is a leak: hakmem explain {look.pid} --seconds 10"
    yield Change(text, size_of(look, LIVE), True)


# ---- rounding ----

def rounding_reasons(look: Look) -> Iterator[str]:
    of = "" if covers(look) else f"of the sampled {bytes_text(sampled_bytes(look))} "
    yield f"sizes are rounded up to classes, and to whole pages: {of}{estimate_text(look, look.rounding)}"
    saver = best_class([each for each in look.samples if each.bytes <= SLAB_MOST])
    if saver and saver.samples >= SAMPLES_LEAST and saver.saved >= SHARE_LEAST * sampled_bytes(look):
        share = saver.saved / sampled_bytes(look)
        yield (f"a size class of {saver.bytes:,} B would save ≈ {bytes_text(round(saver.saved))}, {share:.0%} of it, from "
               f"{counted(saver.samples, 'sample', 'samples')}; mode=evolving with lab_learn_class=on adds such classes")


class Saver(NamedTuple):
    bytes: int
    saved: float
    samples: int  # that the new class would serve


def best_class(samples: Iterable[Sample]) -> Saver | None:
    """The further size class that would save the live blocks most, as src/learn/peaks.h has it: of each class the blocks
    that ask for at most x bytes would take x."""
    by_class: dict[int, list[Sample]] = {}
    for each in samples:
        by_class.setdefault(each.bytes, []).append(each)
    return max((one for size, own in by_class.items() for one in savers(size, own)), key=lambda one: one.saved, default=None)


def class_for(asked: int) -> int:
    """As the library's classes lie (hak_class_step in src/tables/classes.h)."""
    step = SMALL_STEP if asked <= SMALL_MOST else LARGE_STEP
    return -(-max(asked, 1) // step) * step


def savers(size: int, samples: list[Sample]) -> Iterator[Saver]:
    """A class for each size that is asked for, rounded up as classes are."""
    weight, count = 0.0, 0
    for each, after in zip_longest(ordered := sorted(samples, key=lambda one: one.asked), ordered[1:]):
        weight, count = weight + each.weight, count + 1
        rounded = class_for(each.asked)
        if rounded < size and (after is None or after.asked > rounded):
            yield Saver(rounded, weight * (size - rounded), count)


def rounding_changes(look: Look) -> Iterator[Change]:
    worst = max(look.samples, key=lambda each: each.weight * (each.bytes - each.asked))
    text = f"ask for sizes just below a class, or for many at once: {worst.asked:,} B takes {worst.bytes:,} B"
    yield Change(text, look.rounding.bytes, True)


def rounding_bound(look: Look) -> int:
    """Of live slab blocks that were asked for without an alignment."""
    uses = ((look.heap.classes[number], use) for number, use in look.parts.classes.items())
    return sum(use.live * max(0, each.bytes - each.below - 1) for each, use in uses)
