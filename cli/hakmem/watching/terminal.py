# SPDX-License-Identifier: MIT OR Apache-2.0
"""The terminal of `hakmem top`: keys one by one, the mouse, and all as before at the end, in a stop and after an error.

    bytes -> Input -> Event     key names; clicks and the wheel with their place, as SGR mouse mode (1006) has them
    SIGINT, SIGTERM, SIGHUP, SIGQUIT -> Ended
    SIGTSTP -> mouse off, the other screen -> stopped -> SIGCONT -> on again
"""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
MOUSE_ON, MOUSE_OFF = b"\x1b[?1000h\x1b[?1006h", b"\x1b[?1006l\x1b[?1000l"
AWAY, BACK = b"\x1b[?1049l\x1b[?25h", b"\x1b[?1049h\x1b[?25l"  # from the screen of full-screen programs, and to it
ESCAPE_SECONDS = 0.05  # in which the rest of a sequence comes
SEQUENCE_MOST = 32  # bytes
MOUSE = re.compile(rb"\x1b\[<(\d{1,4});(\d{1,5});(\d{1,5})([Mm])")
CONSOLE = re.compile(rb"\x1b\[\[.", re.DOTALL)  # F1 to F5 of the kernel's console: read over
OLD_MOUSE = re.compile(rb"\x1b\[M.{3}", re.DOTALL)  # of terminals that know mode 1000 alone: read over
SEQUENCE = re.compile(rb"\x1b[\[O]([0-9;?]*)([@-Z^a-z~$])")
KEYS = {b"A": "up", b"B": "down", b"H": "home", b"F": "end", b"Z": "before", b"5~": "page up", b"6~": "page down",
        b"1~": "home", b"4~": "end", b"7~": "home", b"8~": "end"}
BUTTONS = {0: "click", 64: "wheel up", 65: "wheel down"}
MODIFIERS = 4 | 8 | 16


class Event(NamedTuple):
    name: str  # of a key, or "click", "wheel up", "wheel down"; "": nothing that is known
    column: int = 0  # from 0
    line: int = 0


class Ended(Exception):
    """Of the process, or of the watching."""


class Input:
    """What comes from the terminal, in pieces."""

    def __init__(self) -> None:
        self.rest = b""

    def events(self, data: bytes) -> Iterator[Event]:
        self.rest += data
        while self.rest:
            for pattern, made in ((MOUSE, mouse_event), (OLD_MOUSE, no_event), (CONSOLE, no_event), (SEQUENCE, key_event)):
                if (found := pattern.match(self.rest)) is not None:
                    self.rest = self.rest[found.end():]
                    yield made(found)
                    break
            else:
                if self.is_begun():
                    return
                first, self.rest = self.rest[:1], self.rest[1:]
                yield Event({b"\x1b": "escape", b"\t": "tab", b"\x04": "q"}.get(first, first.decode("ascii", "replace")))

    def is_begun(self) -> bool:
        """A sequence whose end is still to come."""
        return self.rest[:2] in (b"\x1b[", b"\x1bO") and len(self.rest) < SEQUENCE_MOST


def mouse_event(found: re.Match[bytes]) -> Event:
    number, column, line = (int(word) for word in found.groups()[:3])
    name = BUTTONS.get(number & ~MODIFIERS, "") if found[4] == b"M" else ""
    return Event(name, max(0, column - 1), max(0, line - 1))


def no_event(_found: re.Match[bytes]) -> Event:
    return Event("")


def key_event(found: re.Match[bytes]) -> Event:
    word = found[2] if found[2] != b"~" else found[1].partition(b";")[0] + b"~"
    return Event(KEYS.get(word, ""))


def events_until(source: Input, deadline: float) -> list[Event]:
    """None of them: the time is up. Ended: the terminal has gone."""
    file = sys.stdin.fileno()
    if not select.select([file], [], [], max(0.0, deadline - time.monotonic()))[0]:
        return []
    data = os.read(file, 1024)
    if not data:
        raise Ended
    if data.endswith(b"\x1b") and select.select([file], [], [], ESCAPE_SECONDS)[0]:
        data += os.read(file, 1024)
    return list(source.events(data)) or [Event("")]


# ---- modes ----

def end_at(_number: int, _frame: FrameType | None) -> None:
    raise Ended


def tell(text: bytes) -> None:
    """A terminal that has gone is told nothing."""
    try:
        os.write(sys.stdout.fileno(), text)
    except OSError:
        pass


def stop_here(before: list[object]) -> None:
    """As a shell expects it of Ctrl-Z; returns when it goes on."""
    file = sys.stdin.fileno()
    tell(MOUSE_OFF + AWAY)
    termios.tcsetattr(file, termios.TCSADRAIN, before)  # type: ignore[arg-type]
    handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.signal(signal.SIGTSTP, handler)
    tty.setcbreak(file)
    tell(BACK + MOUSE_ON)


@contextmanager
def own_terminal() -> Iterator[None]:
    """Keys and clicks come one by one, and signals raise Ended; all as before at the end."""
    before = termios.tcgetattr(sys.stdin.fileno())
    handlers = {number: signal.signal(number, end_at) for number in STOPS}
    if (stopped := signal.getsignal(signal.SIGTSTP)) != signal.SIG_IGN:
        handlers[signal.SIGTSTP] = stopped
        signal.signal(signal.SIGTSTP, lambda _number, _frame: stop_here(before))
    tty.setcbreak(sys.stdin.fileno())
    tell(MOUSE_ON)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        tell(MOUSE_OFF)
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)
