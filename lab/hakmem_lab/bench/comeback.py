# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory that comes back: what is resident after most was freed, by night, in idle threads, and within a limit.

The figures are those that the C programs print (bench/frag.c, daynight.c, idle.c) and those of the limit pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from hakmem.process.peers import GLIBC, HAKMEM
from hakmem_lab.bench.target import Target

if TYPE_CHECKING:  # measuring needs the names here, and nothing that reads results
    from hakmem_lab.bench.results import Results

FRAG, DAYNIGHT, IDLE, SURVIVE, KEPT = "frag", "daynight", "idle", "survive", "kept"  # groups
MIMALLOC = "mimalloc"
# What is looked at in a row of frag: the last of these that the row has.
LOOKS = ("rss_freed_kib", "rss_trimmed_kib", "rss_waited_kib")
SURVIVED, LIMIT_PEAK = "limit_survived", "limit_peak_kib"

FULL_MIB = 512  # the goals are for a heap of this size; beside a small one the process itself weighs too much
FLOOR_GOALS = {"frag": 1.03, "frag_idle_threads": 1.10, "frag_waited_threads": 1.10}
GLIBC_FLOOR_GOAL = 1.10
DAYNIGHT_GOAL = 0.70

Figures = Mapping[str, float]  # by allocator


def rows_of(results: Results, group: str) -> list[str]:
    return results.groups.get(group, [])


def figures(results: Results, metric: str, benchmark: str) -> Figures:
    return {name: value for (row, name), value in results.metric(metric).items() if row == benchmark}


def ratios(ours: Figures, theirs: Figures) -> Figures:
    return {name: value / theirs[name] for name, value in ours.items() if theirs.get(name)}


# ---- frag ----

def resident_after(results: Results, benchmark: str) -> Figures:
    """KiB after the frees, and after the trim or the wait where there was one."""
    found: dict[str, float] = {}
    for metric in LOOKS:
        found |= figures(results, metric, benchmark)
    return found


def program_itself(results: Results, benchmark: str) -> float:
    """KiB that the program, its libraries and its arrays take before the first block; glibc brings no library."""
    start = figures(results, "start_kib", benchmark)
    return start.get(GLIBC, min(start.values(), default=0.0))


def times_own_floor(results: Results, benchmark: str) -> Figures:
    itself = program_itself(results, benchmark)
    heap = {name: kib - itself for name, kib in resident_after(results, benchmark).items()}
    return ratios(heap, figures(results, "floor_kib", benchmark))


def times_glibc_floor(results: Results, benchmark: str) -> Figures:
    floor = figures(results, "floor_kib", benchmark)
    return {name: kib / floor[GLIBC] for name, kib in floor.items()} if floor.get(GLIBC) else {}


# ---- targets ----

def comeback_targets(results: Results) -> list[Target]:
    return [*frag_targets(results), *daynight_targets(results), *idle_targets(results), *survival_targets(results)]


def is_full(results: Results, benchmark: str) -> bool:
    return set(figures(results, "parameter_mib", benchmark).values()) == {FULL_MIB}


def frag_targets(results: Results) -> Iterator[Target]:
    full = [row for row in rows_of(results, FRAG) if is_full(results, row)]
    for row in full:
        ratio = times_own_floor(results, row).get(HAKMEM)
        if row in FLOOR_GOALS and ratio is not None:
            yield at_most(f"{row}: RSS / pages that hold a live byte", ratio, FLOOR_GOALS[row])
    floors = {row: of[HAKMEM] for row in full if HAKMEM in (of := times_glibc_floor(results, row))}
    if floors:
        yield at_most("frag: pages that hold a live byte, glibc", max(floors.values()), GLIBC_FLOOR_GOAL, GLIBC)
    yield from leanest_target(results, full)


def at_most(text: str, ratio: float, goal: float, peer: str = "", detail: str = "") -> Target:
    return Target(text, f"{ratio:.3f}" + (f" of {peer}" if peer else ""), f"≤ {goal:.2f}", ratio <= goal, detail)


def leanest_target(results: Results, rows: list[str]) -> Iterator[Target]:
    """HAKMEM's RSS in each row against the leanest peer's."""
    behind, seen = [], 0
    for row in rows:
        resident = resident_after(results, row)
        peers = {name: kib for name, kib in resident.items() if name != HAKMEM}
        if HAKMEM in resident and peers:
            seen += 1
            best = min(peers, key=peers.__getitem__)
            if resident[HAKMEM] > peers[best]:
                behind.append(f"{row} {resident[HAKMEM] / peers[best]:.2f} ({best})")
    if seen:
        yield Target("frag: rows in which a peer keeps less", f"{len(behind)} of {seen}", "none", not behind,
                     ", ".join(behind))


def daynight_targets(results: Results) -> Iterator[Target]:
    """Only with at least the same throughput."""
    for row in rows_of(results, DAYNIGHT):
        memory = against(figures(results, "mib_seconds", row), MIMALLOC)
        speed = against(figures(results, "operations_per_second", row), MIMALLOC)
        if memory is not None and speed is not None:
            yield Target(f"{row}: MiB × s, mimalloc", f"{memory:.3f} of {MIMALLOC}", f"≤ {DAYNIGHT_GOAL:.2f}",
                         memory <= DAYNIGHT_GOAL and speed >= 1, f"at {speed:.3f} times its throughput")


def against(of: Figures, peer: str) -> float | None:
    return of[HAKMEM] / of[peer] if HAKMEM in of and of.get(peer) else None


def idle_targets(results: Results) -> Iterator[Target]:
    for row in rows_of(results, IDLE):
        ratio = against(figures(results, "rss_idle_kib", row), MIMALLOC)
        if ratio is not None:
            yield at_most(f"{row} threads: RSS, mimalloc", ratio, 1.0, MIMALLOC)


def survival_targets(results: Results) -> Iterator[Target]:
    ours = {row: value for (row, name), value in results.metric(SURVIVED).items() if name == HAKMEM}
    if ours:
        lived = sum(ours.values())
        yield Target("rows that live within 256 MiB", f"{lived:.0f} of {len(ours)}", "all", lived == len(ours),
                     ", ".join(row for row, value in ours.items() if not value))

