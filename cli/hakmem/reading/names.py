# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names for call sites: the module that an address lies in, and the function, from the symbol tables of its file.

    7f0c1a022000-7f0c1a1b5000 r-xp 00022000 08:01 1234 /usr/lib/libc.so.6      a line of /proc/self/maps
    address - 7f0c1a022000 + 00022000 = offset in the file -> segment -> address in the file -> symbol
"""

from __future__ import annotations

import bisect
import re
import shutil
import struct
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from hakmem.reading.mapped import regular_file

LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ \S+\s*(.*)")
MANGLED = "_Z"
SYMBOL = {True: struct.Struct("<IBBHQQ"), False: struct.Struct(">IBBHQQ")}  # of 64 bits; by whether it is little-endian
FUNCTION = 2  # STT_FUNC
# Of a file that is gone, or no program; the last four: of a damaged one, as pyelftools or a table leaves them.
NO_PROGRAM = (OSError, ELFError, ValueError, MemoryError, OverflowError, struct.error, LookupError)


@dataclass(frozen=True)
class Mapping:
    first: int
    end: int
    offset: int
    path: str
    root: str = ""  # as living.root_of has it


@dataclass(frozen=True)
class Name:
    """Where a call returns to. Without a symbol `offset` counts from the file's begin, with one from the symbol's."""

    module: str  # "": it lies in none that is known
    symbol: str
    offset: int

    def __str__(self) -> str:
        if not self.module:
            return hex(self.offset)
        place = f"{self.symbol or Path(self.module).name}+{self.offset:#x}"
        return f"{place} ({Path(self.module).name})" if self.symbol else place


def mappings_of(text: str, root: str = "") -> list[Mapping]:
    found = (LINE.match(line) for line in text.splitlines())
    return sorted(
        (Mapping(int(m[1], 16), int(m[2], 16), int(m[3], 16), m[4].removesuffix(" (deleted)"), root) for m in found if m),
        key=lambda mapping: mapping.first,
    )


def functions_of(elf: ELFFile, table: SymbolTableSection) -> Iterator[tuple[int, int, str]]:
    """Address, bytes and name. pyelftools reads one symbol in the time of a hundred here, and programs have 100,000."""
    if elf.elfclass != 64:
        return
    names, data, symbol = table.stringtable.data(), table.data(), SYMBOL[elf.little_endian]
    for at, info, _, _, address, size in symbol.iter_unpack(data[: len(data) // symbol.size * symbol.size]):
        if info & 15 == FUNCTION and address:
            yield address, size, names[at : names.find(b"\0", at)].decode("utf-8", "replace")


class Symbols:
    """The functions of a file, by address."""

    def __init__(self, path: str) -> None:
        self.segments: list[tuple[int, int, int]] = []  # offset in the file, bytes, address
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.names: list[str] = []
        try:
            with regular_file(path) as file:
                self.read(ELFFile(file))
        except NO_PROGRAM:
            pass  # gone, or no program: its offsets are names enough

    def read(self, elf: ELFFile) -> None:
        loads = (segment for segment in elf.iter_segments() if segment["p_type"] == "PT_LOAD")
        self.segments = [(s["p_offset"], s["p_filesz"], s["p_vaddr"]) for s in loads]
        found: dict[int, tuple[int, str]] = {}
        for table in (s for s in elf.iter_sections() if isinstance(s, SymbolTableSection)):
            for address, size, name in functions_of(elf, table):
                found.setdefault(address, (size, name))
        self.starts = sorted(found)
        self.ends = [start + found[start][0] for start in self.starts]
        self.names = [found[start][1] for start in self.starts]

    def at(self, offset: int) -> tuple[str, int] | None:
        """The function that holds the byte before, as a call may be the last of its function; and how far into it."""
        for first, size, address in self.segments:
            if first <= offset < first + size:
                return self.function(offset - first + address)
        return None

    def function(self, address: int) -> tuple[str, int] | None:
        at = bisect.bisect_right(self.starts, address - 1) - 1
        if at < 0 or address - 1 >= max(self.ends[at], self.starts[at] + 1):
            return None
        return self.names[at], address - self.starts[at]


@cache
def symbols_of(path: str) -> Symbols:
    return Symbols(path)


def name_of(address: int, mappings: list[Mapping]) -> Name:
    at = bisect.bisect_right([mapping.first for mapping in mappings], address) - 1
    if at < 0 or address > mappings[at].end:
        return Name("", "", address)
    mapping = mappings[at]
    offset = address - mapping.first + mapping.offset
    found = symbols_of(mapping.root + mapping.path).at(offset) if mapping.path.startswith("/") else None
    return Name(mapping.path or "anonymous memory", *(found or ("", offset)))


def demangled(names: Iterable[str]) -> dict[str, str]:
    """What C++ calls them, where c++filt is installed."""
    mangled = sorted({name for name in names if name.startswith(MANGLED)})
    if not mangled or not (tool := shutil.which("c++filt")):
        return {}
    ended = subprocess.run([tool, "--no-params"], input="\n".join(mangled), capture_output=True, text=True, errors="replace",
                           check=False)
    lines = ended.stdout.splitlines()
    return dict(zip(mangled, lines)) if len(lines) == len(mangled) else {}
