# SPDX-License-Identifier: MIT OR Apache-2.0
"""The limit pass: whether the rows of survive.c live in a control group of 256 MiB without swap, on each allocator.

One run each. Groups of version 1 and of version 2 will do; where none can be made the pass says so and is left out.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator
from hakmem_lab.bench.cell import SERVED_BY, Benchmark, Context, NotProven, command_of, run_proven
from hakmem_lab.bench.comeback import LIMIT_PEAK, SURVIVE, SURVIVED
from hakmem_lab.bench.progress import Progress
from hakmem_lab.bench.record import Metric, Recorder

LIMIT_BYTES = 256 << 20
LEFT_SECONDS = 5.0
# Version 2, then version 1: the file of the limit, and the file that forbids swap, where the kernel has it.
KINDS = (("cgroup2", "memory.max", "memory.swap.max", "0"),
         ("cgroup", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", str(LIMIT_BYTES)))
MOUNT = re.compile(r"^\S+ \S+ \S+ \S+ (?P<folder>\S+) .* - (?P<kind>cgroup2?) \S+ (?P<options>\S+)$", re.MULTILINE)
JOIN = 'echo $$ >"$0" && exec "$@"'


# ---- groups ----

@contextmanager
def memory_group() -> Iterator[Path]:
    """A new, empty group of LIMIT_BYTES; a Refusal where none can be made."""
    group = next(filter(None, (new_group(*kind) for kind in KINDS)), None)
    if group is None:
        raise Refusal("no control group with a memory limit can be made here (that takes root and a memory controller)")
    try:
        yield group
    finally:
        remove(group)


def remove(group: Path) -> None:
    """A process that was killed leaves its group a moment after its parent knows of it."""
    until = time.monotonic() + LEFT_SECONDS
    while True:
        try:
            return group.rmdir()
        except OSError as failure:
            if failure.errno != errno.EBUSY or time.monotonic() > until:
                raise
            time.sleep(0.05)


def no_group() -> str | None:
    """Why there can be none."""
    try:
        with memory_group():
            return None
    except Refusal as refusal:
        return str(refusal)


def new_group(kind: str, limit: str, swap: str, no_swap: str) -> Path | None:
    folder = mounted(kind)
    if folder is None:
        return None
    group = folder / f"hakmem-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        return None
    try:
        (group / limit).write_text(str(LIMIT_BYTES))
        if (group / swap).exists():
            (group / swap).write_text(no_swap)
    except OSError:
        group.rmdir()
        return None
    return group


def mounted(kind: str) -> Path | None:
    """Where groups of this kind limit memory."""
    for mount in MOUNT.finditer(Path("/proc/self/mountinfo").read_text()):
        has_memory = kind == "cgroup2" or "memory" in mount["options"].split(",")
        if mount["kind"] == kind and has_memory:
            return Path(mount["folder"])
    return None


def inside(group: Path, command: list[str]) -> list[str]:
    """A shell enters the group and becomes the command."""
    return ["sh", "-c", JOIN, str(group / "cgroup.procs"), *command]


# ---- the pass ----

def limit_pass(
    context: Context, benchmarks: list[Benchmark], allocators: list[Allocator], recorder: Recorder, progress: Progress
) -> None:
    rows = [one for one in benchmarks if one.group == SURVIVE]
    why_not = no_group() if rows else None
    if why_not:
        progress.say(f"hakmem: nothing is run within a limit: {why_not}")
        return
    progress.begin("limit", len(rows) * len(allocators))
    for benchmark in rows:
        for allocator in allocators:
            progress.step(f"{benchmark.name} on {allocator.name}")
            try:
                recorder.add(*within_limit(context, benchmark, allocator))
            except Refusal as refusal:
                progress.say(f"hakmem: nothing about {benchmark.name} on {allocator.name} within a limit: {refusal}")


def within_limit(context: Context, benchmark: Benchmark, allocator: Allocator) -> list[Metric]:
    with memory_group() as group:
        done = run_proven(context, inside(group, command_of(context, benchmark, "need=0")), allocator)
    if done.trouble and done.trouble.startswith(SERVED_BY):
        raise NotProven(done.trouble)
    if done.figures is None:
        raise Refusal(done.trouble or "it left no figures")
    found = ((SURVIVED, float(done.trouble is None), ""), (LIMIT_PEAK, float(done.figures.maxrss_kib), "KiB"))
    return [Metric(benchmark.name, allocator.name, 0, name, value, unit) for name, value, unit in found]
