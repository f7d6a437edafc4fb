# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which images stay in a process: those that it began with, its own program, what LD_PRELOAD names and all that these need.
An image that the program opened later may be closed at any moment."""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hakmem.reading.tables import Changed, Memory, segments_of

PT_DYNAMIC = 2
NEEDED, STRINGS, STRING_BYTES, SONAME = 1, 5, 10, 14  # DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_SONAME
DYNAMIC_MOST, STRINGS_MOST = 1 << 10, 1 << 20


class Image(NamedTuple):
    path: str
    name: str  # its DT_SONAME, else of its file
    needs: tuple[str, ...]


def dynamic_of(memory: Memory, base: int) -> tuple[int, list[tuple[int, int]]]:
    """Of the image that begins here: by how much its addresses are moved, and its tags with their values."""
    bias, found = segments_of(memory, base, PT_DYNAMIC)
    if not found:
        return bias, []
    start, length = found[0]
    words = memory.words(start, 2 * min(DYNAMIC_MOST, length // 16))
    return bias, list(zip(words[::2], words[1::2]))


def moved(value: int, bias: int, base: int) -> int:
    """The loader of glibc has written the address there already, others leave it as it was linked."""
    return value + bias if value < base else value


def image_at(memory: Memory, base: int, path: str) -> Image:
    bias, pairs = dynamic_of(memory, base)
    facts = {tag: value for tag, value in reversed(pairs)}
    texts = memory.read(moved(facts.get(STRINGS, 0), bias, base), min(STRINGS_MOST, facts.get(STRING_BYTES, 0))) if pairs else b""

    def text(at: int) -> str:
        return os.fsdecode(texts[at:max(at, texts.find(b"\0", at))])

    name = text(facts[SONAME]) if SONAME in facts else ""
    return Image(path, name or os.path.basename(path), tuple(text(value) for tag, value in pairs if tag == NEEDED))


def images_of(memory: Memory) -> list[Image]:
    found = []
    for area in memory.areas:
        if area.offset == 0 and area.path.startswith("/"):
            with suppress(Changed, struct.error):
                found.append(image_at(memory, area.first, area.path))
    return found


def preloaded(pid: int) -> set[str]:
    """Names of files, by the environment that it began with."""
    try:
        pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return set()
    named = next((pair.partition(b"=")[2] for pair in pairs if pair.startswith(b"LD_PRELOAD=")), b"")
    return {os.path.basename(word) for word in os.fsdecode(named).replace(":", " ").split()}


def stay_loaded(memory: Memory) -> set[str]:
    """The paths of these images, as /proc/PID/maps has them."""
    images = images_of(memory)
    program, preloads = os.readlink(f"/proc/{memory.pid}/exe"), preloaded(memory.pid)
    waiting = [one for one in images if one.path == program or os.path.basename(one.path) in preloads or one.name in preloads]
    paths = {one.path for one in waiting}
    while waiting:
        needs = waiting.pop().needs
        more = [one for one in images if one.name in needs and one.path not in paths]
        paths.update(one.path for one in more)
        waiting += more
    return paths
