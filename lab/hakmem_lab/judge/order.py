# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the options of `hakmem-lab judge` ask for: what is wrong is refused before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import GLIBC, HAKMEM, Allocator, chosen, find_allocators
from hakmem.process.places import find_places
from hakmem_lab.judge import table
from hakmem_lab.judge.counted import count_all
from hakmem_lab.judge.regimes import COUNTED, REGIMES
from hakmem_lab.judge.session import Order, measure_all
from hakmem_lab.pareto.configurations import Configuration, named, refuse_twins

# Peers that take huge pages where a variable says so, and the variable.
GLIBC_HUGE = "glibc-huge"
STEERED = {GLIBC_HUGE: {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}}


@dataclass(frozen=True)
class Wishes:
    """The options as they were given."""

    rounds: int
    minutes: float
    regime: str
    programs: str | None
    configs: list[str]
    allocators: str | None
    peers: list[str]
    output: Path
    timeout: float


def carry_out(build: Path | None, library: Path | None, wishes: Wishes) -> int:
    """The exit status."""
    counts = wishes.regime == COUNTED
    if wishes.regime not in REGIMES and not counts:
        raise Refusal(f"--regime {wishes.regime}: expected {', '.join((*REGIMES, COUNTED))}")
    places = find_places(build, library)
    found, _ = find_allocators(places.so_file, wishes.peers)
    programs = table.installed(table.chosen(wishes.programs))
    if not programs:
        raise Refusal("none of these programs is installed")
    order = Order(programs, columns(found, wishes, counts), wishes.regime, wishes.rounds, wishes.timeout,
                  wishes.output, wishes.minutes)
    return count_all(places, order) if counts else measure_all(places, order)


def columns(found: list[Allocator], wishes: Wishes, counts: bool) -> list[Configuration]:
    """A name means one thing in all rows of a file, whatever is left out of this call. Huge pages are not counted."""
    hakmem = next((one for one in found if one.name == HAKMEM), None)
    if wishes.configs and hakmem is None:
        raise Refusal(f"--config needs {HAKMEM}: build it with `make`")
    every = [*found, *(replace(one, name=GLIBC_HUGE) for one in found if one.name == GLIBC)]
    asked = [named(text, hakmem) for text in wishes.configs if hakmem]
    refuse_twins([*map(as_it_is, every), *asked])
    return [*map(as_it_is, chosen(found if counts else every, wishes.allocators, wishes.peers)), *asked]


def as_it_is(allocator: Allocator) -> Configuration:
    return Configuration(allocator.name, allocator, steered=STEERED.get(allocator.name, {}))


def show_list(names: str | None) -> int:
    for row in table.chosen(names):
        state = f"  (missing: apt-get install {row.package})" if row.missing else ""
        print(f"{row.name:<16}{' '.join(row.words)[:100]}{state}")
    return 0
