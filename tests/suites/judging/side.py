# SPDX-License-Identifier: MIT OR Apache-2.0
"""side: one of the two allocators that a suite runs on.

what      A Side runs commands with its library preloaded: on the glibc side libc.so.6 itself, so that both sides have the
          same environment, and a program that links another allocator has glibc's malloc. Every process on the HAKMEM
          side leaves a counters file.
failure   A command that outlives its limit is killed with its process group; its output so far is the answer, and TIMED_OUT
          its status.
not here  What the output means (judges/).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hakmem.process.counters import parse_counts

TIMED_OUT = -1000
USER = "nobody"


@dataclass(frozen=True)
class Ran:
    """A command that ended: its exit status (a signal negated) and both of its outputs as one text."""

    status: int
    text: str

    def ending(self) -> str:
        """`ok` unless a signal or the time limit ended the command."""
        return "timed out" if self.status == TIMED_OUT else f"signal {-self.status}" if self.status < 0 else "ok"


@dataclass(frozen=True)
class Side:
    """`name` is glibc or hakmem; `folder` takes evidence and the scratch files of both."""

    name: str
    library: str
    folder: Path

    @property
    def evidence(self) -> Path:
        return self.folder / "evidence"

    def environment(self) -> dict[str, str]:
        """Without the caller's own variables, PATH aside."""
        own = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "LD_PRELOAD": self.library,
               "HOME": str(self.folder), "TMPDIR": str(self.folder / "tmp")}
        return own | ({"HAKMEM_COUNTERS_FILE": str(self.evidence / "counters")} if self.name == "hakmem" else {})

    def run(self, *command: str, cwd: Path | None = None, limit_s: float = 600, user: str | None = None, **more: str) -> Ran:
        """The command at a low priority, in a process group of its own; `user` takes effect if the caller is root."""
        change = {"user": user, "group": "nogroup", "extra_groups": []} if user and os.geteuid() == 0 else {}
        started = subprocess.Popen(["nice", *command], cwd=cwd or self.folder / "tmp", env=self.environment() | more,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True, **change)  # type: ignore[call-overload]
        try:
            text, _ = started.communicate(timeout=limit_s)
            status = started.returncode
        except subprocess.TimeoutExpired:
            status = TIMED_OUT
        end_group(started.pid)
        if status == TIMED_OUT:
            text, _ = started.communicate()
        return Ran(status, text.decode(errors="replace"))


def end_group(leader: int) -> None:
    """What a suite leaves running ends with it."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


@contextmanager
def opened(name: str, library: str, folder: Path) -> Iterator[Side]:
    """A side in an empty folder that every user may write to, removed at the end."""
    side = Side(name, library, folder)
    shutil.rmtree(folder, ignore_errors=True)
    for path in (folder, side.evidence, folder / "tmp"):
        path.mkdir(parents=True)
        path.chmod(0o1777)
    try:
        yield side
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def processes_served(side: Side) -> int:
    """Processes that mapped memory through HAKMEM, by their counters files. ValueError: such a file is malformed."""
    return sum(parse_counts(file.read_bytes()).get("kernel_map", 0) > 0 for file in side.evidence.glob("counters.*"))
