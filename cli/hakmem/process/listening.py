# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether a process, or one that it started, listens on a socket: by /proc, so that nothing connects to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LISTENS = "0A"  # a TCP socket's state
ACCEPTS = 1 << 16  # a flag of a Unix socket


def descendants(pid: int) -> list[int]:
    found = [pid]
    for parent in found:  # which grows
        for file in Path(f"/proc/{parent}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, file.read_text().split())
    return found[1:]


def rows(file: Path) -> Iterator[list[str]]:
    """Below the heading."""
    with suppress(OSError):
        yield from (line.split() for line in file.read_text(errors="replace").splitlines()[1:])


def listening_sockets(net: Path) -> set[str]:
    """Their inodes."""
    tcp = {row[9] for name in ("tcp", "tcp6") for row in rows(net / name) if row[3] == LISTENS}
    return tcp | {row[6] for row in rows(net / "unix") if int(row[3], 16) & ACCEPTS}


def sockets_of(pid: int) -> set[str]:
    """Their inodes; none of a process that is gone or not to be looked into."""
    found = set()
    with suppress(OSError):
        for file in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                found.add(os.readlink(file).removeprefix("socket:[").removesuffix("]"))
    return found


def listens(pid: int) -> bool:
    """Of its descendants any."""
    return any(sockets_of(child) & listening_sockets(Path(f"/proc/{child}/net")) for child in descendants(pid))
