# SPDX-License-Identifier: MIT OR Apache-2.0
"""The values of LD_PRELOAD, and the environment of one run."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from hakmem.base.errors import Refusal

# Ours, per run; whatever the caller set would distort a timed run.
PER_RUN = ("HAKMEM_COUNT_CALLS", "HAKMEM_COUNTERS_FILE", "HAKMEM_TRACE_FILE", "HAKPROBE_FILE", "HAKPROBE_END", "HAKDOORS_FILE")

ALLOCATORS = ("malloc", "hakmem", "scudo")  # in the names of the usual ones


def callers_preloads(environ: Mapping[str, str], library: Path) -> list[str]:
    """What the caller preloads already, without HAKMEM itself."""
    entries = [entry for entry in re.split("[ :]+", environ.get("LD_PRELOAD", "")) if entry]
    return [entry for entry in entries if os.path.realpath(entry) != os.path.realpath(library)]


def is_allocator(entry: str) -> bool:
    return any(name in os.path.basename(entry) for name in ALLOCATORS)


def preload_value(libraries: list[Path], others: list[str]) -> str:
    """The dynamic linker splits at spaces and colons and knows no quoting."""
    for path in libraries:
        if re.search("[ :]", str(path)):
            raise Refusal(f"{path}: a path with a space or a colon cannot be preloaded; build HAKMEM elsewhere")
    return " ".join([str(path) for path in libraries] + others)


def environment(base: Mapping[str, str], preload: str, extra: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in base.items() if name not in PER_RUN}
    return kept | {"LD_PRELOAD": preload} | dict(extra)
