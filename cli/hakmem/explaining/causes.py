# SPDX-License-Identifier: MIT OR Apache-2.0
"""Why a process is large: one row of CAUSES for each part of its memory, with its reasons and what would change it.

    Look, part -> reasons: what holds the bytes, as lines     -> changes: what to do, and the bytes that it would bring

A bound or an estimate says so. A figure of fewer than ten samples is called a hint.
"""

from __future__ import annotations

from hakmem.explaining import free, live, others, outside, parts
from hakmem.explaining.cause import Cause, size_of
from hakmem.explaining.look import ROUNDING, UNUSED, Look
from hakmem.reading.heap import BIG_KEPT, LIVE, OWN

CAUSES = (
    Cause(LIVE, "live blocks", live.live_reasons, live.live_changes),
    Cause(ROUNDING, "rounding of sizes", live.rounding_reasons, live.rounding_changes),
    Cause(parts.HOLES, "holes beside live blocks", free.holes_reasons, free.holes_changes),
    Cause(parts.CACHES, "caches of free blocks", free.caches_reasons, free.caches_changes),
    Cause(parts.KEPT, "freed, and kept for reuse", free.kept_reasons, free.kept_changes),
    Cause(BIG_KEPT, "freed big blocks, kept for reuse", free.big_reasons, free.big_changes),
    Cause(UNUSED, "unused parts of huge pages", free.unused_reasons, free.unused_changes),
    Cause(OWN, "HAKMEM's own tables", others.own_reasons, others.own_changes),
    Cause(parts.COPY, "pages shared with the parent", others.copy_reasons, others.copy_changes),
    Cause(outside.STACKS, "thread stacks, not HAKMEM's", others.stacks_reasons, others.stacks_changes),
    Cause(outside.PROGRAM, "program and libraries, not HAKMEM's", others.program_reasons, others.program_changes),
    Cause(outside.FILES, "mapped files, not HAKMEM's", others.files_reasons, others.files_changes),
    Cause(outside.SHARED, "shared memory, not HAKMEM's", others.shared_reasons, others.shared_changes),
    Cause(outside.ANONYMOUS, "other mappings, not HAKMEM's", others.other_reasons, others.other_changes),
)


def ordered(look: Look) -> list[Cause]:
    """Those that hold something, most bytes first."""
    return sorted((each for each in CAUSES if size_of(look, each.part) > 0), key=lambda each: -size_of(look, each.part))
