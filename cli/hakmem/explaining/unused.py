# SPDX-License-Identifier: MIT OR Apache-2.0
"""How much of the live pages in huge pages holds zeros only: never written, most likely; resident as a part of 2 MiB.

    few pages    -> each is read
    many         -> PAGES_READ of them, drawn with equal chance; Wilson's range has the truth 19 times in 20
"""

from __future__ import annotations

import math
import random
from itertools import accumulate
from typing import NamedTuple

from hakmem.reading.estimate import Z
from hakmem.reading.resident import PAGE
from hakmem.reading.tables import Changed, Memory

PAGES_READ = 1000
ZEROS = bytes(PAGE)


class Unused(NamedTuple):
    bytes: int
    low: int
    high: int
    of: int  # bytes of live pages in huge pages
    read: int  # pages; all of them where `of` has no more


NONE = Unused(0, 0, 0, 0, 0)


def drawn(huge: list[tuple[int, int]], count: int) -> list[int]:
    """Addresses of pages."""
    sums = list(accumulate(pages for _, pages in huge))
    if sums[-1] <= count:
        return [start + n * PAGE for start, pages in huge for n in range(pages)]
    chosen = random.choices(huge, cum_weights=sums, k=count)
    return [start + random.randrange(pages) * PAGE for start, pages in chosen]


def wilson(hits: int, tries: int) -> tuple[float, float]:
    share, spread = hits / tries, Z * Z / tries
    middle = share + spread / 2
    half = Z * math.sqrt(share * (1 - share) / tries + spread / (4 * tries))
    return max(0.0, (middle - half) / (1 + spread)), min(1.0, (middle + half) / (1 + spread))


def is_zero(memory: Memory, page: int) -> bool | None:
    """None: it is gone by now."""
    try:
        return memory.read(page, PAGE) == ZEROS
    except Changed:
        return None


def unused_in(memory: Memory, huge: list[tuple[int, int]]) -> Unused:
    if not huge:
        return NONE
    whole = sum(pages for _, pages in huge) * PAGE
    told = [zero for page in drawn(huge, PAGES_READ) if (zero := is_zero(memory, page)) is not None]
    if not told:
        return NONE
    share = sum(told) / len(told)
    low, high = (share, share) if len(told) * PAGE >= whole else wilson(sum(told), len(told))
    return Unused(round(whole * share), round(whole * low), round(whole * high), whole, len(told))
