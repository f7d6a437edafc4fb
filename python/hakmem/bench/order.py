"""What the options of `hakmem bench` ask for: everything that is wrong is refused before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hakmem.bench.catalogue import all_benchmarks, chosen_benchmarks, passes_of
from hakmem.bench.real import missing_programs
from hakmem.bench.session import Order, start_session
from hakmem.bench.sets import ALL_PASSES, SETS
from hakmem.console import stdout_console
from hakmem.peers import chosen, find_allocators
from hakmem.places import Places


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

    @property
    def set_in_force(self) -> str:
        return self.set_name or ("full" if self.pattern else "quick")


def carry_out(places: Places, wishes: Wishes) -> int:
    """The exit status."""
    return start_session(places, order_of(wishes, places), wishes.output or default_output(places), stdout_console())


def order_of(wishes: Wishes, places: Places) -> Order:
    habits = SETS[wishes.set_in_force] if wishes.set_in_force in SETS else SETS["quick"]
    usual = habits.passes if wishes.set_name else SETS["quick"].passes
    benchmarks = chosen_benchmarks(all_benchmarks(places.launcher.parent), wishes.set_name, wishes.pattern)
    found, missing = find_allocators(places.so_file, wishes.peers)
    if any(one.program is None for one in benchmarks):
        missing += missing_programs()
    return Order(
        benchmarks=benchmarks,
        allocators=chosen(found, wishes.allocators),
        missing=[] if wishes.allocators else missing,
        passes=passes_of(wishes.passes, ALL_PASSES, usual),
        warm_ups=wishes.warmup,
        runs=wishes.runs,
        seconds=habits.seconds if wishes.seconds is None else wishes.seconds,
        timeout=wishes.timeout,
        set_name=wishes.set_name or ("" if wishes.pattern else "quick"),
        pattern=wishes.pattern or "",
    )


def default_output(places: Places) -> Path:
    """build/bench/20260131-235959, beside build/release."""
    return places.launcher.parent.parent / "bench" / f"{datetime.now():%Y%m%d-%H%M%S}"


def show_list(places: Places, wishes: Wishes) -> int:
    benchmarks = all_benchmarks(places.launcher.parent)
    wanted = wishes.set_name or wishes.pattern
    for one in chosen_benchmarks(benchmarks, wishes.set_name, wishes.pattern) if wanted else benchmarks:
        print(f"{one.name:<26} {one.group:<12} {one.operation}")
    return 0
