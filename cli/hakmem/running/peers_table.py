# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `hakmem run --peers` prints, on stderr: a table, a picture, the sentence, the proof and notes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from statistics import median

from hakmem.base.help import folded, width
from hakmem.base.plain import Cell, Table, show
from hakmem.process.peers import steering_variables
from hakmem.running.picture import picture
from hakmem.running.trial import Trial, label
from hakmem.running.trials import Trials
from hakmem.running.verdict import Measure, best, sentence

SECONDS, MEBIBYTES = "s", "MiB"


# ---- what is measured ----

def decimals(largest: float, noise: int) -> int:
    """About three digits of the largest that is shown, a digit less where noise is 10."""
    scaled = largest * noise
    return 1 if scaled >= 100 else 2 if scaled >= 1 else 3 if scaled >= 0.1 else 4


def seconds_measure(
    heading: str, words: str, trials: Trials, of: Callable[[Trial], float], noise: int = 1
) -> Measure:
    values = {label(name): [of(trial) for trial in runs] for name, runs in trials.runs.items()}
    places = decimals(max(value for row in values.values() for value in row), noise)
    return Measure(heading, words, SECONDS, values, lambda value: f"{value:.{places}f}")


def memory_measure(heading: str, words: str, trials: Trials, of: Callable[[Trial], float]) -> Measure:
    values = {label(name): [of(trial) for trial in runs] for name, runs in trials.runs.items()}
    places = 0 if max(value for row in values.values() for value in row) >= 100 else 1
    return Measure(heading, words, MEBIBYTES, values, lambda value: f"{value:,.{places}f}")


def cpu_seconds(trial: Trial) -> float:
    return (trial.figures.user_us + trial.figures.sys_us) / 1e6


def measures_of(trials: Trials) -> list[Measure]:
    """Less is better in each."""
    manner = trials.manner
    found = [seconds_measure("CPU [s]", "CPU time", trials, cpu_seconds)]
    if manner.load is not None:
        found.append(seconds_measure("load [s]", "time of the load", trials, lambda trial: trial.load_seconds, 10))
    elif manner.rest is None:
        found.append(seconds_measure("wall [s]", "wall time", trials, lambda trial: trial.figures.wall_ns / 1e9, 10))
    found.append(memory_measure("peak [MiB]", "peak memory", trials, lambda trial: trial.peak))
    found.append(memory_measure("mean [MiB]", "memory over time", trials, lambda trial: trial.curve.mean))
    if manner.load is not None:
        words = "memory at the end of the load"
        found.append(memory_measure("load [MiB]", words, trials, lambda trial: trial.after_load))
        words = f"memory after {manner.rest or 0:g} s of rest"
    else:
        words = "memory at the end" if manner.rest is None else f"memory after {manner.rest:g} s"
    found.append(memory_measure("end [MiB]", words, trials, lambda trial: trial.curve.end))
    return found


# ---- the table ----

def range_of(measure: Measure, name: str) -> str:
    values = measure.values[name]
    return f"{measure.text(min(values))}–{measure.text(max(values))}"


def table_of(measures: list[Measure]) -> Table:
    """Of each allocator the medians, and below them the least and the most."""
    table = Table("", *(measure.heading for measure in measures))
    names, winners = list(measures[0].values), [best(measure.values) for measure in measures]
    for name in names:
        styles = ["green" if name in first and len(first) < len(names) else "" for first in winners]
        medians = (measure.text(median(measure.values[name])) for measure in measures)
        table.add(Cell(name, "bold"), *map(Cell, medians, styles))
        if len(measures[0].values[name]) > 1:
            table.add(Cell(""), *(Cell(range_of(measure, name), "faint") for measure in measures))
    return table


# ---- lines ----

def how(trials: Trials) -> str:
    runs = len(next(iter(trials.runs.values())))
    turns = "one run each" if runs == 1 else f"of {runs} runs each, taken by turns, the median, and the least–most"
    return f"({turns}; memory is resident, of all processes, sampled every 10 ms{until(trials)})"


def until(trials: Trials) -> str:
    return "" if trials.manner.ends_it else ", until the program frees what it holds to end"


def ending(trials: Trials) -> str:
    manner = trials.manner
    if manner.load is not None:
        return f"load: {manner.load}"
    return f"each run was ended after {manner.rest:g} s" if manner.rest is not None else ""


def proof(trials: Trials) -> str:
    served = ", ".join(f"{label(one.name)} {one.version}" for one in trials.allocators)
    return f"each was proven in each run to serve malloc and free: {served}"


def notes(trials: Trials) -> Iterator[str]:
    yield from (f"not measured: {label(name)}: {why}" for name, why in trials.failed.items())
    yield from (f"note: {text}" for text in trials.notes)
    if trials.missing:
        yield f"note: not installed: {', '.join(trials.missing)}"
    if steering := steering_variables(os.environ):
        yield f"note: from the environment: {', '.join(f'{name}={value}' for name, value in steering.items())}"


def wrapped(text: str) -> list[str]:
    return folded(text, width())


def print_trials(trials: Trials) -> None:
    measures = measures_of(trials)
    show("")
    show(f"hakmem run --peers: {trials.program}", style="bold")
    show(*([ending(trials)] if ending(trials) else []), "")
    show(*table_of(measures).lines(sys.stderr), *wrapped(how(trials)), "")
    curves = {label(name): trials.typical(name).curve for name in trials.runs}
    show(*wrapped("memory over time [MiB], of each in its middle run; on the right at the end"))
    show(*picture(curves, width()), "")
    show(*wrapped(sentence(measures)), "", *wrapped(proof(trials)))
    for note in notes(trials):
        show(*wrapped(note))
