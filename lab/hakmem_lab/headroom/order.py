# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the options of `hakmem-lab headroom` ask for: an order of `hakmem-lab pareto`'s session."""

from __future__ import annotations

import sys
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import hakmem_at
from hakmem.process.places import find_places
from hakmem_lab.headroom.table import configurations, programs
from hakmem_lab.judge.regimes import REGIMES
from hakmem_lab.judge.table import chosen
from hakmem_lab.pareto.programs import installed
from hakmem_lab.pareto.session import Order, measure_all


def carry_out(build: Path | None, library: Path | None, names: str | None, settings: str | None, regime: str, runs: int,
              floors: int, timeout: float, output: Path) -> int:
    """The exit status."""
    if regime not in REGIMES:
        raise Refusal(f"--regime {regime}: expected {', '.join(REGIMES)}")
    places = find_places(build, library)
    hakmem = hakmem_at(places.so_file)
    if isinstance(hakmem, str):
        raise Refusal(hakmem)
    rows, missing = installed(chosen(names, programs()))
    for line in missing:
        print(f"hakmem: not measured, because missing: {line}", file=sys.stderr)
    if not rows:
        raise Refusal("none of these programs is installed")
    return measure_all(places, Order(
        rows, configurations(hakmem, settings), hakmem, runs, floors, timeout, output, REGIMES[regime]))
