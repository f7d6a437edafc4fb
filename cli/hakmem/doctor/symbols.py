# SPDX-License-Identifier: MIT OR Apache-2.0
"""What an ELF file defines, wants and is linked with.

Names are looked for in the table of names first, as bytes: a table of symbols may have some hundred thousand rows.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.segments import NoteSegment

from hakmem.reading.mapped import regular_file
from hakmem.reading.names import NO_PROGRAM

SYMBOL = struct.Struct("=IBBHQQ")
UNDEFINED = 0


@dataclass(frozen=True)
class Symbols:
    """Of a 64-bit file of this machine. `hidden`: defined, but by a name that only the file itself can use; `stripped`:
    of those nothing is known. `notes`: whose notes it has."""

    needed: tuple[str, ...]
    defined: frozenset[str]
    wanted: frozenset[str]
    hidden: frozenset[str]
    stripped: bool = False
    notes: frozenset[str] = frozenset()


def symbols_of(path: Path, names: Iterable[str]) -> Symbols | None:
    """Those of `names`. None: it cannot be read."""
    try:
        with regular_file(path) as file:
            return read_symbols(ELFFile(file), list(names))
    except NO_PROGRAM:
        return None


def read_symbols(elf: ELFFile, names: list[str]) -> Symbols:
    dynamic = elf.get_section_by_name(".dynamic")
    needed = tuple(tag.needed for tag in dynamic.iter_tags("DT_NEEDED")) if dynamic else ()
    defined, wanted = table_of(elf, ".dynsym", names)
    inside, _ = table_of(elf, ".symtab", names)
    stripped = elf.get_section_by_name(".symtab") is None
    return Symbols(needed, frozenset(defined), frozenset(wanted), frozenset(inside - defined), stripped, owners_of(elf))


def owners_of(elf: ELFFile) -> frozenset[str]:
    segments = (segment for segment in elf.iter_segments() if isinstance(segment, NoteSegment))
    return frozenset(str(note["n_name"]) for segment in segments for note in segment.iter_notes())


def table_of(elf: ELFFile, section: str, names: list[str]) -> tuple[set[str], set[str]]:
    """Those it defines, and those it wants of others."""
    table = elf.get_section_by_name(section)
    if table is None:
        return set(), set()
    at = places_of(elf.get_section(table["sh_link"]).data(), names)
    if not at:
        return set(), set()
    rows = [(at[row[0]], row[3]) for row in SYMBOL.iter_unpack(table.data()) if row[0] in at]
    return {name for name, where in rows if where != UNDEFINED}, {name for name, where in rows if where == UNDEFINED}


def places_of(text: bytes, names: list[str]) -> dict[int, str]:
    """Where each name begins: one may be the end of a longer one."""
    found = {}
    for name in names:
        for match in re.finditer(re.escape(name.encode()) + b"\0", text):
            found[match.start()] = name
    return found


def words_in(path: Path, words: Iterable[bytes]) -> list[bytes]:
    """Those of `words` that the file contains."""
    try:
        with regular_file(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return [word for word in words if data.find(word) >= 0]
    except (OSError, ValueError):
        return []
