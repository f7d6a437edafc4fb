# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem crash`."""

from __future__ import annotations

from hakmem.base.options import Argument, Command


def perform(file: str) -> int:
    from hakmem.explaining.crash import show_crashes

    return show_crashes(file)


COMMAND = Command(
    "crash",
    """Name functions and lines in the report of a guarded block: an overflow, a use after free, a wrong free.

    A process with guard_bytes set (hakmem exec --set guard_bytes=16M -- PROGRAM) writes the report to stderr before it
    ends. The files of the report are found by their build-ids, so the text may be older than this machine's files.""",
    "0 it was printed; 2 bad usage, or no such report in the file.",
    perform,
    arguments=(Argument("file", "FILE", "What the process wrote to stderr, with other lines around it; - is stdin."),),
)
