# SPDX-License-Identifier: MIT OR Apache-2.0
"""A tool of this project that reads a trace: started, fed with the unpacked trace, ended with all others of its crew."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO, BinaryIO, Optional, TypeVar

from hakmem.base.errors import Refusal
from hakmem.reading.unpack import Advance, Unpacker

Variables = Optional[dict[str, str]]  # None: the caller's
T = TypeVar("T")


class Crew:
    """The processes at work, so that all of them can be ended at once."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.children: set[subprocess.Popen[bytes]] = set()
        self.stopped = False

    @contextmanager
    def child(
        self, argv: list[str | Path], variables: Variables = None, stdin: int | BinaryIO = subprocess.PIPE
    ) -> Iterator[subprocess.Popen[bytes]]:
        with self.start(argv, variables, stdin) as child:
            try:
                yield child
            except BaseException:
                child.kill()
                raise
            finally:
                self.children.discard(child)

    def start(
        self, argv: list[str | Path], variables: Variables, stdin: int | BinaryIO
    ) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        with self.lock:
            if self.stopped:
                raise CancelledError
            child = subprocess.Popen(argv, stdin=stdin, stdout=pipe, stderr=pipe, env=variables)
            self.children.add(child)
        return child

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            for child in list(self.children):
                child.kill()


def feed(child: subprocess.Popen[bytes], pieces: Iterator[bytes]) -> None:
    """Stops where the child has: it says why."""
    assert child.stdin is not None
    with suppress(BrokenPipeError), child.stdin:
        for piece in pieces:
            child.stdin.write(piece)


def whole(lines: IO[bytes]) -> str:
    return lines.read().decode()


def lines_of(
    crew: Crew, command: list[str | Path], path: Path, advance: Advance, variables: Variables = None,
    take: Callable[[IO[bytes]], T] = whole,  # type: ignore[assignment]
) -> tuple[T, bool]:
    """What a tool that reads an unpacked trace says of this one, as it is taken, and whether its end was torn."""
    unpacker, name = Unpacker(path, advance), Path(command[0]).name
    with crew.child(command, variables) as child:
        feed(child, unpacker.pieces())
        assert child.stdout is not None and child.stderr is not None
        taken, wrong = take(child.stdout), child.stderr.read()
    if child.returncode:
        said = wrong.decode(errors="replace").strip().removeprefix(f"{name}: ")
        raise Refusal(f"{path}: {said or f'{name} ended with status {child.returncode}'}")
    return taken, unpacker.torn
