# SPDX-License-Identifier: MIT OR Apache-2.0
"""The live floor: what of a program's memory no allocator can do without.

    one run on HAKMEM, baseline, traced, its mappings marked (tools/mark.c)
        the trace          bytes that were asked for and not freed, over time           live
        smaps, each 50 ms  anonymous pages that HAKMEM mapped                           heap
                           all other anonymous pages: stacks, data of libraries,        outside
                           what the program maps itself (V8, Zend, shared with nobody)

    floor of a phase = mean of outside + the lesser of the means of live and heap

Live is what was asked for: a block that is never written to has no pages, so the floor is at most the heap that was there.
The run is slower than others, so what holds of a phase is its mean, not its time.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import subprocess
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic_ns

import numpy as np

from hakmem.base.errors import Refusal
from hakmem.tracing.recording import EVENTS, HEAD, Piece, pieces_of, recorded_files
from hakmem_lab.pareto.integral import KIB_IN_MIB, MIB, WALL, Clock, Phase, Steps, integral, steps_of_means

PERIOD_SECONDS = 0.05
MARKED = b" rr"  # a flag of /proc/PID/smaps
MAPPING = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ (\d+) *(.*)$")


@dataclass(frozen=True)
class Floor:
    """Of one phase, MiB x seconds of the clock in the traced run."""

    phase: Phase
    clock_s: float
    live_mib_s: float
    heap_mib_s: float
    outside_mib_s: float


# ---- what lies where ----

@dataclass(frozen=True)
class Look:
    """Of one process at one moment, MiB."""

    ns: int
    heap_mib: float
    outside_mib: float


def split(smaps: bytes, library: str) -> tuple[int, int]:
    """KiB of anonymous pages: of marked mappings and of the library's own data, and of all others."""
    heap = other = kib = 0
    ours = False
    end_of_ours = b""
    for line in smaps.splitlines():
        head = MAPPING.match(line)
        if head:
            start, end, inode, path = head.groups()
            ours = os.fsdecode(path) == library or (inode == b"0" and not path and start == end_of_ours)
            end_of_ours = end if ours else b""
        elif line.startswith(b"Anonymous:"):
            kib = int(line.split()[1])
        elif line.startswith(b"VmFlags:"):
            heap, other = (heap + kib, other) if ours or MARKED in line else (heap, other + kib)
    return heap, other


def descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            yield child
            yield from descendants(child)


@dataclass
class Watch:
    """A thread that looks at all processes below one until it is told to stop."""

    library: str
    over: threading.Event = field(default_factory=threading.Event)
    looks: dict[int, list[Look]] = field(default_factory=lambda: defaultdict(list))

    def look_at_all(self, root: int) -> None:
        for pid in descendants(root):
            try:
                heap, outside = split(Path(f"/proc/{pid}/smaps").read_bytes(), self.library)
            except OSError:
                continue
            self.looks[pid].append(Look(monotonic_ns(), heap / KIB_IN_MIB, outside / KIB_IN_MIB))

    def go_on(self, root: int) -> None:
        while not self.over.wait(PERIOD_SECONDS):
            try:
                self.look_at_all(root)
            except OSError:  # a folder of /proc that went while it was listed
                continue


@contextmanager
def watching(library: Path, root: int) -> Iterator[Watch]:
    watch = Watch(str(library))
    thread = threading.Thread(target=watch.go_on, args=(root,), daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.over.set()
        thread.join()


# ---- what was asked for ----

def write_records(stem: Path, target: Path) -> int:
    """All records of a recording, as tools/events.h reads them; the time of the first event."""
    first = []
    with target.open("wb") as out:
        for path in recorded_files(stem):
            if path.stat().st_size:
                first += [piece.ns for piece in copy_records(path, out) if piece.kind == EVENTS]
    if not first:
        raise Refusal("no call of it was recorded")
    return min(first)


def copy_records(path: Path, out: object) -> list[Piece]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        pieces = pieces_of(data)
        for piece in pieces:
            out.write(data[piece.at : piece.at + HEAD.size + piece.used])  # type: ignore[attr-defined]
        return pieces


@dataclass
class Curve:
    """One image of a process: how many bytes were live, in ns since the first event."""

    pid: int
    ends: list[float] = field(default_factory=list)
    means: list[float] = field(default_factory=list)
    after: float = 0.0

    def add(self, line: dict[str, float]) -> None:
        self.ends.append(line["ns"])
        self.means.append(line["bytes"])
        self.after = line["then"]


def read_curves(tool: Path, records: Path) -> list[Curve]:
    with records.open("rb") as file:
        done = subprocess.run([tool], stdin=file, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refusal(f"the trace cannot be read: {done.stderr.strip()}")
    return curves_of(map(json.loads, done.stdout.splitlines()))


def curves_of(lines: Iterator[dict[str, float]]) -> list[Curve]:
    curves: list[Curve] = []
    for line in lines:
        if line["kind"] == "process":
            curves.append(Curve(int(line["pid"])))
        else:
            curves[-1].add(line)
    return [curve for curve in curves if curve.ends]


def live_steps(curve: Curve, origin_ns: int) -> Steps:
    """The first line is the end of a step that began with the first event."""
    ends = [origin_ns + end for end in curve.ends]
    first = ends[0] if len(ends) == 1 else 2 * ends[0] - ends[1]
    return steps_of_means(ends, curve.means, min(first, ends[0]), curve.after)


# ---- together ----

def lives(curves: list[Curve], looks: dict[int, list[Look]], origin_ns: int) -> Iterator[tuple[Steps, float]]:
    """Each image's live bytes, and when it ended: when the next program was executed, or the process seen for the last time."""
    for number, curve in enumerate(curves):
        steps = live_steps(curve, origin_ns)
        next_ones = [live_steps(one, origin_ns).ns[0] for one in curves[number + 1 :] if one.pid == curve.pid]
        seen = looks.get(curve.pid)
        last = float(seen[-1].ns) if seen else float(steps.ns[-1])
        yield steps, min([*next_ones, max(last, float(steps.ns[-1]))])


def floors(
    phases: list[Phase], curves: list[Curve], looks: dict[int, list[Look]], origin_ns: int, clock: Clock = WALL
) -> list[Floor]:
    known = list(lives(curves, looks, origin_ns))
    return [floor_of(phase, known, looks, clock) for phase in phases]


def floor_of(phase: Phase, known: list[tuple[Steps, float]], looks: dict[int, list[Look]], clock: Clock) -> Floor:
    shown = clock.during(phase)
    live = sum(Steps(clock(steps.ns), steps.values).integral(shown.start_ns, min(shown.end_ns, float(clock(end))))
               for steps, end in known) / MIB
    heap = sum(seen_integral(seen, phase, "heap_mib", clock) for seen in looks.values())
    outside = sum(seen_integral(seen, phase, "outside_mib", clock) for seen in looks.values())
    return Floor(phase, shown.seconds, live, heap, outside)


def seen_integral(seen: list[Look], phase: Phase, what: str, clock: Clock) -> float:
    """While the process was there: half a period before it was first seen and after the last time."""
    margin = PERIOD_SECONDS * 1e9 / 2
    start, end = max(phase.start_ns, seen[0].ns - margin), min(phase.end_ns, seen[-1].ns + margin)
    times = clock(np.asarray([look.ns for look in seen], float))
    return integral(times, np.asarray([getattr(look, what) for look in seen]), float(clock(start)), float(clock(end)))
