# SPDX-License-Identifier: MIT OR Apache-2.0
"""The programs, and what they run on.

    settings   fixed ones, of which the best is taken: what a policy could set before the first block. A price sets how long
               free memory stays, so each price is also a candidate at the other prices
    learnt     at each price, with a folder of policies that is empty before the first round: a round is a run
    learners   evolving without a policy, and with each learner that is off by default switched on alone
    peers      other allocators: their cost at a price is that of the same runs
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import HAKMEM, Allocator, chosen
from hakmem_lab.judge.table import PROGRAMS as JUDGED
from hakmem_lab.pareto.configurations import EVOLVING, LEARNER, MODE, PRICE, Configuration
from hakmem_lab.pareto.programs import PROGRAMS as FRONT
from hakmem_lab.pareto.programs import Real

PRICES = ("speed", "balanced", "lean")
SETTINGS = {
    **{price: {"price": price} for price in PRICES},
    "longer": {"price": "80000"},  # [ns] keep times 8 times as long as balanced
    "huge": {"huge_pages": "on"},
    "small": {"huge_pages": "off"},
    "huge-speed": {"huge_pages": "on", "price": "speed"},
    "roomy": {"lab_thread_small_bytes": "1M", "lab_thread_cache_bytes": "4M"},
    "tight": {"lab_thread_small_bytes": "64K", "lab_thread_cache_bytes": "256K"},
    "big-4m": {"lab_big_threshold": "4M"},
    "off": {"mode": "off"},
}
LEARNT = "learnt-"
WITH = "with "
LEARNERS = ("keep", "kinds", "caches", "class", "threshold", "slack", "place")  # off by default


@dataclass(frozen=True)
class Sides:
    """What is measured beside the three prices."""

    settings: str | None = None  # names, with commas; None: all of SETTINGS
    policies: Path | None = None  # the folder, if what is learnt across runs is measured
    learners: bool = False
    peers: str | None = None  # names, with commas


def programs() -> list[Real]:
    """The servers of the front, and all programs of the judge."""
    return [*(row for row in FRONT if row.load), *JUDGED]


def configurations(found: list[Allocator], sides: Sides) -> list[Configuration]:
    """`found`: HAKMEM, and what else is installed."""
    hakmem = next(one for one in found if one.name == HAKMEM)
    return [*fixed(hakmem, sides.settings), *(learnt(hakmem, sides.policies) if sides.policies else []),
            *(within_a_run(hakmem) if sides.learners else []),
            *(Configuration(one.name, one) for one in (chosen(found, sides.peers) if sides.peers else []))]


def fixed(hakmem: Allocator, names: str | None) -> list[Configuration]:
    """--settings a,b; the prices are always among them."""
    wanted = set(SETTINGS) if names is None else {*PRICES, *(name.strip() for name in names.split(",") if name.strip())}
    unknown = wanted - set(SETTINGS)
    if unknown:
        raise Refusal(f"--settings {min(unknown)}: expected {', '.join(SETTINGS)}")
    return [Configuration(name, hakmem, dict(settings)) for name, settings in SETTINGS.items() if name in wanted]


def learnt(hakmem: Allocator, folder: Path) -> list[Configuration]:
    return [Configuration(f"{LEARNT}{price}", hakmem, {PRICE: price, "policy_file": f"{folder / price}/"}) for price in PRICES]


def within_a_run(hakmem: Allocator) -> list[Configuration]:
    alone = [Configuration(f"{WITH}{name}", hakmem, {MODE: EVOLVING, f"{LEARNER}{name}": "on"}) for name in LEARNERS]
    return [Configuration(EVOLVING, hakmem, {MODE: EVOLVING}), *alone]


def often(name: str) -> bool:
    """A price, or what is learnt at it: these run in each round."""
    return name in PRICES or name.startswith(LEARNT)
