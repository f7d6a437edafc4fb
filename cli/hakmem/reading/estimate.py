# SPDX-License-Identifier: MIT OR Apache-2.0
"""How far off the figures of a profile may be: they are estimates, from blocks that were sampled by chance.

    a block of b bytes is sampled with the chance p = 1 - exp(-b / period), and stands for w = 1 / p blocks like it
    sum of w b                what is told                              (Horvitz and Thompson)
    sum of w (w - 1) b^2      its variance
    range                     the quantiles of two gamma distributions: of that sum and variance, and of what they were
                              with one sample more (Fay and Feuer 1997, for sums of counts with weights)

Of no sample at all only a bound can be said: of three periods something is seen with the chance 1 - exp(-3), 95 %.

Where the sum of all is known, and each figure was moved to it by its share of the variance (scale.py), a part with the share
f of the variance v keeps v (1 - f), and its range is that of what is left, too: one ends where the other begins.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, Optional

from hakmem.base.figures import bytes_text
from hakmem.reading.pprof import columns, text_of

Z = 1.959964  # 95 % of a normal distribution lie so many deviations around its mean
PERIODS_SEEN = 3
FEW, SEEN_SHARE = 10, 0.9  # samples: what rests on fewer is a hint, unless so much of it is of these blocks themselves
IN_USE = "hakmem: bytes in use, counted: "
AT_PEAK = re.compile(r"hakmem: bytes in use at the peak, counted: ([0-9]{1,20}), ([0-9]{1,20}) ns after the first sample")
DIGITS_MOST, STEPS = 20, 40
TABLES_READ, KINDS_READ = 16, 1 << 16  # of a profile, that a command reads again and again
TOLD = re.compile(r"(?<=[:;]) ([0-9]{1,20}) ([0-9]{1,20}) ([0-9]{1,20});")


class Moment(NamedTuple):
    """At which blocks are live: names of the columns, of the comment with what these are made of, and words for it."""

    space: str
    objects: str
    asked: str
    samples: str
    live: str  # "5 MiB ..."
    of_it: str  # "50 % of ..."


NOW = Moment("inuse_space", "inuse_objects", "inuse_requested", "#hakmem samples:", "in use", "what is live")
PEAK = Moment("peak_space", "peak_objects", "peak_space", "#hakmem peak samples:", "at the peak", "what was live at the peak")
BRIEF = Moment("temporary_space", "temporary_objects", "temporary_space", "#hakmem temporary samples:", "temporary",
               "what was temporary")  # not of a moment, but of all blocks ever
EVER = Moment("alloc_space", "alloc_objects", "alloc_requested", "#hakmem ever samples:", "allocated", "all allocated blocks")


class Whole(NamedTuple):
    """All of a scaled profile, of which a figure is a part."""

    size: int  # bytes, as the library counted
    seen: float  # bytes of the sampled blocks themselves
    variance: float  # of the sum of samples. 0: the figure is all of it, and exact


class Evidence(NamedTuple):
    """What a sum of live bytes is made of."""

    samples: float  # live blocks that were sampled; from means where the profile does not have them
    seen: float  # bytes of these themselves
    variance: float  # of what they stand for
    whole: Optional[Whole] = None  # of a scaled profile

    def plus(self, other: Evidence) -> Evidence:
        if not other.samples and (self.whole or not other.whole):
            return self
        samples, seen, variance = self.samples + other.samples, self.seen + other.seen, self.variance + other.variance
        return Evidence(samples, seen, variance, self.whole or other.whole)


NOTHING = Evidence(0, 0, 0.0)


def is_sampled(profile: Any) -> bool:
    """Else each block is in it, or it does not say."""
    return bool(profile.period > 1)


# ---- what the profile says of its samples ----

@lru_cache(TABLES_READ)
def rows_in(texts: tuple[str, ...], head: str) -> list[list[int]]:
    return [list(map(int, row)) for text in texts for row in TOLD.findall(text, len(head) - 1)]


@lru_cache(TABLES_READ)
def evidence_in(texts: tuple[str, ...], head: str, period: int) -> list[Evidence]:
    return [Evidence(row[0], row[1], float(row[2]) * period) for row in rows_in(texts, head)]


def told_texts(profile: Any, head: str) -> tuple[str, ...]:
    texts = (text_of(profile, number) for number in profile.comment)
    return tuple(text for text in texts if text.startswith(head))


def told_rows(profile: Any, head: str) -> list[list[int]]:
    """Not to be changed: they are read once."""
    return rows_in(told_texts(profile, head), head)


def is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= DIGITS_MOST


def told(profile: Any, moment: Moment = NOW) -> Optional[list[Evidence]]:
    """None: it says nothing, or of other samples than it has. Not to be changed."""
    texts, column = told_texts(profile, moment.samples), columns(profile)[moment.space]
    found = evidence_in(texts, moment.samples, profile.period)
    if len(found) != len(profile.sample):
        return None
    if [each.samples == 0 for each in found] != [sample.value[column] == 0 for sample in profile.sample]:
        return None
    return found


def by_means(size: int, blocks: int, asked: int, period: int) -> Evidence:
    """As if all blocks were alike, and sampled at this rate. The first samples were denser, so the range is wider than need
    be, and no sum of seen blocks is known. A request of n bytes is counted as n + 16."""
    if not blocks or not size:
        return NOTHING
    if blocks < FEW:
        return by_whole_samples(size, blocks, asked / size, period)
    each, chance = size / blocks, -math.expm1(-(asked / blocks + 16) / period)
    return Evidence(max(1.0, blocks * chance), blocks * chance * each, blocks * each * each * (1 - chance) / chance)


@lru_cache(KINDS_READ)
def by_whole_samples(size: int, blocks: int, part: float, period: int) -> Evidence:
    """The same of few blocks, as 1.2 blocks are told as 1: so many samples of blocks that stand for these bytes together.
    part: of a block's bytes that was asked for."""
    each = size / blocks
    samples = max(1, round(blocks * -math.expm1(-(part * each + 16) / period)))
    for _ in range(STEPS):
        chance = -math.expm1(-(part * each + 16) / period)
        before, each = each, size / samples * chance
        if each == before:
            break
    return Evidence(samples, samples * each, samples * each * each * (1 - chance) / (chance * chance))


def has_moment(profile: Any, moment: Moment) -> bool:
    """Profiles of other libraries, and of earlier versions, have what is live now alone."""
    return moment.space in columns(profile) and moment.objects in columns(profile)


def has_peak(profile: Any) -> bool:
    return has_moment(profile, PEAK)


def evidence_of(profile: Any, moment: Moment = NOW) -> list[Evidence]:
    """By sample, in their order."""
    if not is_sampled(profile):
        return [NOTHING] * len(profile.sample)
    at = columns(profile)
    space, objects, asked = at[moment.space], at[moment.objects], at.get(moment.asked, at[moment.space])
    if (found := scaled_evidence(profile, moment)) is not None:
        return found
    if (found := told(profile, moment)) is not None:
        return found
    rows, period = (sample.value for sample in profile.sample), profile.period
    means = (by_means(row[space], row[objects], row[asked], period) for row in rows)
    return [each._replace(seen=0) for each in means] if moment in (EVER, BRIEF) else list(means)


def unscaled_head(moment: Moment) -> str:
    return f"#hakmem unscaled {moment.space}:"


def unscaled_rows(profile: Any, moment: Moment) -> Optional[list[list[int]]]:
    """Blocks, bytes and bytes asked for, by sample, as sampled; None: the profile is not scaled."""
    rows = told_rows(profile, unscaled_head(moment))
    return rows if rows and len(rows) == len(profile.sample) else None


def scaled_evidence(profile: Any, moment: Moment) -> Optional[list[Evidence]]:
    """None: the profile is not scaled."""
    raw, column = unscaled_rows(profile, moment), columns(profile)[moment.space]
    found = told(profile, moment) if raw is not None else None
    if raw is None or found is None:
        return None
    values = [sample.value[column] for sample in profile.sample]
    parts = [each.variance * value / max(1, row[1]) for each, value, row in zip(found, values, raw)]
    whole = Whole(sum(values), sum(each.seen for each in found), sum(parts))
    return [Evidence(each.samples, each.seen, part, whole) for each, part in zip(found, parts)]


def sum_of(evidence: Iterable[Evidence]) -> Evidence:
    parts = list(evidence)
    whole = next((each.whole for each in parts if each.whole is not None), None)
    return Evidence(*(sum(values) for values in zip(NOTHING[:3], *(each[:3] for each in parts))), whole)


def whole_evidence(profile: Any, moment: Moment = NOW) -> Evidence:
    """Of all samples together. Exact in a scaled profile."""
    found = sum_of(evidence_of(profile, moment))
    if found.whole is None:
        return found
    return Evidence(found.samples, found.whole.size, 0.0, Whole(found.whole.size, found.whole.size, 0.0))


def counted_in_use(profile: Any) -> Optional[int]:
    """By the library's counters, at the moment of the profile. None: that does not say."""
    for text in (text_of(profile, number) for number in profile.comment):
        if text.startswith(IN_USE) and is_number(text[len(IN_USE):]):
            return int(text[len(IN_USE):])
    return None


class Counted(NamedTuple):
    """The peak by the library's counters."""

    in_use: int  # bytes
    after_ns: int  # after the first sample


def counted_peak(profile: Any) -> Optional[Counted]:
    """None: the profile does not say."""
    found = (AT_PEAK.fullmatch(text_of(profile, number)) for number in profile.comment)
    return next((Counted(int(match[1]), int(match[2])) for match in found if match), None)


# ---- ranges ----

def gamma_quantile(shape: float, z: float) -> float:
    """Wilson and Hilferty 1931; of shapes from 1 on the upper one is right within 1 %, the lower one too low rather."""
    return float(shape * max(0.0, 1 - 1 / (9 * shape) + z / (3 * math.sqrt(shape))) ** 3)


def lowest(size: float, variance: float, z: float = Z) -> float:
    return gamma_quantile(size * size / variance, -z) * variance / size if size > 0 and variance > 0 else size


def highest(size: float, variance: float, step: float, z: float = Z) -> float:
    """step: the bytes that one sample more would stand for."""
    more, spread = size + step, variance + step * step
    return gamma_quantile(more * more / spread, z) * spread / more if more > 0 and spread > 0 else size


def range_of(size: float, evidence: Evidence, period: int, z: float = Z) -> tuple[float, float]:
    """That has the true value in 95 of 100 profiles. What was seen is there."""
    if evidence.whole is not None:
        return range_in(evidence.whole, size, evidence, period)
    if not size:
        return 0.0, float(PERIODS_SEEN * period)
    low, high = lowest(size, evidence.variance, z), highest(size, evidence.variance, float(period), z)
    return max(low, min(evidence.seen, size)), max(size, high)


def range_in(whole: Whole, size: float, evidence: Evidence, period: int) -> tuple[float, float]:
    """Of a part of what is known as a whole: what it has not, all others have."""
    if not whole.variance:
        return size, size
    most = evidence.seen + max(0.0, whole.size - whole.seen)
    if not size:
        return 0.0, min(most, float(PERIODS_SEEN * period))
    part, rest = min(1.0, evidence.variance / whole.variance), max(0.0, whole.size - size)
    variance = evidence.variance * (1 - part)
    low = min(lowest(size, variance), whole.size - highest(rest, variance, part * period))
    high = max(highest(size, variance, (1 - part) * period), whole.size - lowest(rest, variance))
    return max(low, min(evidence.seen, size)), max(size, min(high, most))


def range_text(low: float, high: float) -> str:
    one, other = bytes_text(low), bytes_text(high)
    return f"{one.partition(' ')[0]} to {other}" if one.rpartition(" ")[2] == other.rpartition(" ")[2] else f"{one} to {other}"


def samples_text(samples: float) -> str:
    return f"{samples:,.0f} sample{'s' * (round(samples) != 1)}"


def size_about(size: int, evidence: Evidence, period: int) -> str:
    """≈ 12.3 MiB (9.1 to 16.0 MiB); of what is exact the bytes alone."""
    if period <= 1:
        return bytes_text(size)
    if not size:
        return f"likely less than {bytes_text(PERIODS_SEEN * period)}"
    low, high = range_of(size, evidence, period)
    return f"≈ {bytes_text(size)} ({range_text(low, high)})" if low < high else bytes_text(size)


def is_hint(size: int, evidence: Evidence) -> bool:
    """Few samples, which are not themselves nearly all of it, as large blocks are."""
    return round(evidence.samples) < FEW and evidence.seen < SEEN_SHARE * size


def from_samples(size: int, evidence: Evidence, period: int) -> str:
    if period <= 1:
        return ""
    return f", from {samples_text(evidence.samples)}{' (a hint, no more)' * is_hint(size, evidence)}"


def blocks_about(blocks: int, period: int) -> str:
    return f"{'≈ ' * (period > 1)}{blocks:,}"


def sampling_lines(profile: Any) -> Iterator[str]:
    """What the marks mean. Nothing where all is exact."""
    if is_sampled(profile):
        least = bytes_text(PERIODS_SEEN * profile.period)
        yield (f"at least one byte in {bytes_text(profile.period)} is sampled: ≈ is an estimate, its range has the truth 19 "
               "times in 20;")
        yield f"a place with less than {least} may go unseen (at that size it is seen 19 times in 20)"
