# SPDX-License-Identifier: MIT OR Apache-2.0
"""A folder of results, read: which runs count, and the figure of every benchmark on every allocator.

The figure is the median over the counted runs that ended well and were not disturbed. Where more than half were
disturbed all of them count, and the figure is marked.
"""

from __future__ import annotations

import io
import json
import types
import typing
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.process.peers import GLIBC, HAKMEM
from hakmem_lab.bench.record import COUNTED, OK, Bucket, Line, Metric, Moment, Run

MACHINE_FILE = "machine.json"
REAL, TRACE = "real", "trace"
THREADS_MARK = "@t"
FURTHER = "further"
FEWEST_IN_CHAPTER = 3

Pair = tuple[str, str]  # benchmark, allocator


class Results:
    """`folder` may be a single runs.csv too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = table_of(folder, Run)
        self.metrics = table_of(folder, Metric, optional=True)
        self.buckets = table_of(folder, Bucket, optional=True)
        self.moments = table_of(folder, Moment, optional=True)
        self.machine = machine_of(folder)

    # ---- what was measured ----

    @cached_property
    def allocators(self) -> list[str]:
        """HAKMEM, glibc, then as they were found."""
        named = [HAKMEM, GLIBC, *(one.get("name", "") for one in self.machine.get("allocators", []))]
        seen = list(self.runs["allocator"].unique())
        return list(dict.fromkeys([name for name in named if name in seen] + seen))

    @property
    def peers(self) -> list[str]:
        return [name for name in self.allocators if name != HAKMEM]

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """Group -> benchmarks, without the rows of the scaling curves; both in the order they were measured in."""
        groups: dict[str, list[str]] = {}
        for benchmark, group in self.group_of.items():
            if THREADS_MARK not in benchmark:
                groups.setdefault(group, []).append(benchmark)
        return groups

    @cached_property
    def chapters(self) -> dict[str, list[str]]:
        """As `groups`, with the small ones together: what one table or figure of the report shows."""
        chapters: dict[str, list[str]] = {}
        for group, names in self.groups.items():
            small = len(names) < FEWEST_IN_CHAPTER and group not in (REAL, TRACE)
            chapters.setdefault(FURTHER if small else group, []).extend(names)
        last = [name for name in (FURTHER, TRACE, REAL) if name in chapters]
        return {name: chapters[name] for name in [*(n for n in chapters if n not in last), *last]}

    @cached_property
    def group_of(self) -> dict[str, str]:
        first = self.runs.drop_duplicates("benchmark")
        return dict(zip(first["benchmark"], first["group"]))

    @property
    def micro(self) -> list[str]:
        """The C programs' rows, without the scaling curves."""
        return [name for group, names in self.groups.items() if group not in (REAL, TRACE) for name in names]

    @property
    def traces(self) -> list[str]:
        return self.groups.get(TRACE, [])

    @property
    def real(self) -> list[str]:
        return self.groups.get(REAL, [])

    @cached_property
    def scaling(self) -> dict[str, dict[int, str]]:
        """Row -> threads -> benchmark, of the rows named row@tN."""
        curves: dict[str, dict[int, str]] = {}
        for benchmark in self.group_of:
            row, mark, threads = benchmark.partition(THREADS_MARK)
            if mark and threads.isdigit():
                curves.setdefault(row, {})[int(threads)] = benchmark
        return {row: dict(sorted(points.items())) for row, points in curves.items()}

    # ---- figures ----

    @cached_property
    def finished(self) -> pd.DataFrame:
        """Counted runs that ended well, of those benchmarks that never failed on the allocator: one that crashed now
        and then, or was served by something else, has no figure. Of a run that was repeated, the last try."""
        pairs = pd.MultiIndex.from_frame(self.runs[["benchmark", "allocator"]])
        failed = pairs.isin(pd.MultiIndex.from_frame(self.failures[["benchmark", "allocator"]]))
        runs = self.runs[(self.runs["phase"] == COUNTED) & ~failed]
        return runs.drop_duplicates(["benchmark", "allocator", "round"], keep="last")

    @cached_property
    def samples(self) -> dict[Pair, pd.Series]:
        """Nanoseconds per operation by round, of the runs that make the figure."""
        timed = self.finished[self.finished["ns"].notna()]
        pairs = timed.groupby(["benchmark", "allocator"], sort=False)
        return {pair: counting(runs).set_index("round")["ns"] for pair, runs in pairs}

    @cached_property
    def timed(self) -> dict[Pair, pd.Series]:
        """The same of all runs."""
        return by_round(self.finished[self.finished["ns"].notna()])

    @cached_property
    def still(self) -> dict[Pair, pd.Series]:
        """The same of the runs that nothing disturbed: only these are judged by."""
        return by_round(self.finished[self.finished["ns"].notna() & (self.finished["disturbed"] == "")])

    @cached_property
    def marked(self) -> set[Pair]:
        """Figures that more than half disturbed runs stand in."""
        pairs = self.finished[self.finished["ns"].notna()].groupby(["benchmark", "allocator"], sort=False)
        return {pair for pair, runs in pairs if mostly_disturbed(runs)}

    def ns(self, benchmark: str, allocator: str) -> float | None:
        return self.times.get((benchmark, allocator))

    @cached_property
    def times(self) -> dict[Pair, float]:
        return {pair: float(series.median()) for pair, series in self.samples.items()}

    def median(self, column: str) -> dict[Pair, float]:
        """Of any column of runs.csv; disturbed runs count, for memory and calls do not depend on time."""
        present = self.finished[self.finished[column].notna()]
        return present.groupby(["benchmark", "allocator"], sort=False)[column].median().to_dict()

    @cached_property
    def peak_rss(self) -> dict[Pair, float]:
        return self.median("peak_rss_kib")

    def metric(self, name: str) -> dict[Pair, float]:
        return self.metric_medians.get(name, {})

    @cached_property
    def metric_medians(self) -> dict[str, dict[Pair, float]]:
        """Metric -> (benchmark, allocator) -> median over the rounds."""
        medians: dict[str, dict[Pair, float]] = {}
        grouped = self.metrics.groupby(["name", "benchmark", "allocator"], sort=False)["value"].median()
        for (name, benchmark, allocator), value in grouped.items():
            medians.setdefault(name, {})[benchmark, allocator] = float(value)
        return medians

    @cached_property
    def metric_units(self) -> dict[str, str]:
        return dict(zip(self.metrics["name"], self.metrics["unit"]))

    # ---- what went wrong ----

    @property
    def failures(self) -> pd.DataFrame:
        return self.runs[self.runs["outcome"] != OK]

    @property
    def disturbed(self) -> pd.DataFrame:
        return self.finished[self.finished["disturbed"] != ""]


def by_round(runs: pd.DataFrame) -> dict[Pair, pd.Series]:
    pairs = runs.groupby(["benchmark", "allocator"], sort=False)
    return {pair: of_pair.set_index("round")["ns"] for pair, of_pair in pairs}


def mostly_disturbed(runs: pd.DataFrame) -> bool:
    return int((runs["disturbed"] == "").sum()) * 2 < len(runs)


def counting(runs: pd.DataFrame) -> pd.DataFrame:
    return runs if mostly_disturbed(runs) else runs[runs["disturbed"] == ""]


# ---- reading ----

def machine_of(folder: Path) -> dict[str, Any]:
    """Empty when nothing was written down."""
    path = (folder.parent if folder.is_file() else folder) / MACHINE_FILE
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Refusal(f"{path}: not a description of a machine")
    return found


def table_of(folder: Path, kind: type[Line], optional: bool = False) -> pd.DataFrame:
    path = folder if folder.is_file() and kind is Run else folder / kind.FILE
    names = [field.name for field in fields(kind)]
    if path.is_file():
        table = read_table(path)
        if list(table.columns) != names:
            raise Refusal(f"{path}: its first line is not that of {kind.FILE}")
    elif optional:
        table = pd.DataFrame({name: pd.Series(dtype=str) for name in names})
    else:
        raise Refusal(f"{path}: no such file of results")
    return typed(path, table, kind)


def read_table(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(io.StringIO(whole_lines(path)), dtype=str, keep_default_na=False)
    except ValueError:  # also of letters that are none, and of no line at all
        raise Refusal(f"{path}: not a table of results") from None


def whole_lines(path: Path) -> str:
    """A full disk or a power cut may leave half a line at the end: it is no result. What is read comes into tables, pages
    and plots."""
    text = "\n".join(map(printable, path.read_text(encoding="utf-8").split("\n")))
    return text[: text.rfind("\n") + 1] or text


def typed(path: Path, table: pd.DataFrame, kind: type[Line]) -> pd.DataFrame:
    for name, hint in typing.get_type_hints(kind).items():
        if name in table.columns and hint is not str:
            table[name] = numbers(path, table[name], optional=isinstance(hint, types.UnionType))
    return table


def numbers(path: Path, column: pd.Series, optional: bool) -> pd.Series:
    converted = pd.to_numeric(column, errors="coerce")
    wrong = converted.isna() & ~((column == "") & optional)
    if wrong.any():
        line = int(wrong.to_numpy().argmax()) + 2
        raise Refusal(f"{path}:{line}: {column.name} is no number: {column[wrong].iloc[0]!r}")
    return converted
