# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the options of `hakmem-lab bench` ask for: everything that is wrong is refused before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from hakmem.base.console import stdout_console
from hakmem.process.peers import chosen, find_allocators
from hakmem.process.places import Places
from hakmem_lab.bench.catalogue import REAL, all_benchmarks, chosen_benchmarks, passes_of
from hakmem_lab.bench.cell import Benchmark
from hakmem_lab.bench.real import missing_programs
from hakmem_lab.bench.session import Order, start_session
from hakmem_lab.bench.sets import ALL_PASSES, SETS


@dataclass(frozen=True)
class Wishes:
    """The options as they were given."""

    set_name: str | None
    pattern: str | None
    runs: int
    warmup: int
    allocators: str | None
    peers: list[str]
    output: Path | None
    seconds: float | None
    timeout: float
    passes: str | None
    traces: list[Path] = field(default_factory=list)
    minutes: float | None = None

    @property
    def set_in_force(self) -> str:
        return self.set_name or ("full" if self.pattern else "quick")


def carry_out(places: Places, wishes: Wishes) -> int:
    """The exit status."""
    return start_session(places, order_of(wishes, places), wishes.output or default_output(places), stdout_console())


def order_of(wishes: Wishes, places: Places) -> Order:
    habits = SETS[wishes.set_in_force] if wishes.set_in_force in SETS else SETS["quick"]
    usual = habits.passes if wishes.set_name else SETS["quick"].passes
    benchmarks = wanted(places, wishes)
    found, missing = find_allocators(places.so_file, wishes.peers)
    if any(one.group == REAL for one in benchmarks):
        missing += missing_programs()
    return Order(
        benchmarks=benchmarks,
        allocators=chosen(found, wishes.allocators, wishes.peers),
        missing=[] if wishes.allocators else missing,
        passes=passes_of(wishes.passes, ALL_PASSES, usual),
        warm_ups=wishes.warmup,
        runs=wishes.runs,
        seconds=habits.seconds if wishes.seconds is None else wishes.seconds,
        timeout=wishes.timeout,
        set_name=wishes.set_name or ("" if wishes.pattern or wishes.traces else "quick"),
        pattern=wishes.pattern or "",
        minutes=minutes_of(wishes),
    )


def minutes_of(wishes: Wishes) -> float | None:
    """Of the whole quick set unless said; 0: as long as it takes."""
    if wishes.minutes is not None:
        return wishes.minutes or None
    some = wishes.pattern or (wishes.traces and not wishes.set_name)
    return None if some or wishes.set_in_force not in SETS else SETS[wishes.set_in_force].minutes


def wanted(places: Places, wishes: Wishes) -> list[Benchmark]:
    """The rows of --trace alone, unless a set or a filter is named; then what these say, and those of --trace."""
    rows = all_benchmarks(places.launcher.parent, wishes.traces)
    asked = [one for one in rows if one.trace in wishes.traces]
    if asked and not wishes.set_name and not wishes.pattern:
        return asked
    found = chosen_benchmarks(rows, wishes.set_name, wishes.pattern)
    return found + [one for one in asked if one not in found]


def default_output(places: Places) -> Path:
    """build/bench/20260131-235959, beside build/release."""
    return places.launcher.parent.parent / "bench" / f"{datetime.now():%Y%m%d-%H%M%S}"


def show_list(places: Places, wishes: Wishes) -> int:
    some = wishes.set_name or wishes.pattern or wishes.traces
    for one in wanted(places, wishes) if some else all_benchmarks(places.launcher.parent):
        print(f"{one.name:<26} {one.group:<12} {one.operation}")
    return 0
