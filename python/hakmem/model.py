# SPDX-License-Identifier: MIT OR Apache-2.0
"""hak_model (tools/model.c): the library's own code on a kernel that is invented. How it is run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from hakmem.preload import PER_RUN
from hakmem.simulate import Crew, lines_of
from hakmem.unpack import Advance

TOOL = "hak_model"
COSTS = {"HAKMEM_COST_CALL": "2000", "HAKMEM_COST_PAGE": "1000", "HAKMEM_COST_MOVE": "40"}  # of core/cost.h
Place = tuple[int, int, int]  # the process in its trace (0, 1 ...), an address, the depth of the stack


def costs() -> dict[str, str]:
    """What the caller set stays."""
    return {name: os.environ.get(name, value) for name, value in COSTS.items()}


def variables() -> dict[str, str]:
    """The caller's settings, but for those of a run."""
    return {name: value for name, value in os.environ.items() if name not in (*PER_RUN, "LD_PRELOAD")} | costs()


def by_site(tool: Path, file: Path, least: int, advance: Advance) -> dict[Place, dict[str, Any]]:
    """What the model says of each call site that asked for blocks of so many bytes and more, in every process."""
    text, _ = lines_of(Crew(), [tool, "--by-site", str(least)], file, advance, variables())
    sites = (line for line in map(json.loads, text.splitlines()) if line["kind"] == "site")
    return {(line["process"] - 1, line["address"], line["depth"]): line for line in sites}
