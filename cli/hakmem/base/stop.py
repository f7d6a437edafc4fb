# SPDX-License-Identifier: MIT OR Apache-2.0
"""What Ctrl-C, SIGTERM and SIGHUP do to this command; a reader of its output that is gone raises Stopped, too (streams).

    at first                 nothing is to be ended or removed: the signal ends this process, as it does any other
    within Stops.taken()     it raises Stopped, so that what was begun is ended
    while held               it waits: until there is a process to stop, or until a folder is removed
    after the first          it is ignored: what follows is the stopping itself

Blocking the signals instead of holding them back would be inherited by the programs.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from hakmem.base.errors import Stopped

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def end_by_signals() -> None:
    """The interpreter's own answer to Ctrl-C is a traceback. One that came since bin/hakmem began arrives here; a
    signal that the caller ignores (a job in the background) stays ignored."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def die_by(number: int) -> NoReturn:
    """A shell says 128 + number then, and a script that runs this command stops too."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # where the signal is blocked


class Stops:
    """Turns the signals into Stopped, at once or when they are no longer held back."""

    def __init__(self) -> None:
        self.held = False
        self.waiting: int | None = None
        self.stopped: int | None = None
        self.ended_program = False  # with all that it started

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Within another one, too: what is held there stays so behind this one, and what waits there waits on."""
        before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        wanted = [number for number in STOP_SIGNALS if before[number] != signal.SIG_IGN]
        held_before = self.held
        self.held, self.waiting, self.stopped = False, self.waiting if held_before else None, None
        for number in wanted:
            signal.signal(number, self.arrive)
        try:
            yield
        finally:
            self.held = held_before
            for number in wanted:
                signal.signal(number, before[number])
        if not self.held:
            self.let_in()

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """A signal that comes meanwhile waits to the end: what is begun here is short, and to be finished or removed."""
        with self.taken():
            self.held = True
            yield

    def arrive(self, number: int, _frame: FrameType | None) -> None:
        if self.held:
            self.waiting = number
        else:
            self.stop(number)

    def hold(self) -> None:
        """Raises a Stopped that got lost: raised inside a finalizer, the interpreter drops it."""
        if self.stopped is not None:
            raise Stopped(self.stopped)
        self.held = True

    def let_in(self) -> None:
        self.held = False
        if self.waiting is not None:
            self.stop(self.waiting)

    def stop(self, number: int) -> NoReturn:
        """Once: what follows is the stopping itself."""
        for each in STOP_SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        self.waiting, self.stopped = None, number
        raise Stopped(number)


stops = Stops()
