# SPDX-License-Identifier: MIT OR Apache-2.0
"""The standard streams of this command.

    closed     becomes /dev/null: else a file that is opened later gets its number, and what the program prints
    stdout     what cannot be written is an error that names it, also where it was closed; a reader that is gone stops this
               command, as SIGPIPE would
    stderr     what cannot be written is dropped: there is nobody to tell, and the status stays the truth
    letters    one that the locale lacks is a plain sign, or an escape: LC_ALL=C has ASCII only
"""

from __future__ import annotations

import codecs
import errno
import io
import locale
import os
import select
import signal
import sys

from hakmem.base.errors import Stopped

BAR_WIDTH = 30
SIGNS = {
    "≈": "~", "×": "x", "–": "-", "→": "->", "…": "...", "≤": "<=", "≥": ">=", "µ": "u", "·": ".", "†": "+", "▲": "^",
    "▼": "v", "▏": "|", "▒": ":", **dict.fromkeys("▁▂▃▄▅▆▇█", "#"),
}
BOX_FIRST, BOX_LAST = "─", "╿"
BOX_LINES = {**dict.fromkeys("─━═╌╍┄┅┈┉╴╶╸╺", "-"), **dict.fromkeys("│┃║╎╏┆┇┊┋╵╷╹╻", "|")}
BYTE_FIRST, BYTE_LAST = "\udc80", "\udcff"  # a byte of a name that is no letter
ASCII = ("ANSI_X3.4-1968", "US-ASCII", "646")  # as systems call it
STDIN, STDOUT, STDERR = 0, 1, 2
closed: list[int] = []  # those that the caller had closed


class Output(io.FileIO):
    """Fails once: what is left in buffers is no second failure when the interpreter ends."""

    failed = False

    def write(self, data: bytes | memoryview) -> int:
        try:
            if STDOUT in closed and not self.failed:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            return len(data) if self.failed else super().write(data)
        except BrokenPipeError:
            self.failed = True
            raise Stopped(signal.SIGPIPE) from None
        except OSError as failure:
            self.failed = True
            raise OSError(failure.errno, failure.strerror, "standard output") from None


class Errors(io.FileIO):
    def write(self, data: bytes | memoryview) -> int:
        try:
            return super().write(data) or len(data)  # None: it would block
        except OSError:
            return len(data)


def settle() -> None:
    for number in (STDIN, STDOUT, STDERR):
        open_closed(number)
    sys.stdout = text_on(Output(STDOUT, "w", closefd=False))
    sys.stderr = text_on(Errors(STDERR, "w", closefd=False), line_buffering=True)


def open_closed(number: int) -> None:
    """The lower ones are open, so that it is the number which the system gives out next."""
    try:
        os.fstat(number)
    except OSError:
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        closed.append(number)


def text_on(file: io.FileIO, line_buffering: bool = False) -> io.TextIOWrapper:
    """As the locale says, and never refused for a letter that it lacks. Of the locale C the interpreter makes UTF-8."""
    encoding = "ascii" if locale.nl_langinfo(locale.CODESET) in ASCII else None
    codecs.register_error(plain.__name__, plain)
    line_buffering = line_buffering or file.isatty()
    return io.TextIOWrapper(io.BufferedWriter(file), encoding, plain.__name__, line_buffering=line_buffering)


def plain(failure: UnicodeError) -> tuple[str, int]:
    """What is written instead of letters that the locale lacks."""
    assert isinstance(failure, UnicodeEncodeError)
    return "".join(map(plain_sign, failure.object[failure.start : failure.end])), failure.end


def plain_sign(letter: str) -> str:
    if BOX_FIRST <= letter <= BOX_LAST:
        return BOX_LINES.get(letter, "+")
    return SIGNS.get(letter) or escaped(letter)


def escaped(letter: str) -> str:
    """In the style of Python's own."""
    code = ord(letter) - 0xDC00 if BYTE_FIRST <= letter <= BYTE_LAST else ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def reader_is_gone() -> bool:
    """Whether standard output is a pipe or socket that nobody reads any longer."""
    poll = select.poll()
    poll.register(STDOUT, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))


def bar(part: float) -> str:
    """How much is done, from 0 to 1."""
    full = int(part * BAR_WIDTH)
    return f"[{'#' * full}{'.' * (BAR_WIDTH - full)}]"


def show_progress(text: str) -> None:
    """One line that overwrites itself, on a terminal only; no thread that would disturb what is timed."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
