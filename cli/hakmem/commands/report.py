# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem report`."""

from __future__ import annotations

from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.base.options import Argument, Command, Option, real
from hakmem.commands.shared import collect_nothing, output


def perform(asked: list[str], output: Path | None, seconds: float, file: Path | None) -> int:
    from hakmem.report.page import Order, make_page

    collect_nothing()
    if len(asked) > 2:
        raise Refusal(f"{len(asked)} profiles: give one, or two of which the difference is wanted")
    if file is not None and (len(asked) > 1 or not (asked[0].isascii() and asked[0].isdecimal())):
        raise Refusal("--file goes with a PID (see hakmem report --help)")
    return make_page(Order(asked, output, seconds, file))


COMMAND = Command(
    "report",
    """Make one HTML page of a heap profile: what holds memory, blocks by size and age, and of a process what RSS is.

    Flame graph of the bytes at the peak, in use and of all that were allocated, places that ask for memory, sizes,
    lifetimes; of a process, too, the parts of its RSS and how they change while it is watched. Of two profiles, the
    earlier one first, it shows what grew (red) and what shrank (blue). The page needs no network and no other file.
    Profiles are those of `hakmem profile`: a process that was started without samples while it is watched, so the page
    has what it took meanwhile, without peak, sizes and lifetimes.""",
    "0 it was written; 1 OUT cannot be written; 2 bad usage, no such process, one that cannot be asked, or a file that is "
    "none.",
    perform,
    (
        output("OUT", "Where the page goes. Default: FILE.html in this folder."),
        Option(("--seconds",), "For how long a process is watched.", "S", real(0, 3600), default=3.0),
        Option(("--file",), "Of a process: where it writes its profile, if it overwrote its environment (as redis does) and "
               "that cannot be found out.", "FILE", Path),
    ),
    (Argument("asked", "FILE|PID", "A profile, or a process, which writes one, or samples for a while; or two profiles.",
              many=True),),
)
