# SPDX-License-Identifier: MIT OR Apache-2.0
"""A trace (docs/guide/trace-format.md) without its gzip, and which processes are in it. What is wrong inside its records
is found by what reads them (tools/events.c)."""

from __future__ import annotations

import os
import shlex
import stat
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hakmem.base.errors import Refusal, written
from hakmem.base.exit import printable
from hakmem.base.streams import show_progress

PIECE = 1 << 20
GZIP = 31  # for zlib: what it reads has a gzip head
GZIP_MAGIC, MAGIC = b"\x1f\x8b", b"HAKT"
HEAD = struct.Struct("<4sHHIIIIIIQQQQ")
PROCESS_KIND = 1
Advance = Callable[[int], None]


class Unpacker:
    """The bytes of a gzip file with any number of members. Where it ends early it is torn, and ends."""

    def __init__(self, path: Path, advance: Advance) -> None:
        self.path = path
        self.advance = advance
        self.torn = False
        self.size = 0  # of what came out

    def pieces(self) -> Iterator[bytes]:
        yield from self.members()
        if self.size < HEAD.size:
            why = "it is cut off before its first record" if self.torn else "nothing is in it"
            raise Refusal(f"{self.path}: not a trace ({why})")

    def members(self) -> Iterator[bytes]:
        member = zlib.decompressobj(GZIP)
        began = False
        with self.path.open("rb") as file:
            while packed := file.read(PIECE):
                self.advance(len(packed))
                while packed:
                    yield self.unpack(member, packed)
                    began, packed = not member.eof, member.unused_data or member.unconsumed_tail
                    if member.eof:
                        member = zlib.decompressobj(GZIP)
        self.torn = began

    def unpack(self, member: Any, packed: bytes) -> bytes:
        """A piece at most, however well it was packed."""
        try:
            piece: bytes = member.decompress(packed, PIECE)
            self.size += len(piece)
            return piece
        except zlib.error as failure:
            raise Refusal(f"{self.path}: damaged, it cannot be unpacked ({failure})") from None


def check(path: Path) -> int:
    """Its size; what is no trace at all is refused before any work is done."""
    try:
        if stat.S_ISFIFO(path.stat().st_mode):  # it would wait for a writer, and a trace is read twice
            raise Refusal(f"{path}: not a trace (no regular file)")
        with path.open("rb") as file:
            if file.read(len(GZIP_MAGIC)) != GZIP_MAGIC:
                raise Refusal(f"{path}: not a trace (it is not packed by gzip)")
            return os.fstat(file.fileno()).st_size
    except OSError as failure:
        raise Refusal(f"{path}: {(failure.strerror or str(failure)).lower()}") from None


def is_trace(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            return zlib.decompressobj(GZIP).decompress(file.read(PIECE), len(MAGIC)) == MAGIC
        except zlib.error:
            return False


def refuse_unless_replaceable(path: Path) -> None:
    """A trace may take the place of a trace or of an empty file, and of nothing else."""
    try:
        there = path.lstat()
        if stat.S_ISDIR(there.st_mode):
            raise Refusal(f"{path} is a folder")
        if not stat.S_ISREG(there.st_mode):
            raise Refusal(f"{path} is {'a symbolic link' if path.is_symlink() else 'no regular file'}; "
                          "a trace does not replace it")
        if there.st_size and not is_trace(path):
            raise Refusal(f"{path} is there and no trace; it is not replaced")
    except FileNotFoundError:
        return
    except OSError as failure:
        raise Refusal(f"{path}: {(failure.strerror or str(failure)).lower()}") from None


def check_apart(traces: Iterable[Path], *tables: Path | None) -> None:
    """What is written is none of the traces that are read."""
    for table in filter(None, tables):
        for trace in traces:
            if table.exists() and trace.exists() and table.samefile(trace):
                raise Refusal(f"{table} is a trace that is read; it is not replaced")


def refuse_if_nothing_is_left(path: Path, torn: bool, events: int) -> None:
    """What could be said of a trace without a call would be the same of any program."""
    if torn and not events:
        raise Refusal(f"{path}: its end is torn, and no call comes before it")


def name_of_program(argument: str) -> str:
    """By the first argument. Who wrote a title over it, like nginx and PostgreSQL, is called what is before the colon."""
    title, colon, _ = argument.partition(": ")
    return title if colon and "/" not in title else Path(argument).name


# ---- into a file ----

@dataclass(frozen=True)
class TracedProcess:
    pid: int
    image: int  # how many programs the pid had executed before
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return shlex.join(self.arguments) or "a process without a name"


@dataclass(frozen=True)
class Unpacked:
    path: Path
    torn: bool  # the gzip stream ended before its end
    processes: list[TracedProcess]  # in order of their records


def unpack(file: Path, target: Path) -> Unpacked:
    """Writes the records to `target`. Refuses what is no trace, or damaged."""
    unpacker = Unpacker(file, Share(file, check(file)))
    with written(target), target.open("wb") as copy:
        for piece in unpacker.pieces():
            if not copy.tell() and not piece.startswith(MAGIC[: len(piece)]):
                raise Refusal(f"{file}: not a trace")
            copy.write(piece)
    show_progress("")
    return Unpacked(target, unpacker.torn, list(processes_of(target)))


class Share:
    """Says how much of a file has been read."""

    def __init__(self, file: Path, size: int) -> None:
        self.file, self.size, self.done = file, size, 0

    def __call__(self, read: int) -> None:
        self.done += read
        show_progress(f"unpacking {printable(self.file.name)}: {100 * self.done // max(1, self.size)} %")


def processes_of(records: Path) -> Iterator[TracedProcess]:
    """As far as the records are whole."""
    with records.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        while len(head := file.read(HEAD.size)) == HEAD.size:
            magic, _, kind, used, _, pid, image, *_ = HEAD.unpack(head)
            if magic != MAGIC or file.tell() + used > size:
                return
            if kind == PROCESS_KIND:
                arguments = os.fsdecode(file.read(used)).split("\0")[:-1]
                yield TracedProcess(pid, image, tuple(arguments))
            else:
                file.seek(used, os.SEEK_CUR)
