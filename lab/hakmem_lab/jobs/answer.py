# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether an answer is right: the place is named, and its bytes or blocks are within a tenth of the truth."""

from __future__ import annotations

import re

from hakmem_lab.jobs.model import BARE, Job, Way

RIGHT, PARTLY, WRONG, CANNOT = "right", "partly", "wrong", "cannot"
WORST = (CANNOT, WRONG, PARTLY, RIGHT)
TOLERANCE = 0.1
# heaptrack's M and memray's MB are a million; jeprof and pprof print MiB, which job.toml says.
UNITS = {"": 1, "B": 1, "K": 1000, "M": 10**6, "G": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def figures_of(pattern: str, text: str, unit: str = "") -> list[float]:
    """Numbers of all matches, times their units."""
    found = re.finditer(pattern, text, re.MULTILINE) if pattern else ()
    return [float(one["number"].replace(",", "")) * UNITS[one.groupdict().get("unit") or unit] for one in found]


def truth_of(job: Job, text: str) -> float | None:
    """What the program said last."""
    return next(reversed(figures_of(job.true_figure, text)), None)


def verdict_of(job: Job, way: Way, text: str) -> tuple[str, float | None, float | None]:
    """And the figure that was found, and the true one."""
    if way.tool == BARE:
        return "", None, truth_of(job, text)
    truth, figures = truth_of(job, text), figures_of(way.figure, text, way.unit)
    figure = min(figures, key=lambda one: abs(one - (truth or 0)), default=None)  # a reader picks the best of some
    named = bool(re.search(way.site, text, re.MULTILINE)) if way.site else False
    counted = figure is not None and truth is not None and abs(figure - truth) <= TOLERANCE * truth
    verdict = RIGHT if named and (counted or not way.figure) else PARTLY if named or counted else WRONG
    return (min(verdict, way.at_most, key=WORST.index) if way.at_most else verdict), figure, truth
