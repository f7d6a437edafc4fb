# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of a profile, moved so that their sum is what the library counted.

    sum of samples s, variance v of each figure  --counted c-->  figure + (c - s) * its share of v, at least what was seen

A figure that rests on blocks which were all sampled has no variance and stays; one that is a guess takes most of the rest.
That is the change with the least error for each figure. One factor for all would move what is exact, too.

The counters know all blocks: they are not scaled to where blocks may be missing in the samples. The sums as sampled stay in
a comment of the profile, so that a written one can be compared with one that cannot be scaled.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Optional

from hakmem.base.figures import bytes_text, counted
from hakmem.reading.estimate import (
    FEW,
    NOW,
    PEAK,
    Evidence,
    Moment,
    counted_in_use,
    counted_peak,
    has_moment,
    is_sampled,
    range_of,
    sum_of,
    told,
    unscaled_head,
    unscaled_rows,
)
from hakmem.reading.pprof import columns, text_of
from hakmem.reading.table_file import FROM_FIRST, TILL_END

MOMENTS = (NOW, PEAK)
SURELY = 3.9  # deviations: what lies outside of them is no chance, but blocks that are missing
LOST = re.compile(r", ([0-9]{1,20}) lost(?:,|$)")
SCALED = re.compile(r"hakmem: (\w+) is scaled by ([0-9.]{1,20}) to the ([0-9]{1,20}) bytes that the counters know")


class Scale(NamedTuple):
    factor: float  # of the sum of all
    counted: int  # bytes


# ---- whether it can be ----

def texts_of(profile: Any) -> list[str]:
    return [text_of(profile, number) for number in profile.comment]


def counted_at(profile: Any, moment: Moment) -> Optional[int]:
    """[bytes] By the library's counters; None: the profile does not say."""
    if moment == NOW:
        return counted_in_use(profile)
    peak = counted_peak(profile) if moment == PEAK else None
    return peak.in_use if peak else None


def lost_samples(profile: Any) -> int:
    found = LOST.search(next(iter(texts_of(profile)), ""))
    return int(found[1]) if found else 0


def what_is_missing(profile: Any, moment: Moment) -> str:
    """By what the profile says of itself; empty: nothing."""
    texts = texts_of(profile)
    if FROM_FIRST not in texts:
        return "blocks may be older than the sampling, or from while it was off"
    if lost := lost_samples(profile):
        return f"{counted(lost, 'sample was', 'samples were')} lost"
    if moment == NOW and TILL_END in texts:
        return "blocks were freed between the count and the end"
    return ""


def what_does_not_fit(size: int, whole: Evidence, goal: int, period: int) -> str:
    if round(whole.samples) < FEW:
        return "there are fewer than ten samples"
    low, high = range_of(size, whole, period, SURELY)
    if not max(low, whole.seen) <= goal <= high:
        return "it is not what the samples stand for, so blocks may be missing in them"
    return ""


def is_of_all(whole: Evidence) -> bool:
    """Whether each block was sure to be sampled, as blocks are that are much larger than the period."""
    return not whole.variance and round(whole.samples) >= FEW


def is_exact(profile: Any, moment: Moment) -> bool:
    return is_of_all(sum_of(told(profile, moment) or ()))


def hindrance(profile: Any, moment: Moment) -> Optional[str]:
    """The reason for which a profile is not scaled, in a few words; empty: it is exact, or has no count. None: it can be."""
    if not is_sampled(profile) or not has_moment(profile, moment) or unscaled_rows(profile, moment):
        return ""
    goal = counted_at(profile, moment)
    found = told(profile, moment) if goal is not None else None
    whole = sum_of(found or ())
    if goal is None or found is None or is_of_all(whole):
        return ""
    column = columns(profile)[moment.space]
    size = sum(sample.value[column] for sample in profile.sample)
    why = what_is_missing(profile, moment) or what_does_not_fit(size, whole, goal, int(profile.period))
    return why or None


# ---- doing it ----

def moved(sizes: list[int], evidence: list[Evidence], goal: int) -> list[float]:
    """[bytes] By shares of the variance. A figure stays at what was seen of it, and the others take the rest."""
    found, waiting = [float(size) for size in sizes], [n for n, each in enumerate(evidence) if each.variance > 0]
    while waiting:
        step = (goal - sum(found)) / sum(evidence[n].variance for n in waiting)
        below = {n for n in waiting if found[n] + step * evidence[n].variance < evidence[n].seen}
        for n in below or waiting:
            found[n] = evidence[n].seen if below else found[n] + step * evidence[n].variance
        waiting = [n for n in waiting if n not in below] if below else []
    return found


def blocks_of(blocks: int, size: int, now: float, each: Evidence) -> int:
    """Those that were sampled are there; the others grow as their bytes do."""
    beyond = size - each.seen
    return round(each.samples + (blocks - each.samples) * (now - each.seen) / beyond) if beyond > 0 else blocks


def add_comment(profile: Any, text: str) -> None:
    profile.string_table.append(text)
    profile.comment.append(len(profile.string_table) - 1)


def scale(profile: Any, moment: Moment) -> None:
    at, evidence, goal = columns(profile), told(profile, moment), counted_at(profile, moment)
    assert evidence is not None and goal is not None
    space, objects, asked = (at.get(name, at[moment.space]) for name in (moment.space, moment.objects, moment.asked))
    sizes = [sample.value[space] for sample in profile.sample]
    rows = []
    for sample, each, now in zip(profile.sample, evidence, moved(sizes, evidence, goal)):
        blocks, size, requested = (sample.value[n] for n in (objects, space, asked))
        rows.append(f" {blocks} {size} {requested};")
        sample.value[objects] = blocks_of(blocks, size, now, each)
        sample.value[asked] = round(requested * now / size) if size else requested
        sample.value[space] = round(now)
    factor = goal / max(1, sum(sizes))
    add_comment(profile, f"hakmem: {moment.space} is scaled by {factor:.4f} to the {goal} bytes that the counters know")
    add_comment(profile, unscaled_head(moment) + "".join(rows))


def scaled(profile: Any) -> Any:
    """The same profile. At each moment of which the library counted all, its figures have that sum then."""
    for moment in MOMENTS:
        if hindrance(profile, moment) is None:
            scale(profile, moment)
    return profile


def unscaled(profile: Any) -> Any:
    """The same profile, with the sums as sampled."""
    at = columns(profile)
    for moment in MOMENTS:
        for sample, row in zip(profile.sample, unscaled_rows(profile, moment) or ()):
            for name, value in zip((moment.asked, moment.objects, moment.space), (row[2], row[0], row[1])):
                sample.value[at.get(name, at[moment.space])] = value
    heads = tuple(unscaled_head(moment) for moment in MOMENTS)
    kept = [n for n, text in zip(profile.comment, texts_of(profile)) if not SCALED.fullmatch(text) and not text.startswith(heads)]
    profile.comment[:] = kept
    return profile


# ---- what is said of it ----

def scale_of(profile: Any, moment: Moment) -> Optional[Scale]:
    """None: the figures are as sampled."""
    if unscaled_rows(profile, moment) is None:
        return None
    found = (SCALED.fullmatch(text) for text in texts_of(profile))
    return next((Scale(float(match[2]), int(match[3])) for match in found if match and match[1] == moment.space), None)


def scale_text(scale: Scale) -> str:
    return f"scaled by {scale.factor:.2f} to the {bytes_text(scale.counted)} ({scale.counted:,} B) that the counters know"
