# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the options of `hakmem-lab pareto` ask for: what is wrong is refused before anything is measured."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import HAKMEM, chosen, find_allocators, hakmem_at
from hakmem.process.places import find_places
from hakmem_lab.pareto.configurations import all_of
from hakmem_lab.pareto.programs import chosen as chosen_programs
from hakmem_lab.pareto.programs import installed
from hakmem_lab.pareto.session import Order, measure_all


@dataclass(frozen=True)
class Wishes:
    """The options as they were given."""

    runs: int
    floors: int
    programs: str | None
    configs: list[str]
    allocators: str | None
    peers: list[str]
    output: Path
    timeout: float


def carry_out(build: Path | None, library: Path | None, wishes: Wishes) -> int:
    """The exit status."""
    places = find_places(build, library)
    found, missing = find_allocators(places.so_file, wishes.peers)
    programs, absent = installed(chosen_programs(wishes.programs))
    if not programs:
        raise Refusal("none of these programs is installed")
    configurations = all_of(chosen(found, wishes.allocators, wishes.peers), wishes.configs)
    hakmem = next((one for one in found if one.name == HAKMEM), None) or hakmem_at(places.so_file)
    if isinstance(hakmem, str):
        raise Refusal(hakmem)
    for line in [*([] if wishes.allocators else missing), *absent]:
        print(f"hakmem: not measured, because missing: {line}", file=sys.stderr)
    order = Order(programs, configurations, hakmem, wishes.runs, wishes.floors, wishes.timeout, wishes.output)
    return measure_all(places, order)


def show_list(names: str | None) -> int:
    for row in chosen_programs(names):
        state = f"  (missing: apt-get install {row.package})" if row.missing else ""
        print(f"{row.name:<14}{row.kind:<8}{' '.join(row.words)}{state}")
    return 0
