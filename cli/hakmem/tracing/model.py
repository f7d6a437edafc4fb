# SPDX-License-Identifier: MIT OR Apache-2.0
"""hak_model (tools/model.c): the library's own code on a kernel that is invented. How it is run."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

from hakmem.process.preload import PER_RUN
from hakmem.reading.unpack import Advance
from hakmem.tracing.tool import Crew, lines_of

TOOL = "hak_model"
COSTS = {"HAKMEM_LAB_COST_CALL": "2000", "HAKMEM_LAB_COST_PAGE": "1000", "HAKMEM_LAB_COST_MOVE": "40"}  # of core/cost.h
SUMS = ("hits", "faults", "pages")  # of a call site's blocks
Place = tuple[int, int, int]  # the process in its trace (0, 1 ...), an address, the depth of the stack


def costs() -> dict[str, str]:
    """What the caller set stays."""
    return {name: os.environ.get(name, value) for name, value in COSTS.items()}


def variables() -> dict[str, str]:
    """The caller's settings, but for those of a run."""
    return {name: value for name, value in os.environ.items() if name not in (*PER_RUN, "LD_PRELOAD")} | costs()


class BySite:
    """What the model says of call sites, in every process: of those that are wanted, and the sums of the others."""

    def __init__(self, wanted: Container[Place]) -> None:
        self.wanted = wanted
        self.sites: dict[Place, dict[str, Any]] = {}
        self.others = dict.fromkeys(SUMS, 0)

    def take(self, lines: Iterable[bytes]) -> None:
        """One by one: there may be a million."""
        for line in map(json.loads, lines):
            if line["kind"] != "site":
                continue
            place = (line["process"] - 1, line["address"], line["depth"])
            if place in self.wanted:
                self.sites[place] = line
            else:
                self.add(line)

    def add(self, line: dict[str, Any]) -> None:
        for name in SUMS:
            self.others[name] += line[name]


def by_site(tool: Path, file: Path, least: int, advance: Advance, wanted: Container[Place]) -> BySite:
    """Of sites that asked for blocks of so many bytes and more."""
    found = BySite(wanted)
    lines_of(Crew(), [tool, "--by-site", str(least)], file, advance, variables(), found.take)
    return found
