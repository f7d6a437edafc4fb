# SPDX-License-Identifier: MIT OR Apache-2.0
"""The state of the machine's huge pages just before a run.

    ready     500 MiB of huge pages were freed a moment ago, so that the kernel has them at hand
    rested    three seconds of rest: a virtual machine's host takes free memory back, and huge pages are dear
    always    as ready, where the kernel gives huge pages unasked: the system's mode is set while programs are judged
    asis      nothing is prepared
    counted   not timed: one run under cachegrind, which counts instructions and simulates misses (counted.py)
"""

from __future__ import annotations

import fcntl
import mmap
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import TextIO

from hakmem.base.errors import Refusal
from hakmem.base.stop import stops
from hakmem_lab.bench.machine import HUGE_PAGES

READY_BYTES = 500 << 20
HUGE = 2 << 20
REST_SECONDS = 3
COUNTED = "counted"
ALWAYS = "always"


def ready() -> None:
    with mmap.mmap(-1, READY_BYTES + HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, READY_BYTES, mmap.PAGESIZE):
            memory[at] = 1


def rested() -> None:
    sleep(REST_SECONDS)


REGIMES: dict[str, Callable[[], None]] = {"ready": ready, "rested": rested, ALWAYS: ready, "asis": lambda: None}


@contextmanager
def system_mode(regime: str, file: Path = HUGE_PAGES) -> Iterator[None]:
    """While programs are judged: for `always` the system's mode, which concerns every process of the machine. The mode
    from before is put back, after Ctrl-C, SIGTERM and SIGHUP too. A lock on the file keeps a second judge away."""
    if regime != ALWAYS:
        yield
        return
    with stops.taken(), locked(file) as text:
        before = mode_in(text.read())
        try:
            set_mode(file, ALWAYS)
            yield
        finally:
            set_mode(file, before)


@contextmanager
def locked(file: Path) -> Iterator[TextIO]:
    with opened(file) as text:
        try:
            fcntl.flock(text, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refusal(f"--regime {ALWAYS}: another judge has set the mode") from None
        yield text


def opened(file: Path) -> TextIO:
    try:
        return file.open(encoding="ascii")
    except OSError as error:
        raise Refusal(f"--regime {ALWAYS}: {file}: {error.strerror}") from None


def mode_in(text: str) -> str:
    """Of `always [madvise] never`."""
    found = re.search(r"\[(\w+)\]", text)
    if found is None:
        raise Refusal(f"--regime {ALWAYS}: the system names no mode of huge pages: {text.strip()}")
    return found[1]


def set_mode(file: Path, mode: str) -> None:
    try:
        file.write_text(mode, encoding="ascii")
    except OSError as error:
        raise Refusal(f"--regime {ALWAYS}: cannot set {file}: {error.strerror}") from None
