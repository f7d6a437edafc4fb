# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether a process still runs the program that it ran before.

/proc/PID/auxv has addresses that the kernel draws at each exec. Where they are not drawn (setarch -R), an exec of the
same program is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hakmem.base.errors import Refusal


def image_of(pid: int) -> bytes:
    """b"": the process has ended, or is another user's."""
    try:
        return Path(f"/proc/{pid}/auxv").read_bytes()
    except OSError:
        return b""


@contextmanager
def same_image(pid: int, what: str) -> Iterator[None]:
    """Refuses the answer of the body, or its other reason, where the process executed a program meanwhile. what: "sampled"."""
    before = image_of(pid)
    try:
        yield
    except Refusal:
        refuse_if_another(pid, before, what)
        raise
    refuse_if_another(pid, before, what)


def refuse_if_another(pid: int, before: bytes, what: str) -> None:
    if (after := image_of(pid)) and before and after != before:
        raise Refusal(f"process {pid} became another program while it was {what}") from None
