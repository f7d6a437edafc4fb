# SPDX-License-Identifier: MIT OR Apache-2.0
"""A heap profile of a process that was started without one: sampling is switched on in it for some seconds.

    asking.py  --mailbox-->  the process samples what it takes  -->  memory_profile.py reads the samples

Blocks from before have no sample: what grows is seen, not what is there. That takes a start with a profile, whose very
line is told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Optional

from hakmem.base.errors import Refusal
from hakmem.reading.asking import sampled
from hakmem.reading.image import same_image
from hakmem.reading.memory_profile import mark_of, profile_in_memory
from hakmem.reading.start_line import start_line

SECONDS = 10.0  # without --seconds


class Outside(NamedTuple):
    pid: int
    profile: Any
    seconds: float  # for which it sampled; 0: it samples by itself, since it began or was told to
    sampled: bool  # else it came to no slow path meanwhile


def take(pid: int, seconds: float, meanwhile: Optional[Callable[[float], None]] = None) -> Outside:
    """Of a process that runs on HAKMEM; `seconds`: for how long it samples, and at most until its first slow path.
    meanwhile: what is done for these seconds instead of waiting."""
    with same_image(pid, "sampled"), sampled(pid) as sampling:
        since = None if sampling.was_on else mark_of(sampling.tables)
        sampling.await_answer(seconds)
        start = time.monotonic()
        if meanwhile is not None:
            meanwhile(seconds)
        elif sampling.answered:
            sampling.stay(seconds)
        took = 0.0 if sampling.was_on else time.monotonic() - start
        return Outside(pid, profile_in_memory(pid, since), took, sampling.was_on or sampling.answered)


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
