# SPDX-License-Identifier: MIT OR Apache-2.0
"""The start of the command: signals and streams are settled before anything that loads slowly."""

import sys

from hakmem import stop, streams


def asked_for() -> int:
    """The exit status. Typer is loaded for what is not done before."""
    from hakmem.words import done_early

    status = done_early(sys.argv[1:])
    if status is None:
        from hakmem import cli

        status = cli.asked_for()
    return status


if __name__ == "__main__":
    stop.end_by_signals()
    streams.settle()

    from hakmem.say import end_with

    end_with(asked_for)
