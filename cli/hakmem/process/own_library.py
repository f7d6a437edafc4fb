# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether a file can be preloaded as HAKMEM: whole, with malloc and hak_owns of its own."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

# Of no ELF file; the others: of a damaged one, as pyelftools leaves them.
NO_LIBRARY = (ELFError, ValueError, MemoryError, OverflowError, struct.error, LookupError, AttributeError, TypeError)

NOT_WHOLE = "it is no whole ELF library"


def why_not_hakmem(library: Path) -> str | None:
    try:
        with library.open("rb") as file:
            return why_not_this(file, library.stat().st_size)
    except NO_LIBRARY:
        return NOT_WHOLE


def why_not_this(file: BinaryIO, size: int) -> str | None:
    segments = list(ELFFile(file).iter_segments())
    if any(segment["p_type"] == "PT_LOAD" and segment["p_offset"] + segment["p_filesz"] > size for segment in segments):
        return NOT_WHOLE
    own = {symbol.name for segment in segments if segment["p_type"] == "PT_DYNAMIC"
           for symbol in segment.iter_symbols() if symbol["st_shndx"] != "SHN_UNDEF"}
    missing = [name for name in ("malloc", "hak_owns") if name not in own]
    return f"it has no {' and no '.join(missing)}" if missing else None
