# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem stats`."""

from __future__ import annotations

from hakmem.base.errors import Refusal
from hakmem.base.options import Argument, Command, Option
from hakmem.commands.shared import JSON, LOOK


def perform(asked: str, as_json: bool, prometheus: bool) -> int:
    from hakmem.watching.stats import show_stats

    if as_json and prometheus:
        raise Refusal("give --json or --prometheus, not both (see hakmem stats --help)")
    return show_stats(asked, as_json, prometheus)


COMMAND = Command(
    "stats", LOOK,
    """Print what a process counts and holds: why it is as large as it is, the counters, and what is learnt.

    The process runs with HAKMEM_STATS_FILE=FILE, and writes FILE.PID anew as it works, for its user only. The parts of
    its resident memory are those of a live process, from the kernel's pagemap and smaps.""",
    "0 it was printed; 2 bad usage, no such process, or no statistics of it.",
    perform,
    (JSON, Option(("--prometheus",), "Print text for Prometheus, as for its textfile collector.")),
    (Argument("asked", "PID|FILE", "A process, or its statistics file."),),
)
