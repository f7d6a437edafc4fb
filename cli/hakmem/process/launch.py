# SPDX-License-Identifier: MIT OR Apache-2.0
"""Starts one process by tools/launcher, waits for it or stops it, and reads its figures.

The launcher stands between because the kernel counts the pages a process holds at the moment of exec into the new
program's peak RSS: a child of this Python process would seem to need tens of megabytes.
"""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from hakmem.base.errors import CANNOT_EXECUTE, CANNOT_WRITE, NO_SUCH_COMMAND, Refusal, TimedOut
from hakmem.base.stop import signal_name, stops
from hakmem.process.executable import SHELL, found_file

GRACE_SECONDS = 2
ROOM_LEAST = 1 << 16  # bytes


@dataclass(frozen=True)
class Figures:
    """One line of the launcher: what a command used, with every descendant it waited for."""

    pid: int
    wall_ns: int
    user_us: int
    sys_us: int
    maxrss_kib: int
    minflt: int
    majflt: int
    nvcsw: int  # voluntary context switches
    nivcsw: int  # involuntary ones
    exit: int
    signal: int
    exec_errno: int
    left: int

    @property
    def status(self) -> int:
        """As a shell would say it."""
        return 128 + self.signal if self.signal else self.exit

    @property
    def end(self) -> str:
        return f"was killed by {signal_name(self.signal)}" if self.signal else f"exited with {self.exit}"


def parse_figures(line: str) -> Figures:
    try:
        pairs = dict(pair.split("=", 1) for pair in line.split())
        return Figures(**{name: int(value) for name, value in pairs.items()})
    except (TypeError, ValueError):
        raise Refusal(f"the launcher did not report what the program used (it wrote {line!r})") from None


# ---- streams ----

class OpenStreams(NamedTuple):
    """None: this command's own."""

    stdin: IO[bytes] | None
    output: IO[bytes] | None
    errors: IO[bytes] | None


@dataclass(frozen=True)
class Streams:
    """What a process reads and where it writes; None for the outputs: they are this command's own."""

    stdin: Path | None = None
    output: Path | None = None
    errors: Path | None = None

    @contextmanager
    def opened(self) -> Iterator[OpenStreams]:
        """Every run starts at the beginning of the input and of the output files."""
        with (
            open(self.stdin or os.devnull, "rb") as stdin,
            open(self.output or os.devnull, "wb") as output,
            open(self.errors or os.devnull, "wb") as errors,
        ):
            yield OpenStreams(stdin, output if self.output else None, errors if self.errors else None)


def input_for_every_run(asked: str | None, scratch: Path) -> Path | None:
    """--stdin FILE, or - for all of this command's standard input; without it, standard input if it is a file."""
    if asked == "-":
        return spooled_input(scratch)
    if asked is None:
        return Path("/dev/stdin") if standard_input_is_a_file() else None
    if not os.path.isfile(asked) or not os.access(asked, os.R_OK):
        raise Refusal(f"--stdin {asked}: not a file that can be read")
    return Path(asked)


def spooled_input(scratch: Path) -> Path:
    path = scratch / "stdin"
    with path.open("wb") as copy, open(0, "rb", buffering=0, closefd=False) as source:
        shutil.copyfileobj(source, copy)
    return path


def standard_input_is_a_file() -> bool:
    try:
        return stat.S_ISREG(os.fstat(0).st_mode)
    except OSError:
        return False


# ---- one process ----

class Launcher:
    """Runs commands by tools/launcher, each in a session of its own so that all of it can be stopped."""

    def __init__(self, tool: Path, scratch: Path) -> None:
        self.tool = tool
        self.report = scratch / "report"

    def run(
        self, argv: list[str], variables: Mapping[str, str], streams: Streams, follow: Path | None = None,
        timeout: float | None = None,
    ) -> Figures:
        """With `follow`, every program executed on the way is listed in that file.

        After `timeout` seconds everything the command started is stopped, and TimedOut is raised.
        """
        with self.running(argv, variables, streams, ["-f", str(follow)] if follow else []) as process:
            if timeout is not None:
                wait_at_most(process, timeout)
            process.wait()
        return self.figures(argv[0])

    @contextmanager
    def running(
        self, argv: list[str], variables: Mapping[str, str], streams: Streams, options: list[str]
    ) -> Iterator[subprocess.Popen[bytes]]:
        """The launcher with these options of its own; the body waits for its end."""
        self.report.unlink(missing_ok=True)
        command = [str(self.tool), *options, str(self.report), *argv]
        with streams.opened() as files:
            process = start(command, variables, files)
            with ended_by_an_error(process):
                yield process

    def figures(self, command: str) -> Figures:
        """Of the run that ended last."""
        line = self.report_line()
        if not line:
            refuse_if_full(self.report.parent)
        return checked(command, parse_figures(line))

    def report_line(self) -> str:
        try:
            return self.report.read_text(encoding="ascii")
        except OSError:
            return ""


def refuse_if_full(folder: Path) -> None:
    room = os.statvfs(folder)
    if room.f_bavail * room.f_frsize < ROOM_LEAST or (room.f_files and not room.f_favail):
        raise Refusal(f"no room in {folder.parent} for temporary files: TMPDIR may name another folder", CANNOT_WRITE)


def checked(command: str, figures: Figures) -> Figures:
    if figures.exec_errno == 2:
        raise Refusal(f"{command}: no such command", NO_SUCH_COMMAND)
    if figures.exec_errno:
        raise Refusal(f"{command}: {os.strerror(figures.exec_errno).lower()}", CANNOT_EXECUTE)
    return figures


def start(
    command: list[str], variables: Mapping[str, str], files: OpenStreams, folder: Path | None = None
) -> subprocess.Popen[bytes]:
    """Holds back what would stop this command; ended_by_an_error lets it in once there is a process to stop with it.

    In `folder`, or where this command is."""
    stops.hold()
    try:
        try:
            return started(command, variables, files, folder)
        except OSError as failure:
            if failure.errno != errno.ENOEXEC:
                raise
            file = os.path.abspath(found_file(command[0]))
            return started([SHELL, file, *command[1:]], variables, files, folder)
    except BaseException:
        stops.let_in()
        raise


def started(
    command: list[str], variables: Mapping[str, str], files: OpenStreams, folder: Path | None
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, env=dict(variables), start_new_session=True, cwd=folder,
        stdin=files.stdin, stdout=files.output, stderr=files.errors,
    )


@contextmanager
def ended_by_an_error(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Of the body: the process ends then, with all of its session."""
    try:
        stops.let_in()
        yield
    except BaseException:
        stop_session(process)
        raise


def wait_or_stop(process: subprocess.Popen[bytes], timeout: float | None = None) -> None:
    with ended_by_an_error(process):
        if timeout is not None:
            wait_at_most(process, timeout)
        process.wait()


def wait_at_most(process: subprocess.Popen[bytes], seconds: float) -> None:
    if first_to_end([process], seconds) is None:
        raise TimedOut(seconds)


def first_to_end(
    processes: Iterable[subprocess.Popen[bytes]], seconds: float | None = None
) -> subprocess.Popen[bytes] | None:
    """None: none of them ended in that time. Sleeps meanwhile: Popen.wait with a timeout would look every 50 ms, beside
    what is timed."""
    handles = {os.pidfd_open(process.pid): process for process in processes}
    try:
        ended, _, _ = select.select(handles, [], [], seconds)
    finally:
        for handle in handles:
            os.close(handle)
    return handles[ended[0]] if ended else None


def stop_session(process: subprocess.Popen[bytes]) -> None:
    """Asks all processes of the session to stop, then makes them."""
    stops.ended_program = True
    signal_session(process, signal.SIGINT)
    signal_session(process, signal.SIGTERM)
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    signal_session(process, signal.SIGKILL)
    process.wait()


def signal_session(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass
