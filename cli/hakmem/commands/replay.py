# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem replay`."""

from __future__ import annotations

from pathlib import Path

from hakmem.base.options import Command, Option, whole
from hakmem.commands.shared import BUILD, LIBRARY, TRACE


def perform(
    file: Path, allocator: tuple[str, ...], peers: bool, rounds: int, touch: str, process: int | None, build: Path | None,
    library: Path | None,
) -> int:
    from hakmem.process.places import find_places
    from hakmem.running.replay import Wishes, replay_trace

    return replay_trace(find_places(build, library), file, Wishes(list(allocator), peers, rounds, touch, process))


COMMAND = Command(
    "replay",
    """Repeat a trace on HAKMEM, glibc and others: what a program asked of malloc, and what each allocator needed.

    The calls of one process, thread by thread, as fast as they go; a thread waits only for blocks that another one
    has to make first. HAKMEM_ settings in the environment apply.""",
    "0 measured; 1 a replay could not go on; 2 bad usage, or no trace; 3 an allocator did not serve the calls, or it could "
    "not be proven; 130 after Ctrl-C.",
    perform,
    (
        Option(("--allocator",), "A further library to replay on. May be given again.", "[NAME=]FILE", many=True),
        Option(("--peers",), "Also on the installed allocators."),
        Option(("--rounds",), "Runs on each allocator.", "N", whole(1, 1000), default=5),
        Option(("--touch",), "What is written to a block that comes: all its pages, its first byte, none.", "HOW",
               default="all"),
        Option(("--process",), "The Kth process of the trace. Default: the one with the most events.", "K", whole(1, 10**9)),
        BUILD, LIBRARY,
    ),
    (TRACE,),
)
