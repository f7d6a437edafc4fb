# SPDX-License-Identifier: MIT OR Apache-2.0
"""The start of hakmem-lab: signals and streams are settled before anything that loads slowly."""

import sys

from hakmem.base import stop, streams


def asked_for() -> int:
    """The exit status."""
    from hakmem_lab import cli

    return cli.asked_for(sys.argv[1:])


if __name__ == "__main__":
    stop.end_by_signals()
    streams.settle()

    from hakmem.base.exit import end_with

    end_with(asked_for)
