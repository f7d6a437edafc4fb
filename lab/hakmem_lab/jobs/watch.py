# SPDX-License-Identifier: MIT OR Apache-2.0
"""CPU time and resident memory of the program that a tool works on, sampled from outside, whatever started it."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import psutil

HIGH_WATER = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE)
INTERVAL_S = 0.01


def high_water(pid: int) -> int:
    """The most that was resident at once until now, as the kernel has it [bytes]; 0: the process has ended."""
    try:
        found = HIGH_WATER.search(Path(f"/proc/{pid}/status").read_text("utf-8", "replace"))
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0


class Watch:
    """Of those processes below `root` whose command line matches. CPU time is as it was when a process was last seen."""

    def __init__(self, root: int, pattern: str) -> None:
        self.root, self.pattern = psutil.Process(root), re.compile(pattern)
        self.cpu_s: dict[int, float] = {}
        self.peak_bytes = self.tree_bytes = 0  # the largest process of the program; all processes, tools too
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.go, daemon=True)

    def __enter__(self) -> Watch:
        self.thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self.ended.set()
        self.thread.join()

    def go(self) -> None:
        while not self.ended.wait(INTERVAL_S):
            self.look()

    def look(self) -> None:
        try:
            below = [self.root, *self.root.children(recursive=True)]
        except psutil.Error:
            return
        self.tree_bytes = max(self.tree_bytes, sum(self.look_at(each) for each in below))

    def look_at(self, process: psutil.Process) -> int:
        """Its resident bytes."""
        try:
            with process.oneshot():
                line, used, resident = " ".join(process.cmdline()), process.cpu_times(), process.memory_info().rss
        except psutil.Error:
            return 0
        if self.pattern.search(line):
            self.cpu_s[process.pid] = used.user + used.system
            self.peak_bytes = max(self.peak_bytes, resident, high_water(process.pid))
        return int(resident)
