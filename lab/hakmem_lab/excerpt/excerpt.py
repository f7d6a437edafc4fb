# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab excerpt`: a piece of a trace that is a trace itself.

    unpacked trace   one process is taken, with all its threads
    steps            what came and what went, of all threads by time, from a moment on
    kept             what is about blocks that came in the piece, and are large enough
    records          encoded anew

A block from before the piece is dropped with its free; resized, it comes as if it were new.
"""

from __future__ import annotations

import gzip
import heapq
import mmap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from hakmem.base.atomic_write import write_whole
from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.base.scratch import scratch_folder
from hakmem.base.streams import show_progress
from hakmem.reading.unpack import refuse_unless_replaceable, unpack
from hakmem.tracing.recording import EVENTS, HEAD, MAGIC, PROCESS
from hakmem_lab.excerpt.encoding import ALLOC, FREE, RESIZE, Damaged, Event, ThreadEncoder, decoded

DEFAULT_BYTES = 128 << 10
SHOWN_EVERY = 20_000  # events
LEVEL = 9
MARGIN = 0.98


@dataclass(frozen=True)
class Wishes:
    """At most so many events, or so many bytes of the file; from a moment on; blocks of at least so many bytes."""

    events: int | None
    bytes: int | None
    start: float  # seconds since the first event of the process
    least: int
    process: int | None  # the Kth of the trace; else the one with the most events


# ---- the records of a trace ----

@dataclass(frozen=True)
class Record:
    kind: int
    events: int
    pid: int
    image: int
    thread: int
    ns: int
    lost: int
    at: int  # of its head
    end: int

    @property
    def process(self) -> tuple[int, int]:
        return self.pid, self.image


def records_of(data: mmap.mmap) -> Iterator[Record]:
    """As far as they are whole."""
    at = 0
    while at + HEAD.size <= len(data):
        magic, _, kind, used, events, pid, image, thread, _, ns, lost, _, _ = HEAD.unpack_from(data, at)
        end = at + HEAD.size + used
        if magic != MAGIC:
            raise Damaged(f"byte {at:,}: not a record of a trace")
        if end > len(data):
            return
        yield Record(kind, events, pid, image, thread, ns, lost, at, end)
        at = end


def chosen_process(records: list[Record], number: int | None) -> tuple[int, int]:
    begun = [record.process for record in records if record.kind == PROCESS]
    if not begun:
        raise Refusal("no process is in it")
    if number is not None:
        if number > len(begun):
            raise Refusal(f"--process {number}: the trace has {len(begun)}")
        return begun[number - 1]
    return max(begun, key=lambda process: sum(record.events for record in records if record.process == process))


# ---- steps ----

class Step(NamedTuple):
    """Half a resize, or all of another event; of two at one time the one that frees is first."""

    ns: int
    comes: bool
    thread: int
    event: Event


def steps_of(data: mmap.mmap, records: list[Record], start: int) -> Iterator[Step]:
    """Of one thread; records that end before the start are not decoded."""
    for record, following in zip(records, [*records[1:], None]):
        if following is not None and following.ns <= start:
            continue
        for event in decoded(data[record.at + HEAD.size : record.end], record.ns, record.events):
            if event.ns < start:
                continue
            if event.op in (FREE, RESIZE):
                yield Step(event.ns, False, record.thread, event)
            if event.op != FREE:
                yield Step(event.ns + event.took, True, record.thread, event)


class Walk:
    """Which events are kept: `kept` in order of time, each with its thread."""

    def __init__(self, least: int) -> None:
        self.least = least
        self.live: set[int] = set()
        self.resized: dict[int, int] = {}  # by thread: a known block is on its way
        self.kept: list[tuple[int, Event]] = []
        self.dropped = 0  # frees and resizes of what came before

    def step(self, step: Step) -> None:
        if step.comes:
            self.came(step.thread, step.event)
        else:
            self.went(step.thread, step.event)

    def went(self, thread: int, event: Event) -> None:
        moved = event.op == FREE or event.came != 0
        known = event.went in self.live
        self.dropped += not known and not self.least
        if known and moved:
            self.live.remove(event.went)
        if event.op == RESIZE:
            self.resized[thread] = known
        elif known:
            self.kept.append((thread, event))

    def came(self, thread: int, event: Event) -> None:
        known = event.op == RESIZE and self.resized.pop(thread, False)
        large = event.size >= self.least
        if large and event.came:
            self.live.add(event.came)
        if event.op != RESIZE or (known and (large or not event.came)):
            if large or known:
                self.kept.append((thread, event))
        elif known:
            self.kept.append((thread, Event(FREE, event.ns, event.site, event.depth, event.went)))
        elif large and event.came:
            then = event.ns + event.took
            self.kept.append((thread, Event(ALLOC, then, event.site, event.depth, 0, event.came, event.size)))


def walked(data: mmap.mmap, records: list[Record], start: int, least: int, most: int) -> Walk:
    """Until `most` events are kept."""
    threads = {record.thread: [one for one in records if one.thread == record.thread] for record in records}
    walk = Walk(least)
    merged = heapq.merge(*(steps_of(data, of_thread, start) for of_thread in threads.values()))
    for number, step in enumerate(merged):
        if number % SHOWN_EVERY == 0:
            show_progress(f"cutting: {number:,} events read, {len(walk.kept):,} kept")
        walk.step(step)
        if len(walk.kept) >= most:
            break
    show_progress("")
    return walk


# ---- writing ----

def packed(data: mmap.mmap, about: list[Record], kept: list[tuple[int, Event]]) -> bytes:
    """The process's other records as they are, then the events."""
    pid, image = about[0].process
    encoders: dict[int, ThreadEncoder] = {}
    for thread, event in kept:
        if thread not in encoders:
            encoders[thread] = ThreadEncoder(pid, image, thread)
        encoders[thread].add(event)
    closed = sorted(record for encoder in encoders.values() for record in encoder.records())
    whole = [data[record.at : record.end] for record in about] + [text for _, _, text in closed]
    return gzip.compress(b"".join(whole), LEVEL, mtime=0)


def packed_within(data: mmap.mmap, about: list[Record], kept: list[tuple[int, Event]], most: int) -> tuple[bytes, int]:
    """And how many events that are."""
    count = min(len(kept), most)
    while len(text := packed(data, about, kept[:count])) > most:
        if count == 0:
            raise Refusal(f"--bytes {most}: the command and the modules alone take {len(text):,}")
        count = int(count * MARGIN * most / len(text)) if count > 100 else count - 1
    return text, count


# ---- the command ----

@dataclass(frozen=True)
class Cut:
    text: bytes
    events: int
    threads: int
    dropped: int


def cut(data: mmap.mmap, wishes: Wishes) -> Cut:
    records = list(records_of(data))
    process = chosen_process(records, wishes.process)
    own = [record for record in records if record.process == process]
    about, events = [one for one in own if one.kind != EVENTS], [one for one in own if one.kind == EVENTS]
    start = min((one.ns for one in events), default=0) + int(wishes.start * 1e9)
    most = wishes.events if wishes.bytes is None else wishes.bytes
    assert most is not None
    walk = walked(data, events, start, wishes.least, most)
    if not walk.kept:
        raise Refusal("nothing is left: no event is that late, or no block that large")
    if wishes.bytes is None:
        text, count = packed(data, about, walk.kept), len(walk.kept)
    else:
        text, count = packed_within(data, about, walk.kept, wishes.bytes)
    return Cut(text, count, len({thread for thread, _ in walk.kept[:count]}), walk.dropped)


def excerpt(file: Path, out: Path, wishes: Wishes) -> int:
    """The exit status."""
    if wishes.events is not None and wishes.bytes is not None:
        raise Refusal("give --events or --bytes, not both")
    if wishes.events is None and wishes.bytes is None:
        wishes = replace(wishes, bytes=DEFAULT_BYTES)
    refuse_unless_replaceable(out)
    with scratch_folder() as scratch:
        unpacked = unpack(file, scratch / "records")
        try:
            with unpacked.path.open("rb") as copy, mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ) as data:
                made = cut(data, wishes)
        except (Damaged, Refusal) as failure:
            raise Refusal(f"{file}: {failure}") from None
        write_whole(out, made.text)
    threads = f"{made.threads:,} thread{'' if made.threads == 1 else 's'}"
    before = f"; left out: {made.dropped:,} calls about blocks from before" if made.dropped else ""
    print(f"{printable(str(out))}: {made.events:,} events in {threads}, {len(made.text):,} bytes{before}")
    return 0
