# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a benchmark writes down: one line per process that ran, and one line per further figure.

A folder of results holds
    runs.csv      one line per process: what it measured, what it used, and what disturbed it
    metrics.csv   one line per further figure: system calls, instructions, page floors, percentiles
    latency.csv   histograms of single calls of malloc and free
    timeline.csv  resident memory over time
    machine.json  the machine, the allocators with their hashes, the commit
Lines are appended as they are measured, so that a benchmark that is stopped loses nothing.
"""

from __future__ import annotations

import csv
import io
import types
import typing
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import ClassVar, TypeVar

from hakmem.base.atomic_write import append_whole, write_whole
from hakmem.base.errors import Refusal, readable

WARM_UP = "warm-up"
COUNTED = "counted"
OK = "ok"


@dataclass(frozen=True)
class Run:
    """One process (with its children) on one allocator."""

    FILE: ClassVar[str] = "runs.csv"

    benchmark: str
    group: str
    allocator: str
    round: int
    phase: str  # WARM_UP or COUNTED
    outcome: str  # OK, or why there is no figure
    ns: float | None = None  # per operation
    operations: float | None = None  # per repetition
    wall_ns: int | None = None  # of the whole process, and so on
    user_us: int | None = None
    system_us: int | None = None
    peak_rss_kib: int | None = None
    final_rss_kib: int | None = None
    minor_faults: int | None = None
    major_faults: int | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    hop_ns: float | None = None  # between the two cores of a run with two threads
    others_cores: float | None = None  # cores that other processes used meanwhile
    stolen_cores: float | None = None  # cores the host took away
    mhz: float | None = None
    load: float | None = None  # one-minute load before the run
    disturbed: str = ""  # why the run should not count, empty when nothing was seen
    tries: int = 1


@dataclass(frozen=True)
class Metric:
    """One further figure of a benchmark on an allocator, such as system calls per operation."""

    FILE: ClassVar[str] = "metrics.csv"

    benchmark: str
    allocator: str
    round: int
    name: str
    value: float
    unit: str


@dataclass(frozen=True)
class Bucket:
    """Calls whose latency lay in one bucket of the histogram; `ns` is its upper end, the counter's cost included."""

    FILE: ClassVar[str] = "latency.csv"

    benchmark: str
    allocator: str
    call: str  # malloc (with calloc and realloc) or free
    ns: float
    count: int


@dataclass(frozen=True)
class Moment:
    """Resident memory of a program and its children at one moment."""

    FILE: ClassVar[str] = "timeline.csv"

    benchmark: str
    allocator: str
    seconds: float
    rss_kib: int


Line = Run | Metric | Bucket | Moment
Kind = TypeVar("Kind", Run, Metric, Bucket, Moment)


@contextmanager
def named_failure(path: Path) -> Iterator[None]:
    """The system does not say which file it could not write when the disk is full. No Refusal: it ends a session, and not
    a benchmark of it."""
    try:
        yield
    except OSError as failure:
        raise OSError(failure.errno, failure.strerror, failure.filename or str(path)) from None


class Recorder:
    """Appends lines to the files of one folder, each whole and flushed at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for kind in (Run, Metric, Bucket, Moment):
            self.begin(kind)

    def begin(self, kind: type[Line]) -> None:
        write_whole(self.folder / kind.FILE, line_text([field.name for field in fields(kind)]))

    def add(self, *lines: Line) -> None:
        for line in lines:
            path = self.folder / line.FILE
            with named_failure(path):
                append_whole(path, line_text(["" if value is None else value for value in astuple(line)]))


def line_text(values: Iterable[object]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue()


# ---- reading ----

def read_lines(folder: Path, kind: type[Kind]) -> list[Kind]:
    """All lines of one kind; a folder or a single CSV file may be named."""
    path = folder if folder.is_file() else folder / kind.FILE
    if not path.is_file():
        raise Refusal(f"{path}: no such file of results")
    with readable(path), path.open(newline="", encoding="utf-8", errors="replace") as file:
        return list(parsed_lines(path, csv.DictReader(file), kind))


def parsed_lines(path: Path, rows: csv.DictReader[str], kind: type[Kind]) -> Iterator[Kind]:
    for number, row in enumerate(rows, start=2):
        try:
            yield parsed(row, kind)
        except (KeyError, ValueError, TypeError):
            raise Refusal(f"{path}:{number}: not a line of {kind.FILE}") from None


def parsed(row: dict[str, str], kind: type[Kind]) -> Kind:
    types_of = typing.get_type_hints(kind)
    return kind(**{field.name: converted(row[field.name], types_of[field.name]) for field in fields(kind)})


def converted(text: str, wanted: object) -> object:
    """`wanted` is str, int or float, or one of them or None."""
    if isinstance(wanted, types.UnionType):
        if text == "":
            return None
        wanted = next(one for one in typing.get_args(wanted) if one is not types.NoneType)
    return wanted(text)  # type: ignore[operator]
