# SPDX-License-Identifier: MIT OR Apache-2.0
"""The files that libhakmem.so writes while it traces, and how they become one.

    <stem>.<pid>.<image>     chunks of 64 KiB; in each, records one after the other at multiples of 8 bytes, then zeros
    trace.hakt               all records as docs/guide/trace-format.md has them, gzip, a member for each MiB or so

What was packed may go from the disk when there is no room for the rest.
"""

from __future__ import annotations

import ctypes
import errno
import gzip
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

CHUNK_BYTES = 64 << 10
MEMBER_BYTES = 1 << 20
LEVEL = 1
HEAD = struct.Struct("<4sHHIIIIIIQQQQ")
MAGIC = b"HAKT"
PROCESS, MODULES, EVENTS = 1, 2, 3
KEEP_SIZE, PUNCH_HOLE = 1, 2


@dataclass(frozen=True)
class Piece:
    """One record where the library wrote it."""

    at: int
    head: bytes
    kind: int
    used: int
    events: int
    pid: int
    image: int
    thread: int
    ns: int
    lost: int
    serial: int

    @property
    def order(self) -> tuple[bool, int, int]:
        """A process begins with its own record; those of a thread are in the order of their serials."""
        return self.kind != PROCESS, self.ns, self.serial


def pieces_of_chunk(data: mmap.mmap, start: int) -> Iterator[Piece]:
    at, end = start, min(start + CHUNK_BYTES, len(data))
    while at + HEAD.size <= end:
        head = data[at : at + HEAD.size]
        magic, _, kind, used, events, pid, image, thread, _, ns, lost, serial, _ = HEAD.unpack(head)
        after = at + HEAD.size + used
        if magic != MAGIC or after > end:
            return
        yield Piece(at, head, kind, used, events, pid, image, thread, ns, lost, serial)
        at = (after + 7) & ~7


def pieces_of(data: mmap.mmap) -> list[Piece]:
    """In the order of the trace; none if the file has no process record."""
    found = [piece for start in range(0, len(data), CHUNK_BYTES) for piece in pieces_of_chunk(data, start)]
    found.sort(key=lambda piece: piece.order)
    return found if found and found[0].kind == PROCESS else []


@dataclass
class Totals:
    """What a trace holds."""

    processes: set[tuple[int, int]] = field(default_factory=set)
    threads: set[tuple[int, int, int]] = field(default_factory=set)
    events: int = 0
    lost: int = 0
    bytes: int = 0

    def add(self, piece: Piece) -> None:
        self.processes.add((piece.pid, piece.image))
        if piece.kind == EVENTS:
            self.threads.add((piece.pid, piece.image, piece.thread))
        self.events += piece.events
        self.lost += piece.lost

    @property
    def bytes_per_event(self) -> float:
        return self.bytes / self.events if self.events else 0.0


# ---- room on the disk ----

def punch(path: Path, chunks: set[int]) -> None:
    """Gives these chunks back to the disk, where it can."""
    libc = ctypes.CDLL(None)
    with path.open("r+b") as file:
        for start in chunks:
            libc.fallocate(
                file.fileno(), KEEP_SIZE | PUNCH_HOLE, ctypes.c_long(start), ctypes.c_long(CHUNK_BYTES)
            )


class Packer:
    """Writes records to `out`; makes room with `spare` and with what it has packed when the disk is full."""

    def __init__(self, out: BinaryIO, spare: Path, progress: Callable[[float], None]) -> None:
        self.out = out
        self.spare = spare
        self.progress = progress
        self.totals = Totals()
        self.waiting = bytearray()
        self.packed: dict[Path, set[int]] = {}
        self.passed = 0
        self.all = 1

    def pack(self, files: list[Path]) -> None:
        self.all = sum(path.stat().st_size for path in files) or 1
        for path in files:
            self.pack_file(path)
        self.close_member()

    def pack_file(self, path: Path) -> None:
        if path.stat().st_size == 0:
            return
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            pieces = pieces_of(data)
            left = count_by_chunk(pieces)
            for piece in pieces:
                self.add(piece, data)
                chunk = piece.at - piece.at % CHUNK_BYTES
                left[chunk] -= 1
                if left[chunk] == 0:
                    self.chunk_done(path, chunk)
        self.close_member()
        self.packed.pop(path, None)
        path.unlink()

    def add(self, piece: Piece, data: mmap.mmap) -> None:
        self.totals.add(piece)
        self.waiting += piece.head
        self.waiting += data[piece.at + HEAD.size : piece.at + HEAD.size + piece.used]

    def chunk_done(self, path: Path, chunk: int) -> None:
        self.passed += CHUNK_BYTES
        if len(self.waiting) >= MEMBER_BYTES:
            self.close_member()
        self.packed.setdefault(path, set()).add(chunk)

    def close_member(self) -> None:
        if self.waiting:
            self.write(gzip.compress(self.waiting, LEVEL, mtime=0))
            self.waiting.clear()
        self.progress(min(self.passed / self.all, 1.0))

    def write(self, member: bytes) -> None:
        """All of it or, when there is no room even then, nothing."""
        start, done, again = self.out.tell(), 0, True
        while done < len(member):
            try:
                done += self.out.write(member[done:])
            except OSError as failure:
                if failure.errno != errno.ENOSPC or not again:
                    self.out.truncate(start)
                    raise
                again = self.make_room()
        self.totals.bytes += len(member)

    def make_room(self) -> bool:
        """Whether there was anything to give up."""
        some = self.spare.exists() or bool(self.packed)
        self.spare.unlink(missing_ok=True)
        for path, chunks in self.packed.items():
            punch(path, chunks)
        self.packed.clear()
        return some


def count_by_chunk(pieces: list[Piece]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for piece in pieces:
        chunk = piece.at - piece.at % CHUNK_BYTES
        counts[chunk] = counts.get(chunk, 0) + 1
    return counts


def recorded_files(stem: Path) -> list[Path]:
    """By process and image."""
    found = [(path.name.removeprefix(stem.name + ".").split("."), path) for path in stem.parent.glob(f"{stem.name}.*")]
    numbered = [(int(part[0]), int(part[1]), path) for part, path in found if len(part) == 2]
    return [path for _, _, path in sorted(numbered)]


def still_written(stem: Path) -> int:
    """How many processes have a file of this recording open, or were told of it and may begin theirs, as a daemon that
    has just left its parent."""
    return sum(is_of(process, os.fsencode(stem)) for process in Path("/proc").glob("[0-9]*"))


def is_of(process: Path, stem: bytes) -> bool:
    try:
        return stem + b"." in (process / "maps").read_bytes() or stem in (process / "environ").read_bytes()
    except OSError:
        return False
