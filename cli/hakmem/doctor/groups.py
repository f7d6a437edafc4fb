# SPDX-License-Identifier: MIT OR Apache-2.0
"""Control groups: where this process is, and the tightest limit on its memory from there up. Versions 1 and 2.

    /proc/self/cgroup       4:memory:/docker/ab/c        what is above the mount's root is cut off
    /proc/self/mountinfo    ... /docker/ab /sys/fs/cgroup/memory ... - cgroup ... rw,memory
    folders                 /sys/fs/cgroup/memory/c, and its parents up to the mount
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

NO_LIMIT = 1 << 62  # version 1 says so with the largest number of pages
FILES = {1: (("memory.limit_in_bytes",), "memory.usage_in_bytes"), 2: (("memory.max", "memory.high"), "memory.current")}


class Limit(NamedTuple):
    file: Path
    bytes: int
    used: int


def own_paths(cgroup: str) -> dict[str, str]:
    """By controller; "" is version 2."""
    rows = [line.split(":", 2) for line in cgroup.splitlines() if line.count(":") >= 2]
    return {name: path for _, names, path in rows for name in names.split(",")}


def mounts(mountinfo: str) -> Iterator[tuple[int, str, Path]]:
    """Version, root, mount point, of those that may limit memory."""
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        words, kind = before.split(), after.split()
        if len(words) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2" or (kind[0] == "cgroup" and "memory" in kind[2].split(",")):
            yield 2 if kind[0] == "cgroup2" else 1, words[3], Path(words[4])


def number_in(file: Path) -> int | None:
    try:
        text = file.read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    return int(text) if text.isdecimal() else None


def folders(path: str, root: str, mount: Path) -> Iterator[Path]:
    """From the process's own group up to the mount."""
    inside = path.removeprefix(root.rstrip("/")).strip("/") if root != "/" else path.strip("/")
    folder = mount / inside if ".." not in inside else mount
    while True:
        yield folder
        if folder == mount:
            return
        folder = folder.parent


def limits(cgroup: str, mountinfo: str) -> Iterator[Limit]:
    paths = own_paths(cgroup)
    for version, root, mount in mounts(mountinfo):
        path = paths.get("memory" if version == 1 else "")
        if path is None:
            continue
        names, usage = FILES[version]
        for folder in folders(path, root, mount):
            for name in names:
                found = number_in(folder / name)
                if found is not None and found < NO_LIMIT:
                    yield Limit(folder / name, found, number_in(folder / usage) or 0)
