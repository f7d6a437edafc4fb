# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether an answer is right: the place is named, and its bytes or blocks are within a tenth of the truth."""

from __future__ import annotations

import re

from hakmem_lab.jobs.model import BARE, Job, Way

RIGHT, PARTLY, WRONG, CANNOT = "right", "partly", "wrong", "cannot"
TOLERANCE = 0.1
# heaptrack's M and memray's MB are a million; jeprof and pprof print MiB, which job.toml says.
UNITS = {"": 1, "B": 1, "K": 1000, "M": 10**6, "G": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def figure_of(pattern: str, text: str, unit: str = "") -> float | None:
    """The last match's number, times its unit."""
    found = list(re.finditer(pattern, text, re.MULTILINE)) if pattern else []
    if not found:
        return None
    return float(found[-1]["number"].replace(",", "")) * UNITS[found[-1].groupdict().get("unit") or unit]


def truth_of(job: Job, text: str) -> float | None:
    return figure_of(job.true_figure, text)


def verdict_of(job: Job, way: Way, text: str) -> tuple[str, float | None, float | None]:
    """And the figure that was found, and the true one."""
    if way.tool == BARE:
        return "", None, truth_of(job, text)
    truth, figure = truth_of(job, text), figure_of(way.figure, text, way.unit)
    named = bool(re.search(way.site, text, re.MULTILINE)) if way.site else False
    counted = figure is not None and truth is not None and abs(figure - truth) <= TOLERANCE * truth
    verdict = RIGHT if named and (counted or not way.figure) else PARTLY if named or counted else WRONG
    return (PARTLY if verdict == RIGHT and way.at_most == PARTLY else way.at_most or verdict), figure, truth
