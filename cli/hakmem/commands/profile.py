# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem profile`."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from hakmem.base.errors import Refusal
from hakmem.base.options import Argument, Command, Option, real
from hakmem.commands.shared import collect_nothing, output, rows


def perform(
    asked: list[str], output: Path | None, leaks: bool, peak: bool, temporary: bool, since: str | None, rows: int, by: str,
    seconds: Optional[float], within: Optional[float],
) -> int:
    from hakmem.profiling.difference import show_difference, show_growth
    from hakmem.profiling.profile import Wishes, show_profile
    from hakmem.reading.estimate import BRIEF, NOW, PEAK

    collect_nothing()
    if peak and temporary:
        raise Refusal("--peak or --temporary, one of them")
    if since is not None and len(asked) > 1:
        raise Refusal("--since goes with one profile, which is compared with it")
    if within is not None and (since is not None or len(asked) > 1):
        raise Refusal("--for goes with one process, and not with --since")
    moment = PEAK if peak else BRIEF if temporary else NOW
    both, wishes = [since, *asked] if since else asked, Wishes(output, leaks, rows, by, moment, seconds)
    if within is not None:
        return show_growth(asked[0], wishes, within)
    return show_difference(both, wishes) if len(both) > 1 else show_profile(both[0], wishes)


COMMAND = Command(
    "profile",
    """Say what holds memory, by function or by stack: the one that asked for it; of two profiles, what grew.

    The program runs with HAKMEM_PROFILE_FILE=PATH (LD_PRELOAD=libhakmem.so), and each of its processes writes PATH.PID
    when it ends, gets SIGTERM or SIGUSR2, or calls hak_profile_dump. With HAKMEM_PROFILE_TABLE=PATH it keeps PATH.PID
    all the time, which is read in the same way, also after SIGKILL. One byte in 512 KiB is sampled, and more of the first
    ones; sums are estimates without bias, in usable bytes, and scaled to what the counters know where these know it all.
    Both keep the blocks live at the peak, too: --peak.

    Of two profiles, the earlier one first, the difference is printed: what grew and what shrank, each with its range.
    -o MARK keeps a profile of a process as it is now, and --since MARK says later what grew since; --for S does both, S
    seconds apart.

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
        Option(("--peak",), "The blocks live at the peak, instead of those live in the end."),
        Option(("--temporary",), "Of all blocks that ever were, those that their thread freed before its next request."),
        Option(("--since",), "What grew and shrank since that profile, which may be of the same process or another run.",
               "MARK"),
        Option(("--for",), "What grew and shrank within so many seconds from now, in a process that was started with a "
               "profile.", "S", real(0, 3600), to="within"),
        rows("So many functions or stacks; 0: all."),
        Option(("--by",), "Order functions by inuse_space, inuse_objects, alloc_space or alloc_objects.", "WHAT",
               default="inuse_space"),
        Option(("--seconds",), "For how long a process that was started without a profile samples. Default: 10.", "S",
               real(0.1, 3600)),
    ),
    (Argument("asked", "FILE|PID", "A profile or two, or processes, which write theirs; one alone may sample for a while.",
              many=True),),
)
