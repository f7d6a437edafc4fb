# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a build is judged by: hak_model on traces, at some phases of the clock, and its instructions.

    peak, mean     KiB that are resident at most, and over time
    faults         page faults
    calls          kernel calls of the library
    doors, boxes   slow paths that were passed; and what these asked of the boxes
    instructions   of src/ alone, counted by callgrind on a few traces
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

PHASES_MS = (0, 23, 41)
OTHER_PHASES_MS = (7, 31, 55)
COUNTED = ("g++.hakt", "redis-server.large.hakt", "swing", "handover", "runs")  # under callgrind
TIME_LIMIT_S = 60  # a variant may never end
DOORS = ("slow_malloc", "slow_calloc", "slow_realloc", "slow_free", "untraced_malloc")
BOXES = ("depot_take", "depot_put", "slab_fill", "slab_put", "large_fill", "large_put", "large_alloc", "large_free",
         "large_resize", "big_alloc", "big_free", "big_resize")
CALLS = ("kernel_map", "kernel_unmap", "kernel_advise", "kernel_remap")
PAGE_KIB = 4

# Below so much a figure is taken to be so much: 5 faults more of 70 are nobody's loss.
FLOORS = {"peak": 1024, "mean": 1024, "faults": 500, "calls": 50, "doors": 500, "boxes": 500, "instructions": 1e5}
FIGURES = tuple(FLOORS)

# For the total: ns of a fault and of a call as retain/cost.h has them before it has measured, of a door and of what it
# asks of a box as golden_patterns.txt has them at 4 instructions a ns; a MiB for a second at the balanced price.
NS = {"faults": 1000, "calls": 2000, "doors": 50, "boxes": 250}
PRICE = 640000
Figures = dict[str, float]


class RunError(Exception):
    """hak_model failed."""


@dataclass(frozen=True)
class Bench:
    """The traces, unpacked."""

    folder: Path
    names: list[str]

    def path(self, name: str) -> Path:
        return self.folder / name


def prefix() -> list[str]:
    """Addresses are the same in every run."""
    found = shutil.which("setarch")
    return [found, "-R"] if found else []


def environment(settings: Mapping[str, str], phase_ms: int) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HAKMEM_", "LD_PRELOAD"))}
    return env | dict(settings) | {"CONSTANTS_PHASE_MS": str(phase_ms)}


def run(argv: list[str], trace: Path, settings: Mapping[str, str], phase_ms: int) -> subprocess.CompletedProcess[str]:
    with trace.open("rb") as file:
        try:
            done = subprocess.run([*prefix(), *argv], stdin=file, capture_output=True, text=True, check=False,
                                  env=environment(settings, phase_ms), timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise RunError("does not end") from None
    if done.returncode != 0:
        raise RunError(f"ends with {done.returncode}: {done.stderr.strip()[-200:]}")
    return done


def model(tool: Path, trace: Path, settings: Mapping[str, str], phase_ms: int) -> Figures:
    done = run([str(tool)], trace, settings, phase_ms)
    said = json.loads(done.stdout)
    page_us, us = map(int, done.stderr.split()[-2:])
    own = said["own_peak_kib"]
    return {
        "peak": said["peak_kib"], "mean": own + page_us * PAGE_KIB / max(us, 1), "faults": said["minflt"],
        "seconds": us / 1e6,
        **{figure: sum(said[name] for name in names)
           for figure, names in (("calls", CALLS), ("doors", DOORS), ("boxes", BOXES))},
    }


def judged(tool: Path, bench: Bench, settings: Mapping[str, str], phases: tuple[int, ...]) -> dict[str, Figures]:
    """By trace; the mean over the phases."""
    found = {}
    for name in bench.names:
        runs = [model(tool, bench.path(name), settings, phase) for phase in phases]
        found[name] = {figure: mean(run[figure] for run in runs) for figure in runs[0]}
    return found


# ---- instructions ----

def instructions_in(dump: Path) -> int:
    """Of functions whose file lies in src/. The line after `calls=` is the callee's, counted where it ran."""
    total, ours, skip = 0, False, False
    for line in dump.read_text().splitlines():
        if line.startswith(("fl=", "fi=", "fe=")):
            ours = "/src/" in line
        elif line.startswith("calls="):
            skip = True
        elif line[:1].isdigit():
            total += int(line.split()[-1]) if ours and not skip else 0
            skip = False
    return total


def instructions(tool: Path, bench: Bench, settings: Mapping[str, str]) -> dict[str, Figures]:
    found = {}
    for name in (name for name in COUNTED if name in bench.names):
        with tempfile.TemporaryDirectory(prefix="hakmem-constants-") as folder:
            out = Path(folder) / "dump"
            run(["valgrind", "-q", "--tool=callgrind", "--dump-line=no", "--compress-strings=no", "--compress-pos=no",
                 f"--callgrind-out-file={out}", str(tool)], bench.path(name), settings, PHASES_MS[0])
            found[name] = {"instructions": float(instructions_in(out))}
    return found


# ---- comparing ----

def total_ns(figures: Figures) -> float:
    """What the memory and the work come to, as the rent reckons them."""
    rent = figures["mean"] / 1024 * figures["seconds"] * PRICE
    return rent + sum(figures[name] * ns for name, ns in NS.items())


def change_percent(name: str, old: Figures, new: Figures) -> float:
    return (new[name] - old[name]) / max(old[name], FLOORS[name]) * 100


def totals_percent(old: dict[str, Figures], new: dict[str, Figures]) -> dict[str, float]:
    return {trace: (total_ns(new[trace]) / total_ns(old[trace]) - 1) * 100 for trace in old}
