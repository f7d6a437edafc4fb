# SPDX-License-Identifier: MIT OR Apache-2.0
"""Resident memory that holds no blocks of malloc: HAKMEM's tables, a fork's copies, and what others mapped."""

from __future__ import annotations

from collections.abc import Iterator

from hakmem.base.figures import bytes_text, counted
from hakmem.explaining.cause import ROWS, Change, size_of
from hakmem.explaining.look import Look
from hakmem.explaining.outside import ANONYMOUS, FILES, PROGRAM, SHARED, STACKS


# ---- HAKMEM's own ----

def own_reasons(look: Look) -> Iterator[str]:
    yield "HAKMEM's tables: they grow with the blocks, threads and call sites that were there at once"


def own_changes(look: Look) -> Iterator[Change]:
    yield Change("fewer blocks or threads at once; the tables stay as large as they were", 0)


# ---- fork ----

def copy_reasons(look: Look) -> Iterator[str]:
    yield f"pages as process {look.parent} had them at the fork: both have them, and the machine has them once"
    yield f"proportional share of the whole process (Pss): {bytes_text(look.pss)}"


def copy_changes(look: Look) -> Iterator[Change]:
    yield Change("exec in the child instead of running on; the machine gains nothing, as the parent has the pages", 0)
    yield Change("a page that either writes is copied, and then costs: write little of it in both", 0)


# ---- not HAKMEM's ----

def named_pieces(look: Look, owner: str) -> Iterator[str]:
    sums: dict[str, int] = {}
    for piece in look.parts.pieces:
        if piece.owner == owner:
            name = piece.name if owner != ANONYMOUS else f"{piece.name}, at {piece.start:#x}"
            sums[name] = sums.get(name, 0) + piece.bytes
    if len(sums) > ROWS:
        yield f"{len(sums):,} of them; the largest:"
    for name, size in sorted(sums.items(), key=lambda one: -one[1])[:ROWS]:
        yield f"{name}: {bytes_text(size)}"


def stacks_reasons(look: Look) -> Iterator[str]:
    own = [piece for piece in look.parts.pieces if piece.owner == STACKS]
    most = bytes_text(max((piece.bytes for piece in own), default=0))
    yield f"{counted(look.threads, 'thread', 'threads')}; {counted(len(own), 'stack has', 'stacks have')} pages"
    yield f"the largest has {most}; a page that a stack reached once stays"


def stacks_changes(look: Look) -> Iterator[Change]:
    text = "fewer threads, or less on their stacks: arrays in functions, deep recursion"
    yield Change(text, size_of(look, STACKS), True)


def program_reasons(look: Look) -> Iterator[str]:
    yield "code and static data of the program and its libraries, as far as they were touched"
    yield from named_pieces(look, PROGRAM)


def program_changes(look: Look) -> Iterator[Change]:
    yield Change("fewer libraries; processes of the same program share the code", size_of(look, PROGRAM), True)


def files_reasons(look: Look) -> Iterator[str]:
    yield "files that the program has mapped (mmap); the kernel takes unwritten pages back when memory is short"
    yield from named_pieces(look, FILES)


def files_changes(look: Look) -> Iterator[Change]:
    yield Change("munmap, or madvise(MADV_DONTNEED), of what was read", size_of(look, FILES), True)


def shared_reasons(look: Look) -> Iterator[str]:
    yield "memory that processes share: shm_open, memfd, System V, shared anonymous mappings"
    yield from named_pieces(look, SHARED)


def shared_changes(look: Look) -> Iterator[Change]:
    text = "munmap; the memory goes when its last user has gone, and its file was removed"
    yield Change(text, size_of(look, SHARED), True)


def other_reasons(look: Look) -> Iterator[str]:
    yield "the program or a library mapped it (mmap, brk), past malloc: pools, arenas of a language, code of a JIT"
    yield from named_pieces(look, ANONYMOUS)


def other_changes(look: Look) -> Iterator[Change]:
    text = "munmap by its owner: strace -f -k -e trace=mmap,brk PROGRAM names it"
    yield Change(text, size_of(look, ANONYMOUS), True)
