# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem replay`: the calls of a traced process on HAKMEM, glibc and other allocators.

Each run is a process of tools/replay.c with an allocator preloaded, beside the small library that proves who serves
it. The allocators take turns, and another one begins each round. Figures are of the replaying proper: the trace has
been read by then.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import count
from pathlib import Path
from textwrap import shorten

from rich.table import Table
from rich.text import Text

from hakmem.base.console import plain_table, stdout_console
from hakmem.base.errors import BAD_USAGE, Refusal
from hakmem.base.exit import printable
from hakmem.base.figures import counted
from hakmem.base.scratch import scratch_folder
from hakmem.base.streams import show_progress
from hakmem.process import checks
from hakmem.process.launch import Launcher, Streams
from hakmem.process.peers import GLIBC, HAKMEM, Allocator, at_file, find_allocators, glibc, hakmem_at
from hakmem.process.places import Places, existing
from hakmem.process.preload import environment, preload_value
from hakmem.process.proof import Record, read_records
from hakmem.reading.unpack import Unpacked, unpack
from hakmem.running.run import must_hold
from hakmem.running.summary import mebibytes, ratio, seconds, whole

TOOL = "hak_replay"
TITLE_WIDTH = 100
TOUCHES = ("all", "first", "none")


@dataclass(frozen=True)
class Replayed:
    """The line of tools/replay.c."""

    process: int
    of: int
    pid: int
    events: int
    calls: int
    skipped: int
    threads: int
    torn: int
    round: int
    wall_ns: int
    cpu_ns: int
    waited_ns: int
    minflt: int
    before_kib: int
    peak_kib: int
    sampled: int
    failed: int
    lost: int
    unknown: int

    @property
    def busy_ns(self) -> int:
        """Without what went into waiting for the blocks of other threads."""
        return max(0, self.cpu_ns - self.waited_ns)


@dataclass(frozen=True)
class Wishes:
    """The options."""

    allocators: list[str]
    peers: bool
    rounds: int
    touch: str
    process: int | None


def parse_line(line: str) -> Replayed:
    try:
        pairs = dict(pair.split("=", 1) for pair in line.split())
        return Replayed(**{field.name: int(pairs[field.name]) for field in fields(Replayed)})
    except (KeyError, ValueError):
        raise Refusal(f"{TOOL} did not report what it did (it wrote {line!r})", 1) from None


# ---- which allocators ----

def named_allocator(text: str) -> Allocator:
    """FILE, which is called after itself, or NAME=FILE."""
    name, equals, path = text.rpartition("=")
    library = Path(path)
    if not library.is_file() or (equals and not name):
        raise Refusal(f"--allocator {text}: expected FILE or NAME=FILE with a library that exists")
    return at_file(name or library.name.removeprefix("lib").split(".so")[0], library)


def allocators_for(places: Places, wishes: Wishes) -> tuple[list[Allocator], list[str]]:
    """HAKMEM and glibc first; and what is missing of the peers."""
    ours = hakmem_at(places.so_file)
    assert isinstance(ours, Allocator)  # find_places has seen it
    found, missing = [ours, glibc()], []
    if wishes.peers:
        found, missing = find_allocators(places.so_file, [])
    for allocator in map(named_allocator, wishes.allocators):
        if any(one.name == allocator.name for one in found):
            raise Refusal(f"--allocator {allocator.so_file}: there is a {allocator.name} already; say NAME=FILE")
        found.append(allocator)
    return found, missing


# ---- runs ----

class Replayer:
    """`as_it_was`: at the recorded times, from the recorded call sites. `variables`: for the replay's environment."""

    def __init__(
        self, places: Places, wishes: Wishes, records: Path, scratch: Path, as_it_was: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.places = places
        self.variables = variables or {}
        self.records = records
        self.scratch = scratch
        self.launcher = Launcher(places.launcher, scratch)
        self.argv = [str(existing(places.launcher.with_name(TOOL))), "--touch", wishes.touch]
        if wishes.process is not None:
            self.argv += ["--process", str(wishes.process)]
        if as_it_was:
            self.argv += ["--pace", "real", "--sites"]
        self.numbers = count()

    def run(self, allocator: Allocator) -> Replayed:
        """On `allocator`, proven."""
        folder = self.scratch / str(next(self.numbers))
        folder.mkdir()
        libraries = [self.places.identity_probe] + ([allocator.so_file] if allocator.so_file else [])
        own = {"HAKPROBE_FILE": str(folder / "proof"), **self.variables}
        variables = environment(os.environ, preload_value(libraries, []), own)
        streams = Streams(self.records, folder / "output", folder / "errors")
        figures = self.launcher.run(self.argv, variables, streams)
        errors = checks.first_line((folder / "errors").read_text(errors="replace"))
        if figures.status == BAD_USAGE:
            raise Refusal(errors.removeprefix(f"{TOOL}: "))
        if figures.status:
            raise Refusal(f"on {allocator.name} the replay {figures.end}{errors and ': '}{errors}", 1)
        must_hold(identity_problem(figures.pid, read_records(folder / "proof"), allocator))
        return parse_line((folder / "output").read_text())


def identity_problem(pid: int, records: Iterable[Record], allocator: Allocator) -> str | None:
    """None when the process was served by `allocator`."""
    record = next((record for record in records if record.pid == pid), None)
    if record is None:
        return f"{allocator.name}: no proof: the replay started without what was preloaded"
    served = record.served_by(allocator.so_file) if allocator.so_file else is_glibc(record)
    if not served:
        return f"{allocator.name}: malloc and free are served by {record.server}"
    if allocator.name == HAKMEM and not record.owned:
        return f"{allocator.so_file} is not HAKMEM: hak_owns() does not know its blocks"
    return None


def is_glibc(record: Record) -> bool:
    return record.malloc_path == record.free_path and checks.name_of(record.malloc_path).startswith("libc.so")


def in_turns(replayer: Replayer, allocators: list[Allocator], rounds: int) -> dict[str, list[Replayed]]:
    done: dict[str, list[Replayed]] = {allocator.name: [] for allocator in allocators}
    for number in range(rounds):
        first = number % len(allocators)
        for allocator in allocators[first:] + allocators[:first]:
            show_progress(f"round {number + 1} of {rounds}: {allocator.name}")
            done[allocator.name].append(replayer.run(allocator))
    show_progress("")
    return done


# ---- what is printed ----

def figures_table(done: dict[str, list[Replayed]]) -> Table:
    """Of each figure the smallest, and its ratio to glibc's; 80 columns hold it."""
    measures = (
        ("CPU time", lambda r: r.busy_ns / 1e9, seconds),
        ("wall time", lambda r: r.wall_ns / 1e9, seconds),
        ("faults", lambda r: r.minflt, whole),
        ("peak RSS", lambda r: r.peak_kib / 1024, mebibytes),
    )
    table = plain_table()
    table.add_column("", no_wrap=True)
    for heading, _, _ in measures:
        table.add_column(heading, justify="right", no_wrap=True)
    best = {name: [min(map(of, runs)) for _, of, _ in measures] for name, runs in done.items()}
    largest = [max(values) for values in zip(*best.values())]
    for name, values in best.items():
        cells = zip(measures, values, largest, best[GLIBC])
        table.add_row(printable(name), *(figure_cell(text(value, most), value, base) for (_, _, text), value, most, base in cells))
    return table


def figure_cell(text: str, value: float, base: float) -> Text:
    return Text.assemble(text, " ", tuple(ratio(value, base)))


def title(unpacked: Unpacked, one: Replayed) -> str:
    process = unpacked.processes[one.process - 1]
    command = printable(shorten(str(process), TITLE_WIDTH, placeholder=" ..."))
    which = f", process {one.process} of {one.of}" if one.of > 1 else ""
    what = f"{counted(one.calls, 'call', 'calls')} in {counted(one.threads, 'thread', 'threads')}"
    return f"hakmem replay: {command} (pid {process.pid}{which}): {what}"


def notes(unpacked: Unpacked, done: dict[str, list[Replayed]], missing: list[str]) -> list[str]:
    """What the reader must know to read the figures rightly."""
    one = next(iter(done.values()))[0]
    found = []
    if unpacked.torn or one.torn:
        found.append("the trace ends in the middle of a record; what came before was replayed")
    if one.lost:
        found.append(f"events that were lost when the trace was made: {one.lost:,}")
    if one.unknown:
        found.append(f"frees of blocks from before the trace, left out: {one.unknown:,}")
    if one.skipped:
        found.append(f"calls that failed when the trace was made, left out: {one.skipped:,}")
    for name, runs in done.items():
        if failed := max(run.failed for run in runs):
            found.append(f"allocations that failed on {name}: {failed:,}")
    if any(run.sampled for runs in done.values() for run in runs):
        found.append("peak RSS was looked at every millisecond, because the kernel's own mark could not be put back")
    if missing:
        found.append(f"not measured, because missing: {', '.join(missing)}")
    return [f"note: {text}" for text in found]


def print_report(
    unpacked: Unpacked, allocators: list[Allocator], done: dict[str, list[Replayed]], missing: list[str]
) -> None:
    console = stdout_console()
    runs = len(done[GLIBC])
    how = "one run each" if runs == 1 else f"the smallest of {runs} runs each, taken in turn"
    lines = [
        f"({how}; ratios to glibc: below 1.00x less is needed; peak RSS above that before the first call)",
        f"each was proven in each run to serve malloc and free: {', '.join(map(str, allocators))}",
        *notes(unpacked, done, missing),
    ]
    console.print(Text(title(unpacked, done[GLIBC][0]), style="bold"))
    console.print()
    console.print(figures_table(done))
    for line in lines:
        console.print(Text(printable(line)))


def replay_trace(places: Places, file: Path, wishes: Wishes) -> int:
    """The exit status; raises Refusal when something does not hold."""
    if wishes.touch not in TOUCHES:
        raise Refusal(f"--touch {wishes.touch}: expected {', '.join(TOUCHES)}")
    allocators, missing = allocators_for(places, wishes)
    with scratch_folder() as scratch:
        unpacked = unpack(file, scratch / "records")
        try:
            done = in_turns(Replayer(places, wishes, unpacked.path, scratch), allocators, wishes.rounds)
        except Refusal as refusal:
            if refusal.status != BAD_USAGE:
                raise
            raise Refusal(f"{file}: {refusal}") from None
        print_report(unpacked, allocators, done, missing)
    return 0
