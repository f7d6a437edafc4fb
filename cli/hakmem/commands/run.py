# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem run`."""

from __future__ import annotations

from pathlib import Path

from hakmem.base.options import Command, Option, real, whole
from hakmem.commands.shared import BUILD, LIBRARY, PROGRAM, SECURE

RUNS, RUNS_OF_PEERS = 5, 4
REST_SECONDS, REST_LEAST = 2.0, 0.1


def refuse_without_peers(**given: object) -> None:
    from hakmem.base.errors import Refusal

    for name, value in given.items():
        if value not in (None, ()):
            raise Refusal(f"--{name} goes with --peers")


def perform(
    command: list[str], peers: bool, peer: tuple[str, ...], allocators: str | None, runs: int | None, load: str | None,
    rest: float | None, html: Path | None, stdin: str | None, secure: bool, build: Path | None, library: Path | None,
) -> int:
    from hakmem.base.errors import Refusal
    from hakmem.process.places import find_places
    from hakmem.process.program import Program, default_program

    program, places = Program(command) if command else default_program(), find_places(build, library, secure)
    if peers or not command:
        from hakmem.running.peers import Wishes, run_peers
        from hakmem.running.service import Manner

        if load is None and rest is not None and rest < REST_LEAST:
            raise Refusal(f"--rest {rest:g}: without --load {REST_LEAST:g} or more")
        manner = Manner(load, REST_SECONDS if load is not None and rest is None else rest)
        return run_peers(places, program, Wishes(peer, allocators, runs or RUNS_OF_PEERS, manner, html), stdin)
    from hakmem.running.run import run_program

    refuse_without_peers(peer=peer, allocators=allocators, load=load, rest=rest, html=html)
    return run_program(places, program, runs or RUNS, stdin)


COMMAND = Command(
    "run",
    """Run a program on HAKMEM and on glibc, and say what each needed: or on all allocators.

    The program runs 2 N + 2 times: once on HAKMEM with every call counted, which is the run whose output is shown;
    once on glibc to warm up; then N times on each in turn, timed. The summary goes to stderr: wall time, CPU time, peak
    RSS and page faults (the smallest of the N runs), proof of which library served malloc and free, and the calls by
    route. HAKMEM_ settings in the environment apply.

    With --peers it runs on HAKMEM, glibc and every other allocator that is installed or given: once on HAKMEM, which is
    the run whose output is shown, then N times on each by turns, each proven. The summary has CPU time, wall time, peak
    memory, memory over time and at the end, a picture of memory over time, and which allocator is best for what. An
    allocator on which the program fails is named with the reason.

    A service goes with --load or --rest. --load runs a line of a shell beside it, once the program listens on a socket,
    or 3 s after its start; then it rests, and is ended by SIGTERM, 5 s later by SIGKILL. Its output is not shown.""",
    "the program's own when everything held (0 of a service that this command ended); 1 a file cannot be written, "
    "--html's or one in TMPDIR; 2 bad usage, or a program that cannot be preloaded, is too short for --peers, or puts "
    "itself into the background; 3 HAKMEM did not serve every call, it could not be proven, the program failed on HAKMEM "
    "alone, or its load did on HAKMEM; 126 and 127 as in a shell; 130 after Ctrl-C.",
    perform,
    (
        Option(("--peers",), "On all allocators, with memory over time. Without a program it is always so."),
        Option(("--runs",), "Timed runs on each allocator. Default: 5; with --peers 4, and fewer name no best.", "N",
               whole(1, 1000)),
        Option(("--peer",), "With --peers: a further library. May be given again.", "NAME=FILE", many=True),
        Option(("--allocators",), "With --peers: these only, beside HAKMEM and glibc.", "NAME,NAME"),
        Option(("--load",), "With --peers: what loads the program, a service, as a line of a shell.", "LINE"),
        Option(("--rest",), "With --peers: for how long a service is watched behind the load, without one from its "
               "start, 0.1 at least. Default: 2 with --load.", "SECONDS", real(0, 86400)),
        Option(("--html",), "With --peers: a page with the same figures and curves, which loads nothing.", "FILE",
               Path),
        Option(("--stdin",), "What every run reads as standard input; - reads this command's own first. Default: "
               "standard input if it is a file, else nothing.", "FILE"),
        SECURE, BUILD, LIBRARY,
    ),
    (PROGRAM._replace(help="The program and its arguments. Default: a small service of CPython that has a burst of "
                      "requests and rests, with --peers.", required=False),),
    runs_program=True,
)
