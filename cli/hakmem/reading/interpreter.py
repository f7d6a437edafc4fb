# SPDX-License-Identifier: MIT OR Apache-2.0
"""CPython in another process, for the mailbox of asking.py: as src/record/python_frames.h wants it.

    the program, or a libpython that it began with -> its table of symbols -> six numbers
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress

from hakmem.reading.loaded import STRING_BYTES, STRINGS, STRINGS_MOST, dynamic_of, moved, stay_loaded
from hakmem.reading.tables import Changed, Memory

SYMBOLS = 6  # DT_SYMTAB
SYMBOL = struct.Struct("<IBBHQQ")
SYMBOLS_MOST = 1 << 14
STATE, CODE, TEXT, VERSION = b"PyGILState_GetThisThreadState", b"PyCode_Type", b"PyUnicode_Type", b"Py_Version"
LOOP = b"_PyEval_EvalFrameDefault"
NAMES = frozenset((STATE, CODE, TEXT, VERSION, LOOP))
NONE = (0,) * 6


def exports_of(memory: Memory, base: int) -> dict[bytes, tuple[int, int]]:
    """Addresses and bytes of those of NAMES that the image which begins here exports. Its table of symbols ends where
    the strings begin, as linkers lay it out."""
    bias, pairs = dynamic_of(memory, base)
    facts = {tag: value for tag, value in reversed(pairs)}
    symbols, strings = (moved(facts.get(tag, 0), bias, base) for tag in (SYMBOLS, STRINGS))
    count = min(SYMBOLS_MOST, (strings - symbols) // SYMBOL.size)
    if not facts or count <= 0:
        return {}
    texts = memory.read(strings, min(STRINGS_MOST, facts.get(STRING_BYTES, 0)))
    rows = SYMBOL.iter_unpack(memory.read(symbols, count * SYMBOL.size))
    named = ((texts[name:texts.find(b"\0", name)], bias + value, size) for name, _, _, section, value, size in rows if section)
    return {text: (value, size) for text, value, size in named if text in NAMES}


def interpreter_in(memory: Memory, base: int) -> tuple[int, ...]:
    found = exports_of(memory, base)
    if not {STATE, CODE, TEXT, VERSION} <= found.keys():
        return NONE
    loop, size = found.get(LOOP, (0, 0))
    return *(found[name][0] for name in (STATE, CODE, TEXT)), memory.number(found[VERSION][0]), loop, loop + size


def interpreter_of(memory: Memory) -> tuple[int, ...]:
    """The words of struct hak_python, of an interpreter that stays loaded. Zeros: there is none."""
    paths, program = stay_loaded(memory), os.readlink(f"/proc/{memory.pid}/exe")
    for area in memory.areas:
        named = area.path == program or "/libpython" in area.path
        if area.offset == 0 and named and area.path in paths:
            with suppress(Changed, struct.error):
                if (found := interpreter_in(memory, area.first)) != NONE:
                    return found
    return NONE
