# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the options of `hakmem-lab headroom` ask for: an order of `hakmem-lab pareto`'s session."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import find_allocators, hakmem_at
from hakmem.process.places import find_places
from hakmem_lab.headroom.table import PRICES, Sides, configurations, often, programs
from hakmem_lab.judge.regimes import REGIMES
from hakmem_lab.judge.table import chosen
from hakmem_lab.pareto.perform import NOBODY, OF_NOBODY
from hakmem_lab.pareto.programs import installed
from hakmem_lab.pareto.rows import FLOOR, complete, read
from hakmem_lab.pareto.session import Order, measure_all


@dataclass(frozen=True)
class Wishes:
    """The options as they were given."""

    programs: str | None
    settings: str | None
    learnt: bool
    learners: bool
    peers: str | None
    regime: str
    runs: int
    others: int | None
    floors: int
    output: Path
    timeout: float


def carry_out(build: Path | None, library: Path | None, wishes: Wishes) -> int:
    """The exit status."""
    if wishes.regime not in REGIMES:
        raise Refusal(f"--regime {wishes.regime}: expected {', '.join(REGIMES)}")
    places = find_places(build, library)
    hakmem = hakmem_at(places.so_file)
    if isinstance(hakmem, str):
        raise Refusal(hakmem)
    rows, missing = installed(chosen(wishes.programs, programs()))
    for line in missing:
        print(f"hakmem: not measured, because missing: {line}", file=sys.stderr)
    if not rows:
        raise Refusal("none of these programs is installed")
    refuse_without_floors(wishes)
    sides = Sides(wishes.settings, policies_of(wishes), wishes.learners, wishes.peers)
    planned = configurations(find_allocators(places.so_file, [])[0], sides)
    fewer = {} if wishes.others is None else {one.name: wishes.others for one in planned if not often(one.name)}
    return measure_all(places, Order(
        rows, planned, hakmem, wishes.runs, wishes.floors, wishes.timeout, wishes.output, REGIMES[wishes.regime], fewer))


def refuse_without_floors(wishes: Wishes) -> None:
    there = wishes.output.exists() and any(row.configuration == FLOOR for row in complete(read(wishes.output)))
    if wishes.floors == 0 and not there:
        raise Refusal(f"--floors 0: {wishes.output} has no floor yet, and without one no program has a cost")


def policies_of(wishes: Wishes) -> Path | None:
    """A folder a price, beside the CSV, that only this user may write; a CSV that goes on goes on with its policies."""
    if not wishes.learnt:
        return None
    folder = wishes.output.with_suffix(".policies").resolve()
    for price in PRICES:
        (folder / price).mkdir(mode=0o700, parents=True, exist_ok=True)
        own = folder / f"{price}{OF_NOBODY}"
        own.mkdir(mode=0o700, exist_ok=True)
        if os.geteuid() == 0:
            os.chown(own, NOBODY, NOBODY)
    return folder
