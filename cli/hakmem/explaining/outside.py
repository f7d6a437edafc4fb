# SPDX-License-Identifier: MIT OR Apache-2.0
"""Resident memory that is not HAKMEM's, by its owner: stacks, program and libraries, files, shared memory, the rest.

    /proc/PID/task/TID/syscall   -> a sleeping thread's stack pointer, and so its stack
    a mapping without rights     -> the guard below a thread's stack
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hakmem.reading.resident import Mapping

STACKS, PROGRAM, FILES, SHARED, ANONYMOUS = "stacks", "program", "files", "shared_memory", "other"
GUARD_MOST = 64 << 10
SHARED_PATHS = ("/dev/shm/", "/memfd:", "/SYSV", "/dev/zero", "[anon_shmem")
GONE = " (deleted)"


class Piece(NamedTuple):
    """Of a mapping."""

    owner: str
    name: str
    bytes: int
    start: int
    copied: int = 0  # of bytes: anonymous memory that another process has, too


def stack_pointer(file: Path) -> int:
    """0: the thread runs, or has ended."""
    try:
        words = file.read_text("ascii").split()
    except OSError:
        return 0
    return int(words[-2], 16) if len(words) >= 3 else 0


def stack_pointers(pid: int) -> list[int]:
    return sorted(filter(None, map(stack_pointer, Path(f"/proc/{pid}/task").glob("*/syscall"))))


def has_pointer(mapping: Mapping, pointers: list[int]) -> bool:
    at = bisect_right(pointers, mapping.start)
    return at < len(pointers) and pointers[at] <= mapping.end


def is_guard(mapping: Mapping) -> bool:
    return mapping.rights == "---p" and not mapping.path and mapping.end - mapping.start <= GUARD_MOST


class Owners:
    """Asked in the order of addresses."""

    def __init__(self, pid: int, mappings: list[Mapping]) -> None:
        self.pointers = stack_pointers(pid)
        self.code = {each.path for each in mappings if "x" in each.rights and each.path.startswith("/")}
        self.before = Mapping(0, 0, 0, False)
        self.before_owner = (ANONYMOUS, "")

    def of(self, mapping: Mapping) -> tuple[str, str]:
        nameless = not mapping.path or mapping.path.startswith("[anon:")
        found = self.of_nameless(mapping) if nameless else self.of_named(mapping)
        self.before, self.before_owner = mapping, found
        return found

    def of_named(self, mapping: Mapping) -> tuple[str, str]:
        path = mapping.path.removesuffix(GONE)
        if path.startswith("[stack"):
            return STACKS, "the first thread's"
        if path.startswith(SHARED_PATHS):
            return SHARED, path
        if mapping.path in self.code or path in ("[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]"):
            return PROGRAM, path
        return (FILES, path) if path.startswith("/") else (ANONYMOUS, f"{path}, of brk" if path == "[heap]" else path)

    def of_nameless(self, mapping: Mapping) -> tuple[str, str]:
        """Zero data of a program follows its file's mapping."""
        follows = self.before.end == mapping.start
        if has_pointer(mapping, self.pointers) or (follows and is_guard(self.before) and "w" in mapping.rights):
            return STACKS, "a thread's"
        if follows and self.before_owner[0] == PROGRAM and self.before_owner[1].startswith("/"):
            return self.before_owner
        return ANONYMOUS, mapping.path or "without a name"


def pieces_of(pid: int, mappings: list[Mapping], inside: Callable[[Mapping], int]) -> list[Piece]:
    """`inside`: bytes of a mapping that are HAKMEM's and resident."""
    owners, found = Owners(pid, mappings), []
    for mapping in mappings:
        owner, name = owners.of(mapping)
        rest = max(0, mapping.rss - (inside(mapping) if mapping.anonymous else 0))
        copied = min(rest, mapping.shared) if owner in (STACKS, ANONYMOUS) else 0
        if rest:
            found.append(Piece(owner, name, rest, mapping.start, copied))
    return found
