# SPDX-License-Identifier: MIT OR Apache-2.0
"""A heap profile of a process that was started without one: sampling is switched on in it for some seconds.

    asking.py  --mailbox-->  the process samples what it takes  -->  memory_profile.py reads the samples

Blocks from before have no sample: what grows is seen, not what is there. That takes a start with a profile, whose very
line is told.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.reading.asking import BY_FRAMES, CALLERS, sampled
from hakmem.reading.memory_profile import mark_of, profile_in_memory

SECONDS = 10.0  # without --seconds
WORDS_MOST = 160  # letters of a command that is told
NAME_MOST = 15  # letters of a program's name that the kernel keeps


class Outside(NamedTuple):
    pid: int
    profile: Any
    seconds: float  # for which it sampled; 0: it samples by itself, since it began or was told to
    stacks: int  # how far they reach (asking.py)
    sampled: bool  # else it came to no slow path meanwhile


def program_of(pid: int) -> str:
    """As it was called, or its file where the kernel cut that off."""
    name = Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    return name if 0 < len(name) < NAME_MOST else os.readlink(f"/proc/{pid}/exe")


def words_of(pid: int) -> list[str]:
    """Of its command. Of one that shows a title there the program, and dots for what cannot be known."""
    try:
        words = [os.fsdecode(word) for word in Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")]
        title = len(words) == 1 and (" " in words[0] or not words[0])
        return [program_of(pid), "..."] if title else words
    except OSError:
        return ["PROGRAM", "..."]


def start_line(pid: int) -> str:
    """What starts it with all of it in the profile."""
    words = [word if word == "..." else shlex.quote(word) for word in words_of(pid)]
    text = " ".join(words)
    told = text.isprintable() and len(text) <= WORDS_MOST
    return f"hakmem exec --profile -- {text if told else f'{printable(words[0])} ...'}"


def take(pid: int, seconds: float, meanwhile: Optional[Callable[[float], None]] = None) -> Outside:
    """Of a process that runs on HAKMEM; `seconds`: for how long it samples, and at most until its first slow path.
    meanwhile: what is done for these seconds instead of waiting."""
    with sampled(pid) as sampling:
        since = None if sampling.was_on else mark_of(sampling.tables)
        sampling.await_answer(seconds)
        start = time.monotonic()
        if meanwhile is not None:
            meanwhile(seconds)
        elif sampling.answered:
            sampling.stay(seconds)
        took = 0.0 if sampling.was_on else time.monotonic() - start
        return Outside(pid, profile_in_memory(pid, since), took, sampling.stacks, sampling.was_on or sampling.answered)


def refuse_if_idle(found: Outside, seconds: float) -> None:
    if not found.sampled:
        raise Refusal(f"process {found.pid} took no memory beyond its caches within {seconds:g} s, so nothing was sampled "
                      f"(what it has: {start_line(found.pid)})")


def outside_lines(found: Outside) -> Iterator[str]:
    """What the profile is of, and is not."""
    if not found.sampled:
        yield f"it took no memory beyond its caches meanwhile (what it has: {start_line(found.pid)})"
        return
    if not found.seconds:
        yield "read from its memory, as it samples by itself: blocks from before that are not in it"
        return
    yield (f"of what it took within {found.seconds:.1f} s and still has; blocks from before are not in it (with them: "
           f"{start_line(found.pid)})")
    again = f"hakmem explain {found.pid} --seconds {max(1, round(found.seconds))}"
    yield f"blocks that were replaced meanwhile look like growth: {again} says what grew, by size"
    if found.stacks == BY_FRAMES:
        yield "stacks are by frame pointers, as it has no libgcc_s.so.1 loaded: most end where malloc is called"
    if found.stacks == CALLERS:
        yield "stacks are the callers of malloc alone, as it has no libgcc_s.so.1 loaded and lives in a sandbox (seccomp)"
