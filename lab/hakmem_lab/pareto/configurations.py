# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a program runs on: an allocator, for HAKMEM a set of settings, and for a peer variables that steer it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import HAKMEM, Allocator
from hakmem.process.places import candidate_roots

BASELINE, EVOLVING = "baseline", "evolving"
MODE, PRICE, BALANCED = "mode", "price", "balanced"
LAB = "lab_"
LEARNER = "lab_learn_"
TABLES = {Path("src") / "tables" / "settings.def": "", Path("src") / "tables" / "lab_settings.def": LAB}  # and the prefix
ROW = re.compile(r"^SETTING\((\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Configuration:
    name: str
    allocator: Allocator
    settings: dict[str, str] = field(default_factory=dict)
    steered: dict[str, str] = field(default_factory=dict)

    @property
    def variables(self) -> dict[str, str]:
        return {**{f"HAKMEM_{name.upper()}": value for name, value in self.settings.items()}, **self.steered}

    @property
    def settings_text(self) -> str:
        return ",".join(f"{name}={value}" for name, value in sorted({**self.settings, **self.steered}.items()))


@cache
def known_settings() -> tuple[str, ...]:
    """By the tables of the checkout; empty outside one."""
    for root in candidate_roots():
        if all((root / table).is_file() for table in TABLES):
            return tuple(prefix + name for table, prefix in TABLES.items() for name in ROW.findall((root / table).read_text()))
    return ()


def usual(hakmem: Allocator) -> list[Configuration]:
    """The baseline, and what is learnt at three prices: the points of its front."""
    front = [Configuration(EVOLVING if price == BALANCED else f"{EVOLVING}-{price}", hakmem, {MODE: EVOLVING, PRICE: price})
             for price in ("balanced", "speed", "lean")]
    return [Configuration(BASELINE, hakmem, {MODE: BASELINE, PRICE: BALANCED}), *front]


def named(text: str, hakmem: Allocator) -> Configuration:
    """--config NAME[:SETTING=VALUE,...]."""
    name, _, settings = text.partition(":")
    pairs = [part.partition("=") for part in settings.split(",") if part]
    for setting, equals, _ in pairs:
        if not equals or not setting:
            raise Refusal(f"--config {text}: expected NAME:SETTING=VALUE,SETTING=VALUE")
        refuse_unknown(text, setting)
    if not name:
        raise Refusal(f"--config {text}: it has no name")
    return Configuration(name, hakmem, {setting: value for setting, _, value in pairs})


def refuse_unknown(text: str, setting: str) -> None:
    """HAKMEM would say so and go on, and the figures would be those of something else."""
    known = known_settings()
    if known and setting not in known:
        near = get_close_matches(setting, known, 1)
        raise Refusal(f"--config {text}: no such setting as {setting}" + (f" (nearest: {near[0]})" if near else ""))


def all_of(allocators: list[Allocator], configs: Iterable[str]) -> list[Configuration]:
    """HAKMEM's first, then a peer each."""
    hakmem = next((one for one in allocators if one.name == HAKMEM), None)
    peers = [Configuration(one.name, one) for one in allocators if one.name != HAKMEM]
    ours: list[Configuration] = []
    if hakmem:
        asked = [named(text, hakmem) for text in configs]
        ours = asked or usual(hakmem)
    refuse_twins([*ours, *peers])
    return [*ours, *peers]


def refuse_twins(configurations: list[Configuration]) -> None:
    names = [one.name for one in configurations]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise Refusal(f"{twice}: two columns would have this name; give one of them another by --config or --peer")
