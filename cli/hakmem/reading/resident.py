# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which pages of a process are resident, as the kernel has them: by mapping (smaps), and page by page (pagemap).

    /proc/PID/smaps   -> Mapping: addresses, Rss, whether it is anonymous memory
    /proc/PID/pagemap -> bytes of a stretch that are resident: by PAGEMAP_SCAN (Linux 6.7), else a word a page

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
from hakmem.reading.living import gone

PAGE = os.sysconf("SC_PAGE_SIZE")
WORD = 8
CHUNK = 1 << 20
PRESENT_IN_HIGH_BYTE = bytes(byte >> 7 for byte in range(256))

HEAD = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ (\d+) *(.*)")

# include/uapi/linux/fs.h: struct pm_scan_arg and struct page_region.
SCAN = struct.Struct("=12Q")
PAGEMAP_SCAN = 3 << 30 | SCAN.size << 16 | ord("f") << 8 | 16
PRESENT, ZERO_PAGE = 1 << 3, 1 << 5
REGIONS = 1024


class Mapping(NamedTuple):
    start: int
    end: int
    rss: int
    anonymous: bool
    huge: int = 0  # of rss, in pages of 2 MiB


# ---- smaps ----

def mappings_in(smaps: str) -> Iterator[Mapping]:
    """Rss comes before AnonHugePages, and some kernels have no such row."""
    start = end = rss = huge = 0
    anonymous = False
    for line in smaps.splitlines():
        if line.startswith("Rss:"):
            rss = int(line.split()[1]) << 10
        elif line.startswith("AnonHugePages:"):
            huge = int(line.split()[1]) << 10
        elif found := HEAD.fullmatch(line):
            if end:
                yield Mapping(start, end, rss, anonymous, huge)
            rss = huge = 0
            start, end = int(found[1], 16), int(found[2], 16)
            nameless = not found[5] or found[5].startswith("[anon:")
            anonymous = nameless and found[3].endswith("p") and found[4] == "0"
    if end:
        yield Mapping(start, end, rss, anonymous, huge)


def mappings_of(pid: int) -> list[Mapping]:
    try:
        found = list(mappings_in(Path(f"/proc/{pid}/smaps").read_text("utf-8", "replace")))
    except PermissionError:
        raise Refusal(f"process {pid} is another user's, or protected: its memory cannot be looked at") from None
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
        self.regions = ctypes.create_string_buffer(REGIONS * 3 * WORD)

    def __enter__(self) -> Pagemap:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.file)

    def scan_some(self, start: int, end: int) -> tuple[int, int]:
        """Resident bytes, and up to where. (Where the kernel says that it stopped, is not to be relied on: Linux 6.18
        has an earlier place there when it filled its own buffer on the way, and comes to the end then.)"""
        argument = bytearray(
            SCAN.pack(SCAN.size, 0, start, end, 0, ctypes.addressof(self.regions), REGIONS, 0,
                      ZERO_PAGE, PRESENT | ZERO_PAGE, 0, PRESENT)
        )
        count = fcntl.ioctl(self.file, PAGEMAP_SCAN, argument)
        words = struct.unpack_from(f"={3 * count}Q", self.regions)
        return sum(words[1::3]) - sum(words[::3]), words[-2] if count == REGIONS else end

    def scan(self, start: int, end: int) -> int:
        found = 0
        while start < end:
            some, start = self.scan_some(start, end)
            found += some
        return found

    def read(self, start: int, end: int) -> int:
        found, at, stop = 0, start // PAGE * WORD, end // PAGE * WORD
        while at < stop:
            words = os.pread(self.file, min(CHUNK, stop - at), at)
            if not words:
                break
            found += words[WORD - 1 :: WORD].translate(PRESENT_IN_HIGH_BYTE).count(1) * PAGE
            at += len(words)
        return found

    def resident(self, start: int, end: int) -> int:
        if self.scans:
            try:
                return self.scan(start, end)
            except OSError:
                self.scans = False
        return self.read(start, end)
