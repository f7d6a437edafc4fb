# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the command ends when it cannot do what was asked: one line and an exit status."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CANNOT_WRITE = 1
BAD_USAGE = 2
NOT_PROVEN = 3
CANNOT_EXECUTE = 126
NO_SUCH_COMMAND = 127


class Refusal(Exception):
    """What is wrong, in one line, for the user; `status` is the exit status."""

    def __init__(self, text: str, status: int = BAD_USAGE) -> None:
        super().__init__(text)
        self.status = status


class TimedOut(Refusal):
    """A program was stopped because it took too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"did not end within {seconds:g} s and was stopped", 1)


class Stopped(BaseException):
    """A signal asked the command to stop (Ctrl-C, SIGTERM, SIGHUP)."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number


def refuse_unless_regular(path: Path) -> None:
    """A FIFO would wait for a writer, a device may have no end. What is not there is told by whoever opens it."""
    if path.exists() and not path.is_file():
        raise Refusal(f"{path}: not a regular file")


@contextmanager
def readable(name: str | Path) -> Iterator[None]:
    """An error of a read names the file: the system names it only in an error of the open."""
    try:
        yield
    except OSError as failure:
        raise Refusal(f"{name}: {(failure.strerror or str(failure)).lower()}") from None


@contextmanager
def written(path: Path) -> Iterator[None]:
    """An error of a write or of the close names the file."""
    try:
        yield
    except OSError as failure:
        raise Refusal(f"{path}: {(failure.strerror or str(failure)).lower()}", CANNOT_WRITE) from None
