# SPDX-License-Identifier: MIT OR Apache-2.0
"""The start of the command: signals and streams are settled before anything that loads slowly."""

import os
import sys

if not __package__:  # started as a folder, by bin/hakmem: it is the package's own that is not to be on the path
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from hakmem.base import stop, streams


def asked_for() -> int:
    from hakmem.cli import carry_out

    return carry_out(sys.argv[1:])


if __name__ == "__main__":
    stop.end_by_signals()
    streams.settle()

    from hakmem.base.exit import end_with

    end_with(asked_for)
