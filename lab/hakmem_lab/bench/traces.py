# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces as benchmarks: the calls of a recorded program, made again by tools/replay.c on each allocator.

The excerpts of the checkout's corpus are rows of `--set full`; `--trace FILE` makes a row of any other. One operation
is one call. A small trace is gone through several times in one process, and its figure is the median; its peak is that
of the first time, above what was resident before the first call. An allocator must make as many calls as glibc.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from hakmem.base.errors import Refusal
from hakmem.process.launch import Figures, Streams
from hakmem.process.places import candidate_roots, existing
from hakmem.reading.unpack import check, unpack
from hakmem.running.replay import TOOL, Replayed, parse_line
from hakmem_lab.bench.cell import Benchmark, Context, last_line

TRACE = "trace"
CORPUS = Path("tests") / "trace" / "corpus"
ENDING = ".hakt"
OPERATION = "one call of a recorded program: malloc, free, realloc ..."
SMALL_BYTES, SMALL_ROUNDS = 1 << 20, 10  # of the packed file; how often it is gone through
NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_+-]")


# ---- which there are ----

def trace_rows(files: Iterable[Path]) -> list[Benchmark]:
    """Those of --trace, then the corpus's but for one of the same name."""
    asked = [row_of(file) for file in files]
    for name, times in Counter(row.name for row in asked).items():
        if times > 1:
            raise Refusal(f"--trace: {times} files would be the row {name}; name them differently")
    return asked + [row for row in map(row_of, corpus_files()) if row.name not in {one.name for one in asked}]


def row_of(file: Path) -> Benchmark:
    check(file)
    name = f"{TRACE}_{NOT_IN_A_NAME.sub('_', file.name.removesuffix(ENDING))}"
    return Benchmark(name, TRACE, OPERATION, once=True, trace=file)


def corpus_files() -> Iterator[Path]:
    """None outside a checkout."""
    folder = next((root / CORPUS for root in candidate_roots() if (root / CORPUS).is_dir()), None)
    yield from sorted(folder.glob(f"*{ENDING}")) if folder else ()


# ---- one process ----

@dataclass(frozen=True)
class Gone:
    """A trace that was gone through: the process's figures, ns per call, and `digest` of what was done."""

    figures: Figures
    ns: float
    operations: int
    digest: str


def command(context: Context) -> str:
    return str(existing(context.places.launcher.with_name(TOOL)))


def run(context: Context, file: Path, argv: list[str], environ: Mapping[str, str], folder: Path) -> Gone:
    output, errors = folder / "output", folder / "errors"
    words = [*argv, "--rounds", str(SMALL_ROUNDS if file.stat().st_size < SMALL_BYTES else 1)]
    streams = Streams(records_of(context, file), output, errors)
    figures = context.launcher.run(words, environ, streams, timeout=context.timeout)
    if figures.status != 0:
        raise Refusal(f"{figures.end}: {last_line(errors)}")
    return summed_up(figures, [parse_line(line) for line in output.read_text().splitlines()])


def records_of(context: Context, file: Path) -> Path:
    """Unpacked once a session."""
    target = context.scratch / f"{row_of(file).name}.records"
    if not target.exists():
        unpack(file, target)
    return target


def summed_up(figures: Figures, rounds: list[Replayed]) -> Gone:
    first = rounds[0]
    made = f"{first.calls} calls, {first.threads} threads, {max(one.failed for one in rounds)} failed"
    ns = median(one.busy_ns / max(1, one.calls) for one in rounds)
    return Gone(replace(figures, maxrss_kib=first.peak_kib), ns, sum(one.calls for one in rounds), made)
