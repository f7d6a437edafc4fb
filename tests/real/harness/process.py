# SPDX-License-Identifier: MIT OR Apache-2.0
"""process: one program under tools/launcher, and the end of everything a case started.

what      Started starts a command by hak_launcher in a session of its own, tells the program's process id, and has the
          launcher's figures (CPU time, peak RSS: wait4's, from outside) once it ended. end_descendants ends what is
          left of a case, daemons too: this process is their subreaper, so that none escapes.
owner     Session (session.py) starts programs; run_loaded (runner.py) makes this process the subreaper.
failure   A program that outlives its limit is ended and TimeoutExpired raised.
not here  What is preloaded and compared (session.py).
"""

from __future__ import annotations

import ctypes
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil
from hakmem.process.launch import Figures, parse_figures

PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 5
CHILD_LIMIT_S = 10


@dataclass(frozen=True)
class Place:
    """How a program is started: where, with what environment, as whom (None: as the caller)."""

    folder: Path
    env: Mapping[str, str]
    user: int | None


class Started:
    """A program that runs, or ran, under the launcher."""

    def __init__(self, launcher: Path, report: Path, argv: tuple[str, ...], place: Place, stdin: int,
                 stdout: int | IO[bytes], stderr: int | IO[bytes]) -> None:
        self.argv = argv
        self.report = report
        groups: list[int] | None = None if place.user is None else []
        self.launcher = subprocess.Popen(
            [str(launcher), str(report), *argv], cwd=place.folder, env=dict(place.env), start_new_session=True,
            stdin=stdin, stdout=stdout, stderr=stderr, user=place.user, group=place.user, extra_groups=groups)

    @property
    def figures(self) -> Figures:
        """What the program used; only once it ended."""
        return parse_figures(self.report.read_text(encoding="ascii"))

    @property
    def pid(self) -> int:
        """The program's own process id, from the moment the launcher forked it."""
        if text := self.report.read_text(encoding="ascii") if self.report.exists() else "":
            return parse_figures(text).pid
        end = time.monotonic() + CHILD_LIMIT_S
        while time.monotonic() < end and self.poll() is None:
            if children := psutil.Process(self.launcher.pid).children():
                return children[0].pid
            time.sleep(0.01)
        return self.figures.pid

    def poll(self) -> int | None:
        """The exit status (a signal negated), or None while it runs."""
        return self.launcher.poll()

    def wait(self, limit_s: float) -> int:
        """Waits for the end; the exit status."""
        return self.launcher.wait(limit_s)

    def output(self, stdin: bytes, limit_s: float) -> tuple[bytes, bytes]:
        """Feeds the program and reads it to its end."""
        return self.launcher.communicate(stdin, timeout=limit_s)


def adopt_orphans() -> None:
    """Makes every descendant whose parent ends a child of this process, so that end_descendants finds it."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_descendants() -> None:
    """Asks every process below this one to end, and makes those that do not."""
    left = psutil.Process().children(recursive=True)
    for process in left:
        signalled(process, kill=False)
    _, stubborn = psutil.wait_procs(left, timeout=GRACE_S)
    for process in stubborn + psutil.Process().children(recursive=True):
        signalled(process, kill=True)
    psutil.wait_procs(stubborn, timeout=GRACE_S)


def signalled(process: psutil.Process, kill: bool) -> None:
    """SIGTERM or SIGKILL, to a process that may be gone."""
    try:
        if kill:
            process.kill()
        else:
            process.terminate()
    except psutil.NoSuchProcess:
        pass
