"""A trace (docs/trace-format.md) without its gzip, and which processes are in it. What is wrong inside its records
is found by what reads them (tools/events.c)."""

from __future__ import annotations

import gzip
import os
import shlex
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hakmem.errors import Refusal
from hakmem.streams import show_progress

MAGIC = b"HAKT"
HEAD = struct.Struct("<4sHHIIIIIIQQQQ")
PROCESS_KIND = 1
BLOCK_BYTES = 1 << 20


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
    try:
        with file.open("rb") as packed, gzip.open(packed) as records:
            torn = copy_records(file, records, target)
    except (gzip.BadGzipFile, zlib.error) as failure:
        raise Refusal(f"{file}: {why_damaged(file, failure)}") from None
    except OSError as failure:
        raise Refusal(f"{failure.filename or file}: {(failure.strerror or str(failure)).lower()}") from None
    finally:
        show_progress("")
    return Unpacked(target, torn, list(processes_of(target)))


def why_damaged(file: Path, failure: Exception) -> str:
    with file.open("rb") as packed:
        is_gzip = packed.read(2) == b"\x1f\x8b"
    return f"damaged ({failure})" if is_gzip else "not a trace"


def copy_records(file: Path, records: gzip.GzipFile, target: Path) -> bool:
    """Whether the end was torn. read1: what was had before the torn end counts."""
    copied = 0
    with target.open("wb") as copy:
        try:
            while block := records.read1(BLOCK_BYTES):
                if not copied and not block.startswith(MAGIC[: len(block)]):
                    raise Refusal(f"{file}: not a trace")
                copy.write(block)
                copied += len(block)
                show_progress(f"unpacked {copied >> 20} MiB")
        except EOFError:
            return True
    return False


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
