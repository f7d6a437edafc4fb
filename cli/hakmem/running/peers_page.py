# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem run --peers --html FILE`: the same as in the terminal, as one page that needs nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import median
from typing import Any

from hakmem import __version__
from hakmem.base.html_page import filled, write_page
from hakmem.running.memory_over_time import Curve, most_in_each
from hakmem.running.peers_table import ending, how, measures_of, notes, proof
from hakmem.running.trial import label
from hakmem.running.trials import Trials
from hakmem.running.verdict import Measure, best, sentence

TEMPLATE = Path(__file__).with_name("peers.html")
POINTS_MOST = 300  # of a curve


def cell(measure: Measure, name: str) -> dict[str, Any]:
    values = measure.values[name]
    return {
        "median": measure.text(median(values)), "least": measure.text(min(values)), "most": measure.text(max(values)),
        "part": median(values) / (max(map(median, measure.values.values())) or 1),
        "best": name in best(measure.values),
    }


def points_of(curve: Curve) -> list[list[float]]:
    """[second, MiB]"""
    if len(curve.seconds) <= POINTS_MOST:
        return [[round(second, 3), round(mib, 2)] for second, mib in zip(*curve)]
    mibs = most_in_each(curve, POINTS_MOST, curve.span)
    step = curve.span / POINTS_MOST
    return [[round((n + 0.5) * step, 3), round(mib, 2)] for n, mib in enumerate(mibs) if mib is not None]


def curves_of(trials: Trials, name: str) -> dict[str, Any]:
    """The run in the middle comes last: it is drawn over the others."""
    typical = trials.typical(name)
    runs = [trial for trial in trials.runs[name] if trial is not typical]
    return {"name": label(name), "runs": [points_of(trial.curve) for trial in (*runs, typical)]}


def machine() -> str:
    facts = os.uname()
    return f"{os.cpu_count()} CPUs, {facts.sysname} {facts.release}, {facts.machine}"


def page_data(trials: Trials) -> dict[str, Any]:
    measures = measures_of(trials)
    names = list(measures[0].values)
    return {
        "program": trials.program,
        "facts": [time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), machine(), ending(trials)],
        "sentence": sentence(measures), "how": how(trials), "proof": proof(trials), "notes": [*notes(trials)],
        "measures": [[measure.heading, measure.words, measure.unit] for measure in measures],
        "rows": [{"name": name, "cells": [cell(measure, name) for measure in measures]} for name in names],
        "curves": [curves_of(trials, name) for name in trials.runs], "version": __version__,
    }


def write_trials(path: Path, trials: Trials) -> None:
    write_page(path, filled(TEMPLATE, page_data(trials)))
