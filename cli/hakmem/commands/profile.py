# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem profile`."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from hakmem.base.options import Argument, Command, Option, real
from hakmem.commands.shared import output, rows


def perform(asked: list[str], output: Path | None, leaks: bool, rows: int, by: str, seconds: Optional[float]) -> int:
    from hakmem.profiling.profile import Wishes, show_profiles

    return show_profiles(asked, Wishes(output, leaks, rows, by, seconds))


COMMAND = Command(
    "profile",
    """Say what holds memory, by function or by stack: the one that asked for it.

    The program runs with HAKMEM_PROFILE_FILE=PATH (LD_PRELOAD=libhakmem.so), and each of its processes writes PATH.PID
    when it ends, gets SIGTERM or SIGUSR2, or calls hak_profile_dump. With HAKMEM_PROFILE_TABLE=PATH it keeps PATH.PID
    all the time, which is read in the same way, also after SIGKILL. One byte in 512 KiB is sampled; sums are estimates
    without bias, in usable bytes.

    A process that was started with neither samples from now on for --seconds, without a signal or a stop, and then as
    before: the profile has what the process took in that time and still has, and no block from before. Its memory is
    written for that, as a debugger would.

    Functions, files and lines come from the programs with the same build-ids, or from their debug files.""",
    "0 it was printed; 1 OUT cannot be written; 2 bad usage, no such process, one that cannot be asked or took nothing, "
    "or a file that is none.",
    perform,
    (
        output("OUT", "Write the profile there, named and gzipped, for `go tool pprof` and the like."),
        Option(("--leaks",), "The live blocks by stack, instead of functions."),
        rows("So many functions or stacks; 0: all."),
        Option(("--by",), "Order functions by inuse_space, inuse_objects, alloc_space or alloc_objects.", "WHAT",
               default="inuse_space"),
        Option(("--seconds",), "For how long a process that was started without a profile samples. Default: 10.", "S",
               real(0.1, 3600)),
    ),
    (Argument("asked", "FILE|PID", "Profiles, or processes, which write theirs, or sample for a while.", many=True),),
)
