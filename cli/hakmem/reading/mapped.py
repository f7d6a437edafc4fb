# SPDX-License-Identifier: MIT OR Apache-2.0
"""The file that a process keeps something in, found by what it has mapped."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from hakmem.base.attended import program_of
from hakmem.base.errors import Refusal
from hakmem.reading.living import facts_of, gone, maps_of, own_numbers, refuse_if_gone, why_forbidden


def number_of(asked: str) -> int | None:
    """A number is a process, unless a file has that name and no process has that number."""
    is_number = asked.isdecimal() and asked.isascii() and len(asked) < 10
    return program_of(int(asked)) if is_number and (Path("/proc", asked).exists() or not Path(asked).exists()) else None


def users_of(pid: int) -> set[int]:
    """Those that it is or was, and root."""
    return {0, *map(int, facts_of(pid).get("Uid", "").split())}


def is_of(path: str, numbers: Collection[str]) -> bool:
    """PATH.<pid>; or PATH.<pid>.<n> of a process that found that name taken by another of its number."""
    before, _, last = path.rpartition(".")
    return last in numbers or (last.isdecimal() and before.rpartition(".")[2] in numbers)


def shared_files(maps: str) -> Iterator[str]:
    for line in maps.splitlines():
        words = line.split(None, 5)
        if len(words) == 6 and words[1].endswith("s") and words[5].startswith("/"):
            yield words[5]


def without_waiting(path: str, flags: int) -> int:
    """What is a FIFO is opened at once."""
    return os.open(path, flags | os.O_NONBLOCK)


def regular_file(path: str | Path) -> BinaryIO:
    """Opened for reading. Any other kind is an OSError: a FIFO has a reader wait, and a device may do something."""
    if stat.S_ISREG(os.stat(path).st_mode):
        file = open(path, "rb", opener=without_waiting)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
    raise OSError(errno.EINVAL, "no regular file", str(path))


def starts_with(file: Path, magic: bytes, users: set[int]) -> bool:
    """In a folder that others may write, another user's may have its name by now."""
    try:
        with regular_file(file) as source:
            return os.fstat(source.fileno()).st_uid in users and source.read(len(magic)) == magic
    except OSError:
        return False


def find_mapped(pid: int, magic: bytes) -> tuple[Path, str, str] | None:
    """The file that begins so, its name there, and what the process has mapped.

    A fork's child has its parent's file mapped and writes into memory of its own: the file's name tells.
    """
    refuse_if_gone(pid)
    try:
        maps = maps_of(pid)
        numbers, users = own_numbers(pid), users_of(pid)
    except PermissionError:
        raise Refusal(why_forbidden(pid, attached=False)) from None
    except (FileNotFoundError, ProcessLookupError):
        raise gone(pid) from None
    for path in shared_files(maps):
        file = Path(f"/proc/{pid}/root{path}")
        if is_of(path, numbers) and starts_with(file, magic, users):
            return file, path, maps
    return None


def mapped_file(pid: int, magic: bytes, if_none: str) -> tuple[Path, str, str]:
    """As find_mapped; `if_none`: what is said then."""
    found = find_mapped(pid, magic)
    if found is None:
        raise Refusal(if_none)
    return found
