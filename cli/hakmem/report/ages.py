# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sizes and lifetimes of sampled blocks, from the comments that HAKMEM writes into a profile (src/record/profile_ages.h).

    hakmem sizes: TO EVER BYTES LIVE BYTES; ...     blocks of at most TO bytes: that there ever were, that are live
    hakmem ages: TO FREED BYTES LIVE BYTES; ...     younger than TO ns: when they were freed, and the live ones now
"""

from __future__ import annotations

from typing import Any, Optional

from hakmem.base.errors import Refusal
from hakmem.reading.pprof import text_of

KINDS = ("sizes", "ages")
WIDTH = 5
LAST = 0  # stands for: without a bound


def row_of(text: str) -> list[int]:
    words = text.split()
    if len(words) != WIDTH or not all(word.isascii() and word.isdecimal() for word in words):
        raise Refusal(f"the profile's sizes or ages are damaged, or of another version: {text.strip()[:40]}")
    return [int(word) for word in words]


def rows_of(comment: str) -> list[list[int]]:
    return [row_of(part) for part in comment.split(";") if part.strip()]


def ages_of(profile: Any) -> Optional[dict[str, list[list[int]]]]:
    """Rows by kind, the one without a bound last. None: the profile has none, as those of other versions and libraries."""
    found: dict[str, list[list[int]]] = {}
    for comment in (text_of(profile, number) for number in profile.comment):
        for kind in KINDS:
            head = f"hakmem {kind}:"
            if comment.startswith(head):
                found.setdefault(kind, []).extend(rows_of(comment[len(head) :]))
    for rows in found.values():
        rows.sort(key=lambda row: row[0] or float("inf"))
    return found or None
