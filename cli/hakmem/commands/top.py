# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem top`."""

from __future__ import annotations

from typing import Optional

from hakmem.base.errors import Refusal
from hakmem.base.options import Argument, Command, Option, process_number, real
from hakmem.commands.shared import JSON

PROMETHEUS = Option(("--prometheus",), "Print text for Prometheus, as for its textfile collector.")
ASKED = Argument(
    "asked", "PID|FILE", "A process; with --once its statistics file, too. Without it: the processes that run on HAKMEM.",
    required=False,
)
STATUS = "0 it was shown; 2 bad usage, no such process, or one that cannot be read or does not run on HAKMEM."


def number_of(asked: str) -> int:
    try:
        return process_number(asked)
    except ValueError as allowed:
        raise Refusal(f"PID {asked}: allowed: {allowed}, or a file with --once (see hakmem top --help)") from None


def perform(asked: Optional[str], once: bool, as_json: bool, prometheus: bool, interval: float) -> int:
    if asked is None:
        return show_all(once, as_json, prometheus)
    if once:
        return show_once(asked, as_json, prometheus)
    if as_json or prometheus:
        raise Refusal(f"--{'json' if as_json else 'prometheus'} goes with --once (see hakmem top --help)")
    pid = number_of(asked)
    from hakmem.watching.top import show_top

    return show_top(pid, interval)


def show_all(once: bool, as_json: bool, prometheus: bool) -> int:
    if prometheus:
        raise Refusal("--prometheus goes with a PID or a FILE (see hakmem top --help)")
    if as_json and not once:
        raise Refusal("--json goes with --once (see hakmem top --help)")
    from hakmem.watching.processes import show_processes

    return show_processes(as_json)


def show_once(asked: str, as_json: bool, prometheus: bool) -> int:
    from hakmem.watching.once import show

    if as_json and prometheus:
        raise Refusal("give --json or --prometheus, not both (see hakmem top --help)")
    return show(asked, as_json, prometheus)


COMMAND = Command(
    "top",
    """Watch why a process is as large as it is, and what it does: or print it, with --once.

    The process needs no setting: its counters and tables are read from its memory, as a debugger would, and it is
    neither stopped nor written to. Started with HAKMEM_STATS_FILE=FILE it writes FILE.PID anew as it works, which is
    read instead; with HAKMEM_PROFILE_FILE, too, the top sites of the profile that it wrote last are shown. The parts of
    its resident memory are from the kernel's pagemap and smaps. What a small terminal has no room for is named in the
    last line. The learner is shown in the modes that learn.

    Keys: q quits, ? lists all. Arrows and the wheel scroll; Tab, a number or a click on a section's name shows it alone,
    and Escape all again; a click on a column of figures orders by it, one on a row shows the whole row.

    With --once every counter is printed, also of a process that has ended: by its file. It needs no terminal.

    Without PID the processes that run on HAKMEM are listed, as far as this user may look into them.""",
    STATUS,
    perform,
    (
        Option(("--once",), "Print once what the process counts and holds, and all that it learnt."),
        JSON._replace(help="With --once: print JSON."),
        PROMETHEUS._replace(help="With --once: print text for Prometheus, as for its textfile collector."),
        Option(("--interval",), "How often the process is looked at.", "SECONDS", real(0.1, 3600), default=1.0),
    ),
    (ASKED,),
)
