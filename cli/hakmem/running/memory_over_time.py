# SPDX-License-Identifier: MIT OR Apache-2.0
"""Resident memory of a program and its descendants as a curve: between two samples it changes evenly."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from hakmem.process.samples import Sample

SECOND_NS = 1_000_000_000
KIB_IN_MIB = 1024
END_SECONDS = 0.03  # one sample may be of a moment only: "at the end" is the middle of these; a program may grow


class Curve(NamedTuple):
    """Both lists have the same length, at least 1."""

    seconds: list[float]  # since the first sample
    mib: list[float]

    @property
    def span(self) -> float:
        return self.seconds[-1]

    @property
    def peak(self) -> float:
        return max(self.mib)

    @property
    def mean(self) -> float:
        """Over time."""
        if self.span == 0:
            return self.mib[0]
        steps = zip(self.seconds, self.seconds[1:], self.mib, self.mib[1:])
        return sum((later - before) * (first + last) / 2 for before, later, first, last in steps) / self.span

    def up_to(self, seconds: float) -> float:
        """The middle of the last samples until then."""
        end = max(1, bisect_right(self.seconds, seconds))
        start = min(bisect_right(self.seconds, seconds - END_SECONDS), end - 1)
        return median(self.mib[start:end])

    @property
    def end(self) -> float:
        return self.up_to(self.span)


def curve_of(samples: Sequence[Sample], end_ns: int) -> Curve:
    """Until then, and while there is a process."""
    first = samples[0].ns
    alive = [one for one in samples if one.processes and one.ns <= end_ns] or [samples[0]]
    return Curve([(one.ns - first) / SECOND_NS for one in alive], [one.resident_kib / KIB_IN_MIB for one in alive])


def most_in_each(curve: Curve, columns: int, span: float) -> list[float | None]:
    """The most in each of so many equal parts of the span; without a sample the last before; None: after the end."""
    found: list[float | None] = []
    last = curve.mib[0]
    for seconds, mib in zip(curve.seconds, curve.mib):
        column = min(int(seconds / span * columns), columns - 1) if span else 0
        if column >= len(found):
            found += [last] * (column - len(found))
            found.append(mib)
        found[column] = max(mib, found[column] or 0.0)
        last = mib
    return found + [None] * (columns - len(found))
