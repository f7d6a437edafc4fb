# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run of a program that is watched: to its own end, or under a load, at rest, and ended then.

    no load, no rest    the program ends by itself
    rest                it is ended so many seconds after its start
    load                once it listens on a socket, or 3 s after its start, the load runs beside it; it rests, is ended

SIGTERM ends it, and SIGKILL if it lives for 5 more seconds. The load is a line for a shell; its processes are no
descendants of the launcher, so they are in no figure of the program.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, monotonic_ns
from typing import NamedTuple

from hakmem.process.executable import SHELL
from hakmem.process.launch import OpenStreams, ended_by_an_error, first_to_end, signal_session, start
from hakmem.process.listening import descendants, listens

UP_SECONDS, LOOK_SECONDS = 3.0, 0.02
GRACE_SECONDS = 5.0
TEXT_MOST = 100  # characters of a line that a program or a load wrote


@dataclass(frozen=True)
class Manner:
    load: str | None = None  # a line for a shell
    rest: float | None = None  # seconds

    @property
    def ends_it(self) -> bool:
        return self.load is not None or self.rest is not None


class Moments(NamedTuple):
    """CLOCK_MONOTONIC [ns]."""

    load_ns: int | None  # the load began
    rest_ns: int | None  # the load ended
    end_ns: int  # what follows is the program's own end
    problem: str = ""  # why the run is none
    by_itself: bool = False  # it ended, and was not asked to
    killed: bool = False  # SIGTERM did not end it


def last_line(file: Path) -> str:
    lines = [line.strip() for line in file.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:TEXT_MOST] if lines else ""


def go_through(process: subprocess.Popen[bytes], manner: Manner, folder: Path) -> Moments:
    """Returns when the launcher has ended, and all that the program left."""
    moments = watched(process, manner, folder)
    if manner.ends_it:
        moments = moments._replace(killed=end(process))
        signal_session(process, signal.SIGKILL)
    process.wait()
    return moments


def watched(process: subprocess.Popen[bytes], manner: Manner, folder: Path) -> Moments:
    load_ns = rest_ns = None
    if manner.load is not None:
        if not is_up(process):
            return Moments(None, None, monotonic_ns(), "ended before the load began")
        load_ns = monotonic_ns()
        problem = problem_of_load(process, manner.load, folder / "load")
        rest_ns = monotonic_ns()
        if problem:
            return Moments(load_ns, rest_ns, rest_ns, problem)
    elif manner.rest is not None:
        wait_for_proof(process, folder)
    ended = first_to_end([process], manner.rest if manner.ends_it else None) is not None
    problem = "ended after the load by itself" if ended and manner.load is not None else ""
    return Moments(load_ns, rest_ns, monotonic_ns(), problem, ended)


def is_up(process: subprocess.Popen[bytes]) -> bool:
    """False: it ended."""
    latest = monotonic() + UP_SECONDS
    while not listens(process.pid) and monotonic() < latest:
        if first_to_end([process], LOOK_SECONDS):
            return False
    return True


def wait_for_proof(process: subprocess.Popen[bytes], folder: Path) -> None:
    """The program has started then, with what was preloaded."""
    latest = monotonic() + UP_SECONDS
    while not any(folder.glob("proof.*")) and monotonic() < latest and not first_to_end([process], LOOK_SECONDS):
        pass


def problem_of_load(process: subprocess.Popen[bytes], line: str, log: Path) -> str:
    """Empty: it exited with 0, and the program lives."""
    with open(os.devnull, "rb") as nothing, log.open("wb") as output:
        load = start([SHELL, "-c", line], os.environ, OpenStreams(nothing, output, output))
        with ended_by_an_error(load):
            ended = first_to_end([process, load])
            if ended is load:
                load.wait()
            signal_session(load, signal.SIGKILL)  # what it left, too
            status = load.wait()
    if ended is process:
        return "ended under the load"
    said = last_line(log)
    return f"--load exited with {status}{said and ': '}{said}" if status else ""


def end(process: subprocess.Popen[bytes]) -> bool:
    """Whether it had to be killed. The launcher passes SIGTERM on, and reports how the program ended."""
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
    killed = first_to_end([process], GRACE_SECONDS) is None
    while first_to_end([process], LOOK_SECONDS) is None:
        for child in descendants(process.pid):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
    return killed
