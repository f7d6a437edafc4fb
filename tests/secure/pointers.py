# SPDX-License-Identifier: MIT OR Apache-2.0
"""No address of a function lies in writable memory of the secure flavour: pointers.py LIBRARY PROGRAM.

Reads the memory of a running process: the library's own data, and HAKMEM's tables between 2^43 and 2^44. A word is an
address of a function if it points into the library at a function's first byte, or into executable memory of another
file or of the vdso.
"""

import contextlib
import os
import struct
import subprocess
import sys
import time
from typing import NamedTuple

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

PAGE = 4096
SETTINGS = {"HAKMEM_CRASH_REPORT": "1", "HAKMEM_MODE": "evolving", "HAKMEM_PROFILE": "1", "HAKMEM_GUARD_BYTES": "1M"}


class Map(NamedTuple):
    """A mapping of the process."""

    begin: int
    end: int
    access: str
    name: str


def read_maps(process: int) -> list[Map]:
    """The mappings of a process."""
    found = []
    with open(f"/proc/{process}/maps", encoding="utf-8") as file:
        for line in file:
            words = line.split(maxsplit=5)
            begin, end = (int(number, 16) for number in words[0].split("-"))
            found.append(Map(begin, end, words[1], words[5].strip() if len(words) > 5 else ""))
    return found


def read_symbols(library: str, kind: str) -> dict[int, tuple[str, int]]:
    """Symbols of a kind: address in the file -> name and size."""
    with open(library, "rb") as file:
        tables = [s for s in ELFFile(file).iter_sections() if isinstance(s, SymbolTableSection)]
        rows = [s for table in tables for s in table.iter_symbols() if s.entry.st_info.type == kind]
        return {s.entry.st_value: (s.name, s.entry.st_size) for s in rows if s.entry.st_value != 0}


def library_end(library: str, base: int) -> int:
    """Where the library's data ends in the process."""
    with open(library, "rb") as file:
        parts = [p.header for p in ELFFile(file).iter_segments("PT_LOAD")]
        return base + max(p.p_vaddr + p.p_memsz for p in parts)


class Process:
    """A stopped look at the program, which waits."""

    def __init__(self, library: str, program: str, settings: dict[str, str]) -> None:
        env = os.environ | settings | {"LD_PRELOAD": library}
        self.child = subprocess.Popen([program, "64", "wait"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.child.stdout is not None
        self.child.stdout.readline()
        time.sleep(0.1)  # the program sets its handler, and waits
        self.maps = read_maps(self.child.pid)
        self.base = min(m.begin for m in self.maps if m.name == library)
        self.end = library_end(library, self.base)
        self.functions = read_symbols(library, "STT_FUNC")
        self.objects = read_symbols(library, "STT_OBJECT")
        self.library = library

    def is_own(self, m: Map) -> bool:
        """True for data of the library and for HAKMEM's tables."""
        return m.name == self.library or self.base < m.begin < self.end or 1 << 43 <= m.begin < 1 << 44

    def names_function(self, word: int) -> str | None:
        """The function at an address, or the file of code there."""
        for m in self.maps:
            if m.begin <= word < m.end and "x" in m.access:
                own = m.name == self.library
                return self.functions.get(word - self.base, (None, 0))[0] if own else m.name
        return None

    def words(self, m: Map) -> list[tuple[int, int]]:
        """Address and value of each word of a mapping that is not 0; pages that are guards are passed over."""
        found = []
        end = min(m.end, self.end) if self.base < m.begin < self.end else m.end
        with open(f"/proc/{self.child.pid}/mem", "rb", buffering=0) as memory:
            for page in range(m.begin, end, PAGE):
                memory.seek(page)
                with contextlib.suppress(OSError):
                    words = struct.unpack(f"<{PAGE // 8}Q", memory.read(PAGE))
                    found += [(page + 8 * i, word) for i, word in enumerate(words) if word != 0]
        return found

    def object_at(self, address: int) -> str:
        """The name of the data at an address."""
        for at, (name, size) in self.objects.items():
            if at <= address - self.base < at + size:
                return name
        return "?"

    def pointers(self) -> list[str]:
        """All words in writable memory that are addresses of functions."""
        writable = [m for m in self.maps if "w" in m.access and self.is_own(m)]
        assert writable
        found = []
        for address, word in (pair for m in writable for pair in self.words(m)):
            name = self.names_function(word)
            if name is not None:
                found.append(f"{self.object_at(address)} at {address:x} holds {name}")
        return found

    def finish(self) -> None:
        """Lets the program end."""
        self.child.communicate(b"")
        assert self.child.returncode == 0, self.child.returncode


def main(library: str, program: str) -> int:
    """Exit status 1 where a pointer was found."""
    found = []
    for settings in {}, SETTINGS:
        process = Process(os.path.realpath(library), program, settings)
        found += process.pointers()
        process.finish()
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
