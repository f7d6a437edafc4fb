# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which pages of a process are resident, as the kernel has them: by mapping (smaps), and page by page (pagemap).

    /proc/PID/smaps   -> Mapping: addresses, name, Rss and the like, whether it is anonymous memory
    /proc/PID/pagemap -> bytes of a stretch that are resident: by PAGEMAP_SCAN (Linux 6.7), else a word a page
                      -> the state of each page of a stretch, a byte each

The kernel's page of zeros, which memory that was only read shows, is not resident; only PAGEMAP_SCAN tells it apart.
Word by word, it counts.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hakmem.base.errors import Refusal
from hakmem.reading.living import gone, why_forbidden

PAGE = os.sysconf("SC_PAGE_SIZE")
WORD = 8
CHUNK = 1 << 20
PRESENT_IN_HIGH_BYTE = bytes(byte >> 7 for byte in range(256))

HEAD = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ (\d+) *(.*)")
SUMS = {
    "Rss:": "rss", "AnonHugePages:": "huge", "Pss:": "pss", "Shared_Clean:": "shared", "Shared_Dirty:": "shared",
    "Swap:": "swap",
}

# include/uapi/linux/fs.h: struct pm_scan_arg and struct page_region.
SCAN = struct.Struct("=12Q")
PAGEMAP_SCAN = 3 << 30 | SCAN.size << 16 | ord("f") << 8 | 16
PRESENT, ZERO_PAGE, HUGE = 1 << 3, 1 << 5, 1 << 6
REGIONS = 1024


class Mapping(NamedTuple):
    start: int
    end: int
    rss: int
    anonymous: bool
    huge: int = 0  # of rss, in pages of 2 MiB
    pss: int = 0  # rss, each page divided by the processes that have it
    shared: int = 0  # of rss, what other processes have, too
    swap: int = 0
    rights: str = ""
    path: str = ""


# ---- smaps ----

def mapping_of(head: re.Match[str], sums: dict[str, int]) -> Mapping:
    start, end, rights, inode, path = head.groups()
    nameless = not path or path.startswith("[anon:")
    anonymous = nameless and rights.endswith("p") and inode == "0"
    return Mapping(int(start, 16), int(end, 16), anonymous=anonymous, rights=rights, path=path, **{"rss": 0, **sums})


def mappings_in(smaps: str) -> Iterator[Mapping]:
    """Some kernels lack a row."""
    head: re.Match[str] | None = None
    sums: dict[str, int] = {}
    for line in smaps.splitlines():
        key, _, value = line.partition(" ")
        if key in SUMS:
            sums[SUMS[key]] = sums.get(SUMS[key], 0) + (int(value.split()[0]) << 10)
        elif found := HEAD.fullmatch(line):
            if head:
                yield mapping_of(head, sums)
            head, sums = found, {}
    if head:
        yield mapping_of(head, sums)


def mappings_of(pid: int) -> list[Mapping]:
    try:
        found = list(mappings_in(Path(f"/proc/{pid}/smaps").read_text("utf-8", "replace")))
    except PermissionError:
        raise Refusal(why_forbidden(pid, attached=False)) from None
    except OSError:
        raise gone(pid) from None
    if not found:
        raise gone(pid)
    return found


# ---- pagemap ----

class Pagemap:
    """Closed by who opened it."""

    def __init__(self, pid: int) -> None:
        self.file = os.open(f"/proc/{pid}/pagemap", os.O_RDONLY | os.O_CLOEXEC)
        self.scans = True
        self.buffer = ctypes.create_string_buffer(REGIONS * 3 * WORD)

    def __enter__(self) -> Pagemap:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.file)

    def scan_some(self, start: int, end: int, inverted: int, wanted: int) -> tuple[list[tuple[int, int]], int]:
        """Where pages are what is wanted, or of that not what is inverted, too; and up to where. (Where the kernel says
        that it stopped, is not to be relied on: Linux 6.18 has an earlier place there when it filled its own buffer on
        the way, and comes to the end then.)"""
        argument = bytearray(
            SCAN.pack(SCAN.size, 0, start, end, 0, ctypes.addressof(self.buffer), REGIONS, 0,
                      inverted, wanted, 0, wanted)
        )
        count = fcntl.ioctl(self.file, PAGEMAP_SCAN, argument)
        words = struct.unpack_from(f"={3 * count}Q", self.buffer)
        return list(zip(words[::3], words[1::3])), words[-2] if count == REGIONS else end

    def regions(self, start: int, end: int, wanted: int, inverted: int = 0) -> Iterator[tuple[int, int]]:
        """An OSError: the kernel has no PAGEMAP_SCAN."""
        while start < end:
            some, start = self.scan_some(start, end, inverted, wanted)
            yield from some

    def scan(self, start: int, end: int) -> int:
        return sum(last - first for first, last in self.regions(start, end, PRESENT | ZERO_PAGE, ZERO_PAGE))

    def high_bytes(self, start: int, end: int) -> bytes:
        """Of each page's word: present 0x80, of a file 0x20, in no other process 0x01."""
        found, at, stop = bytearray(), start // PAGE * WORD, end // PAGE * WORD
        while at < stop:
            words = os.pread(self.file, min(CHUNK, stop - at), at)
            if not words:
                break
            found += words[WORD - 1 :: WORD]
            at += len(words)
        return bytes(found)

    def read(self, start: int, end: int) -> int:
        return self.high_bytes(start, end).translate(PRESENT_IN_HIGH_BYTE).count(1) * PAGE

    def resident(self, start: int, end: int) -> int:
        if self.scans:
            try:
                return self.scan(start, end)
            except OSError:
                self.scans = False
        return self.read(start, end)
