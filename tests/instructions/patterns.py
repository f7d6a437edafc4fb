# SPDX-License-Identifier: MIT OR Apache-2.0
"""The slow paths: instructions per operation of whole patterns, compared with the checked-in table within 1 %.

patterns.cpp runs one scenario per process, so that no pattern's count depends on another's. A dump's title is

    refill 64 27648 malloc         27648 calls of malloc for 64 B; dumps of one pattern and size are added up

The count repeats exactly on one build: seeds are fixed, threads take turns, and the one thing that looks at the clock,
the age of kept big blocks, is set far beyond the run. That a pattern took the way it is named for is checked too: some
functions of the library must have run, some must not.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import callgrind

TOLERANCE_PERCENT = 1.0
SETTINGS = {"HAKMEM_PRICE": "0", "HAKMEM_HUGE_PAGES": "off"}
FEW_FUNCTIONS = 8
ENTRIES = {"malloc", "free", "realloc"}

# pattern: what must have run, what must not
ROUTES: dict[str, tuple[set[str], set[str]]] = {
    "fresh": ({"hak_slab_fill", "hak_runs_get", "hak_range_grow"}, {"hak_depot_take"}),
    "give_back": ({"hak_slab_put", "hak_runs_put"}, {"hak_depot_put"}),
    "refill": ({"hak_slab_fill"}, {"hak_runs_get", "hak_depot_take"}),
    "flush": ({"hak_slab_put"}, {"hak_depot_put"}),
    "scattered_refill": ({"hak_slab_fill"}, {"hak_depot_take"}),
    "random_free": ({"hak_slab_put"}, {"hak_depot_put"}),
    "depot_refill": ({"hak_depot_take"}, {"hak_slab_fill"}),
    "depot_flush": ({"hak_depot_put"}, {"hak_slab_put"}),
    "run_pair": (set(), {"hak_slow_malloc", "hak_slow_free"}),
    "run_burst": ({"hak_large_fill", "hak_large_put"}, {"hak_range_grow", "hak_big_alloc"}),
    "large_pair": ({"hak_large_alloc", "hak_large_free"}, {"hak_range_grow", "hak_big_alloc"}),
    "large_grow": ({"hak_large_resize"}, {"hak_big_resize"}),
    "big_pair": ({"hak_big_alloc", "hak_big_free"}, {"hak_os_map", "hak_os_unmap", "hak_large_alloc"}),
    "big_grow": ({"hak_big_resize"}, set()),
    "small_replace": ({"hak_slab_fill", "hak_slab_put"}, {"hak_large_alloc"}),
    "mid_replace": ({"hak_slab_fill", "hak_slab_put"}, {"hak_large_alloc"}),
    "large_replace": ({"hak_runs_get", "hak_runs_put"}, {"hak_slab_fill", "hak_big_alloc"}),
    "big_replace": ({"hak_big_alloc", "hak_big_free"}, {"hak_os_unmap", "hak_large_alloc"}),
    "sampled_pair": ({"hak_slow_malloc"}, {"hak_slow_free", "hak_slab_fill"}),
}

TITLE = """\
# Instructions of the library per operation, counted by valgrind's callgrind (tests/instructions/patterns.py;
# patterns.cpp says what each pattern does). gcc 12, release; counting off. all: every one. slow: those behind malloc,
# free and realloc themselves, so that a slower path is not lost among fast paths. Other libraries' (memcpy, system
# calls) are not counted. block: bytes, of a mixture the largest. A build may differ by 1 % in either direction.
# cmake --build build/release --target golden rewrites this.
"""


@dataclass(frozen=True)
class Key:
    """A row of the table: the pattern, the block's size (the largest of a mixture)."""

    pattern: str
    block: int

    def __str__(self) -> str:
        return f"{self.pattern} of {self.block} B"


@dataclass(frozen=True)
class Cost:
    """Instructions per operation: all, and those behind the entries."""

    all: float
    slow: float


@dataclass
class Count:
    """What ran in one pattern."""

    operation: str
    operations: int
    functions: dict[str, int]

    @property
    def cost(self) -> Cost:
        """As in the table."""
        every = sum(self.functions.values())
        entries = sum(self.functions.get(name, 0) for name in ENTRIES)
        return Cost(every / self.operations, (every - entries) / self.operations)


# ---- what ran ----

def add_dump(counts: dict[Key, Count], dump: callgrind.Dump) -> None:
    """Adds one dump to its pattern's count."""
    pattern, block, operations, operation = dump.title.split()
    count = counts.setdefault(Key(pattern, int(block)), Count(operation, 0, {}))
    count.operations += int(operations)
    for function, instructions in dump.functions.items():
        count.functions[function] = count.functions.get(function, 0) + instructions


def route_faults(key: Key, count: Count) -> list[str]:
    """The pattern did not go the way it is named for."""
    if key.pattern not in ROUTES:
        return [f"{key}: no route is written down (ROUTES in patterns.py)"]
    must, must_not = ROUTES[key.pattern]
    ran = set(count.functions)
    return [f"{key}: {name} did not run" for name in sorted(must - ran)] + \
           [f"{key}: {name} ran" for name in sorted(must_not & ran)]


# ---- the table ----

def row(key: Key, count: Count) -> str:
    """`refill 64 27.68 12.683 malloc`, in columns."""
    cost = count.cost
    return f"{key.pattern:<18}{key.block:>9}{cost.all:>10.2f}{cost.slow:>10.3f}  {count.operation}"


def table(counts: dict[Key, Count]) -> str:
    """One row per pattern and size."""
    heading = f"{'pattern':<18}{'block':>9}{'all':>10}{'slow':>10}  per"
    return TITLE + "\n".join([heading, *(row(key, count) for key, count in counts.items())]) + "\n"


def parse_table(text: str) -> dict[Key, Cost]:
    """The rows of a table."""
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    try:
        return {Key(pattern, int(block)): Cost(float(every), float(slow))
                for pattern, block, every, slow, _ in rows[1:]}
    except ValueError as error:
        raise callgrind.ToolError(f"the checked-in table does not read: {error}") from error


def beyond_tolerance(name: str, golden: float, now: float) -> list[str]:
    """One line when the two differ by more than the tolerance."""
    percent = (now / golden - 1) * 100 if golden else 0.0 if now == golden else float("inf")
    if round(abs(percent), 6) <= TOLERANCE_PERCENT:
        return []
    return [f"{name}: golden {golden:.3f}, this build {now:.3f}, {percent:+.1f} %"]


def row_differences(key: Key, golden: Cost | None, now: Cost | None) -> list[str]:
    """What is to be said of one row: new, gone, or changed."""
    if golden is None:
        return [f"{key}: not in the checked-in table"]
    if now is None:
        return [f"{key}: in the checked-in table only"]
    return beyond_tolerance(f"{key}, all", golden.all, now.all) + \
        beyond_tolerance(f"{key}, slow", golden.slow, now.slow)


# ---- for the command line ----

@dataclass
class Patterns:
    """All there is to say of one build."""

    counts: dict[Key, Count]
    golden: ClassVar[Path] = Path(__file__).with_name("golden_patterns.txt")
    what: ClassVar[str] = "patterns"

    def __len__(self) -> int:
        return len(self.counts)

    def broken(self) -> list[str]:
        """Why the table would be one of other patterns than it says."""
        return [fault for key, count in self.counts.items() for fault in route_faults(key, count)]

    def faults(self) -> list[str]:
        """Breaches of what holds for every build."""
        return self.broken()

    def table(self) -> str:
        """As checked in."""
        return table(self.counts)

    def differences(self, golden: str) -> list[str]:
        """The rows that differ by more than the tolerance."""
        old, new = parse_table(golden), {key: count.cost for key, count in self.counts.items()}
        return [line for key in old | new for line in row_differences(key, old.get(key), new.get(key))]

    def details(self) -> list[str]:
        """Where each pattern's instructions are spent."""
        lines = []
        for key, count in self.counts.items():
            top = sorted(count.functions.items(), key=lambda item: -item[1])[:FEW_FUNCTIONS]
            lines.append(f"{key}: " + ", ".join(f"{name} {n / count.operations:.1f}" for name, n in top))
        return lines


def scenarios(probe: Path) -> list[list[str]]:
    """The probe's own list: a name and a size each."""
    found = [line.split() for line in callgrind.run_tool([str(probe)]).splitlines()]
    if not found:
        raise callgrind.ToolError(f"{probe} lists no scenario")
    return found


def run_scenario(probe: Path, library: Path, scenario: list[str]) -> list[callgrind.Dump]:
    """One process."""
    text, _ = callgrind.run_probe([str(probe), *scenario], library, SETTINGS)
    return callgrind.parse_dumps(text, library)


def measured(probe: Path, library: Path) -> Patterns:
    """Runs all scenarios, one after the other."""
    counts: dict[Key, Count] = {}
    for scenario in scenarios(probe):
        for dump in run_scenario(probe, library, scenario):
            add_dump(counts, dump)
    return Patterns(counts)
