# SPDX-License-Identifier: MIT OR Apache-2.0
"""The programs, and the fixed settings of which the best is taken: what a policy could set before the first block.

A price sets how long free memory stays, so each price is also a candidate at the other prices.
"""

from __future__ import annotations

from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator
from hakmem_lab.judge.table import PROGRAMS as JUDGED
from hakmem_lab.pareto.configurations import Configuration
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
}


def programs() -> list[Real]:
    """The servers of the front, and all programs of the judge."""
    return [*(row for row in FRONT if row.load), *JUDGED]


def configurations(hakmem: Allocator, names: str | None) -> list[Configuration]:
    """--settings a,b; the prices are always among them."""
    wanted = set(SETTINGS) if names is None else {*PRICES, *(name.strip() for name in names.split(","))}
    unknown = wanted - set(SETTINGS)
    if unknown:
        raise Refusal(f"--settings {min(unknown)}: expected {', '.join(SETTINGS)}")
    return [Configuration(name, hakmem, dict(settings)) for name, settings in SETTINGS.items() if name in wanted]
