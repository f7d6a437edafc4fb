# SPDX-License-Identifier: MIT OR Apache-2.0
"""The start of the command: signals and streams are settled before anything that loads slowly."""

from hakmem import stop, streams

if __name__ == "__main__":
    stop.end_by_signals()
    streams.settle()

    from hakmem.cli import main

    main()
